import type { Bench, Subject } from './bench.ts'

const at = (slots: number, share: number): Subject[] =>
  ['stellwerk', 'graphile', 'pg-boss'].map((name) => ({
    name: `${slots} slots: ${name}`,
    script: `${name}-work.ts`,
    options: { work: 'wait', slots: String(slots) },
    share,
  }))

const row = (name: string, script: string, share: number, by = ''): Subject => ({
  name: `a row each: ${name}`,
  script,
  options: { work: 'row', slots: '20', by },
  share,
})

/** Handlers that do something: wait, or write a row of their own with the end of their job. */
export const work: Bench = {
  name: 'work',
  about: 'Handlers that wait 20 ms for somebody else, in 4, 64 and 512 slots; and such as write a row of their own.',
  jobs: 20_000,
  columns: [
    { figure: 'perSecond', title: 'jobs/s', digits: 0 },
    { figure: 'nodeMicros', title: 'node us', digits: 1 },
    { figure: 'serverMicros', title: 'server us', digits: 1 },
    { figure: 'rssMb', title: 'RSS MB', digits: 0 },
  ],
  compared: { figure: 'perSecond', better: 'more' },
  peers: ['4 slots', '64 slots', '512 slots', 'a row each'].flatMap((group) => [
    `${group}: graphile`,
    `${group}: pg-boss`,
  ]),
  subjects: [
    ...at(4, 0.05),
    ...at(64, 0.5),
    ...at(512, 1),
    row('stellwerk effects', 'stellwerk-work.ts', 1, 'effects'),
    row('stellwerk commit(tx)', 'stellwerk-work.ts', 0.2, 'commit'),
    row('graphile', 'graphile-work.ts', 0.5),
    row('pg-boss', 'pg-boss-work.ts', 0.5),
  ],
}
