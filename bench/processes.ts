import type { Bench } from './bench.ts'

const counts = ['1', '2', '4']

/** Instances beside each other on one database. */
export const processes: Bench = {
  name: 'processes',
  about: 'One backlog, drained by 1, 2 and 4 instances at once.',
  // 50,000 for each of four: a process and its two sessions are warm after 20,000.
  jobs: 200_000,
  columns: [
    { figure: 'perSecond', title: 'jobs/s', digits: 0 },
    { figure: 'serverMicros', title: 'server us', digits: 1 },
  ],
  compared: { figure: 'perSecond', better: 'more' },
  peers: counts.flatMap((count) => [`${count}: graphile`, `${count}: pg-boss`]),
  subjects: counts.flatMap((count) =>
    ['stellwerk', 'graphile', 'pg-boss'].map((name) => ({
      name: `${count}: ${name}`,
      script: `${name}-processes.ts`,
      options: { processes: count },
    })),
  ),
}
