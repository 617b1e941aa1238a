import { expect, test } from 'vitest'
import { createPrefetch } from '../../src/workers/prefetch.ts'

const alone = { isAlone: () => true }
const others = { isAlone: () => false }

/** What waits beside 512 slots after runs that started together and ended one after the other; times in milliseconds. */
function bufferAfter(ends: { readonly firstAfter: number; readonly apart: number }): number {
  const prefetch = createPrefetch(512, alone)
  let size = prefetch.size(0)
  for (let run = 0; run < 512; run += 1) {
    const now = 10 + ends.firstAfter + run * ends.apart
    prefetch.ran('wait', 10, now)
    size = prefetch.size(now)
  }
  return size
}

test('waits that end together have a buffer by their own time, however long their ends keep the process busy', () => {
  // The last of the wave is told 10 ms after the first.
  expect(bufferAfter({ firstAfter: 20.4, apart: 0.02 })).toBeGreaterThan(400)
})

test.each([
  ['wait for longer than 20 ms', { firstAfter: 24, apart: 0.01 }],
  ['work for so long, one after the other', { firstAfter: 24, apart: 24 }],
  ['end so slowly that each has worked', { firstAfter: 15, apart: 2 }],
  ['keep the process busy for long when they end', { firstAfter: 15, apart: 0.9 }],
])('runs that %s have none', (_, ends) => {
  expect(bufferAfter(ends)).toBe(0)
})

test('runs that follow one another at once have the largest', () => {
  const prefetch = createPrefetch(4, alone)
  prefetch.size(0)
  for (let run = 0; run < 1_000; run += 1) prefetch.ran('nothing', run * 0.01, run * 0.01 + 0.01)
  expect(prefetch.size(10.01)).toBe(4_000)
})

test('the first run of a quick kind compiles it, and says nothing of the next; that of a slow one does', () => {
  const prefetch = createPrefetch(4, alone)
  prefetch.size(0)
  prefetch.ran('quick', 0, 5)
  for (let run = 0; run < 4; run += 1) prefetch.ran('quick', 10 + run, 10.01 + run)
  expect(prefetch.size(14)).toBe(4_000)
  prefetch.ran('slow', 0, 30)
  expect(prefetch.size(30)).toBe(0)
})

test.each([
  ['of an instance that lives alone forgets them', alone, 0],
  ['keeps the last of them where others claim, who let this one come to a few jobs at a time', others, 4_000],
])('a buffer by a few runs now and then %s', (_, rules, size) => {
  const prefetch = createPrefetch(4, rules)
  for (let time = 0; time < 2_000; time += 200) {
    prefetch.size(time)
    for (let run = 0; run < 4; run += 1) prefetch.ran('quick', time + 1, time + 1.01)
  }
  expect(prefetch.size(2_000)).toBe(size)
})

test.each([alone, others])('one quick run after slow ones of long ago gives no buffer', (rules) => {
  const prefetch = createPrefetch(4, rules)
  prefetch.size(0)
  for (let run = 0; run < 10; run += 1) prefetch.ran('slow', 0, 500)
  prefetch.size(510)
  prefetch.ran('slow', 3_000, 3_000.1)
  expect(prefetch.size(3_010)).toBe(0)
})
