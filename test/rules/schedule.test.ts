import { describe, expect, test } from 'vitest'
import { lastTick, nextTick } from '../../src/jobs/schedule.ts'
import type { KindSchedule } from '../../src/jobs/kind.ts'

/** The ticks of a span, one after the other. */
function ticks(schedule: KindSchedule, from: string, to: string): string[] {
  const found: string[] = []
  for (let at = nextTick(schedule, new Date(from)); at !== null && at < new Date(to); at = nextTick(schedule, at)) {
    found.push(at.toISOString())
  }
  return found
}

describe('T05: over the changes of the clock', () => {
  const daily = (cron: string): KindSchedule => ({ cron, timeZone: 'Europe/Berlin' })

  test('a fixed interval runs on UTC, whatever the clocks on the wall do', () => {
    const spring = ticks({ every: 'PT5M' }, '2026-03-29T00:00:00Z', '2026-03-29T02:00:01Z')
    expect(spring.length).toBe(24)
    expect(new Set(spring.map((tick) => new Date(tick).getTime() % 300_000))).toEqual(new Set([0]))
  })

  test('a daily time that the spring skips runs at the first moment after the gap', () => {
    expect(ticks(daily('30 2 * * *'), '2026-03-28T12:00:00Z', '2026-03-31T00:00:00Z')).toEqual([
      '2026-03-29T01:00:00.000Z',
      '2026-03-30T00:30:00.000Z',
    ])
  })

  test('a daily time that comes twice in autumn runs the first time only', () => {
    expect(ticks(daily('30 2 * * *'), '2026-10-24T12:00:00Z', '2026-10-27T00:00:00Z')).toEqual([
      '2026-10-25T00:30:00.000Z',
      '2026-10-26T01:30:00.000Z',
    ])
  })

  test('each local day of a year has exactly one', () => {
    const days = ticks(daily('0 3 * * *'), '2025-12-31T12:00:00Z', '2026-12-31T12:00:00Z').map((tick) =>
      new Intl.DateTimeFormat('en-CA', { timeZone: 'Europe/Berlin' }).format(new Date(tick)),
    )
    expect(days.length).toBe(365)
    expect(new Set(days).size).toBe(365)
  })
})

describe('the last tick', () => {
  test.each<[KindSchedule, string, string]>([
    [{ every: 'PT5M' }, '2026-05-01T10:04:59.999Z', '2026-05-01T10:00:00.000Z'],
    [{ every: 'PT5M' }, '2026-05-01T10:05:00.000Z', '2026-05-01T10:05:00.000Z'],
    [{ cron: '0 3 * * *' }, '2026-05-01T02:59:59.999Z', '2026-04-30T03:00:00.000Z'],
    [{ cron: '0 3 * * *' }, '2026-05-01T03:00:00.000Z', '2026-05-01T03:00:00.000Z'],
  ])('%j at %s was %s', (schedule, now, tick) => {
    expect(lastTick(schedule, new Date(now))?.toISOString()).toBe(tick)
  })

  test('is never later than now, and the next never earlier', () => {
    for (const schedule of [{ every: 'PT7M' }, { cron: '*/7 * * * *', timeZone: 'America/New_York' }]) {
      for (let at = Date.UTC(2026, 2, 8, 5); at < Date.UTC(2026, 2, 8, 9); at += 97_000) {
        const now = new Date(at)
        expect(lastTick(schedule, now)!.getTime()).toBeLessThanOrEqual(at)
        expect(nextTick(schedule, now)!.getTime()).toBeGreaterThan(at)
      }
    }
  })
})
