import { appendFile, mkdtemp, open, readdir, readFile, rm, stat, writeFile, type FileHandle } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createAckJournal, type Ack } from '../../src/workers/handlers/email/ack-journal.ts'
import { until } from '../support/until.ts'

let folder: string
let recorded: string[]
/** Jobs whose log the database can write. */
let writable: (jobId: string) => boolean
const errors: Error[] = []

beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'stellwerk-acks-')), 'ack-journal')
  recorded = []
  writable = () => true
})
afterEach(() => rm(join(folder, '..'), { recursive: true, force: true }))

const ack = (jobId: string, at = new Date()): Ack => ({
  jobId,
  providerMessageId: `id-${jobId}`,
  response: '250 ok',
  at: at.toISOString(),
})
const journal = (maxBytes?: number) =>
  createAckJournal({
    folder,
    async record(acks) {
      const done = acks.map(({ jobId }) => jobId).filter((jobId) => writable(jobId))
      recorded.push(...done)
      return done
    },
    onError: (error) => void errors.push(error),
    ...(maxBytes === undefined ? {} : { maxBytes }),
  })
/** A file as a process leaves it that is gone. */
const left = (name: string, acks: readonly Ack[], owner: object = { pid: 1 << 22, birth: 'gone' }) =>
  writeFile(join(folder, `${name}.jsonl`), [owner, ...acks].map((line) => `${JSON.stringify(line)}\n`).join(''))

test('what is appended is on the disk, closed to others, and found', async () => {
  const acks = await journal()
  await Promise.all(['a', 'b', 'c'].map((jobId) => acks.append(ack(jobId))))
  const [name] = await readdir(folder)
  expect((await readFile(join(folder, name!), 'utf8')).trim().split('\n')).toHaveLength(4)
  expect((await stat(join(folder, name!))).mode & 0o777).toBe(0o600)
  expect((await stat(folder)).mode & 0o777).toBe(0o700)
  expect(await acks.find('b')).toMatchObject({ providerMessageId: 'id-b' })
  expect(await acks.find('d')).toBeNull()
  await acks.close()
})

test('every instance of the data directory finds what another one heard', async () => {
  const [one, two] = [await journal(), await journal()]
  await one.append(ack('a'))
  expect(await two.find('a')).toMatchObject({ jobId: 'a' })
  await one.close()
  await two.close()
})

test('what a dead process left is found, written into the database, and dropped', async () => {
  const acks = await journal()
  await left('old', [ack('a'), ack('b')])
  expect(await acks.find('b')).toMatchObject({ jobId: 'b' })
  await acks.settle()
  expect(recorded).toEqual(['a', 'b'])
  expect(await readdir(folder)).toHaveLength(1)
  await acks.close()
})

test('a line that was cut by the crash is no line', async () => {
  const acks = await journal()
  await left('old', [ack('a')])
  await appendFile(join(folder, 'old.jsonl'), '{"jobId":"b","prov')
  await acks.settle()
  expect(recorded).toEqual(['a'])
  await acks.close()
})

test('what the database cannot write yet is carried over, until it is a week old', async () => {
  const acks = await journal()
  writable = () => false
  await left('old', [ack('young'), ack('old', new Date(Date.now() - 8 * 24 * 60 * 60 * 1_000))])
  await acks.settle()
  expect(await acks.find('young')).not.toBeNull()
  expect(await acks.find('old')).toBeNull()
  await acks.close()
  const next = await journal()
  expect(await next.find('young')).not.toBeNull()
  await next.close()
})

test('the file of a living process is read and left alone', async () => {
  const acks = await journal()
  const [name] = await readdir(folder)
  const owner = JSON.parse((await readFile(join(folder, name!), 'utf8')).split('\n')[0]!) as { birth: string }
  // Process 1 always lives; under another birth it would be a later process with the same number.
  const birth = (await import('../../src/db/process-facts.ts')).processBirth(1)
  expect(owner.birth).not.toBe(birth)
  await left('other', [ack('a')], { pid: 1, birth })
  await acks.settle()
  expect(recorded).toEqual([])
  expect(await acks.find('a')).not.toBeNull()
  await acks.close()
})

test('a full file is replaced; what the database has is dropped with it, the rest is kept', async () => {
  writable = (jobId) => jobId !== 'kept'
  const acks = await journal(200)
  for (const jobId of ['kept', 'a', 'b', 'c']) await acks.append(ack(jobId))
  await until(() => ['a', 'b', 'c'].some((jobId) => recorded.includes(jobId)), 'a full file was settled')
  await acks.close()
  expect(await (await journal()).find('kept')).not.toBeNull()
  expect(errors).toEqual([])
})

test('when the database is away nothing is dropped', async () => {
  const acks = await createAckJournal({
    folder,
    record: () => Promise.reject(new Error('away')),
    onError: () => undefined,
  })
  await left('old', [ack('a')])
  await expect(acks.settle()).rejects.toThrow('away')
  expect(await acks.find('a')).not.toBeNull()
  await acks.close()
})

test('a file that is just being made is not taken for what a dead process left', async () => {
  const acks = await journal(200)
  // It looks while files are made.
  let looks = true
  const looking = (async () => {
    while (looks) await acks.settle()
  })()
  for (let n = 0; n < 200; n += 1) await acks.append(ack(`n-${n}`))
  looks = false
  await looking
  writable = () => false
  await acks.append(ack('last'))
  // Another process finds it.
  expect(await (await journal()).find('last')).not.toBeNull()
  await acks.close()
  expect(errors).toEqual([])
})

test('what is appended after a write that was cut short is whole', async () => {
  const acks = await journal()
  const probe = await open(join(folder, 'probe'), 'w')
  const appendFile = vi.spyOn(Object.getPrototypeOf(probe) as FileHandle, 'appendFile')
  await probe.close()
  appendFile.mockImplementationOnce(async function (this: FileHandle, text) {
    await this.write((text as string).slice(0, 20))
    throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
  })
  await expect(acks.append(ack('a'))).rejects.toThrow('no space')
  await acks.append(ack('b'))
  appendFile.mockRestore()
  expect(await (await journal()).find('b')).toMatchObject({ providerMessageId: 'id-b' })
  await acks.close()
})
