import type { Bench, Subject } from './bench.ts'

const subject = (dispatch: string, situation: string): Subject => ({
  name: `${dispatch}: ${situation}`,
  script: 'stellwerk-situation.ts',
  options: { dispatch, situation, tenants: '100' },
})

const names = [
  'clean',
  'tenants that only wait',
  'foreign jobs ahead',
  'a million done',
  'held snapshot',
  'metrics scraped',
  'retention at work',
]

/** What collapses under other queues, beside the same work without it. */
export const situations: Bench = {
  name: 'situations',
  about:
    'The first 20,000 jobs of a backlog beside what hurts other queues; compared with the same backlog without it.',
  jobs: 20_000,
  columns: [
    { figure: 'serverMicros', title: 'server us', digits: 1 },
    { figure: 'nodeMicros', title: 'node us', digits: 1 },
    { figure: 'perSecond', title: 'jobs/s', digits: 0 },
  ],
  compared: { figure: 'serverMicros', better: 'less' },
  peers: ['fair: clean', 'priority: clean'],
  subjects: ['fair', 'priority'].flatMap((dispatch) => names.map((name) => subject(dispatch, name))),
}

const grown = (dispatch: string, tenants: number, backlog: number, label: string): Subject => ({
  name: `${dispatch}, ${tenants} tenants: ${label}`,
  script: 'stellwerk-situation.ts',
  options: { dispatch, tenants: String(tenants) },
  share: backlog / 20_000,
})

const backlogs = { '1k': 1_000, '20k': 20_000, '100k': 100_000, '1M': 1_000_000, '5M': 5_000_000 }

/** Whether a claim gets dearer with what waits. */
export const growth: Bench = {
  name: 'growth',
  about:
    'The first 20,000 jobs of a backlog up to five million; compared with a backlog of 1,000 that comes twenty times.',
  jobs: 20_000,
  columns: situations.columns,
  compared: { figure: 'serverMicros', better: 'less' },
  peers: [
    ['fair', 100],
    ['fair', 10_000],
    ['priority', 100],
  ].map(([dispatch, tenants]) => `${dispatch}, ${tenants} tenants: 1k`),
  subjects: (
    [
      ['fair', 100],
      ['fair', 10_000],
      ['priority', 100],
    ] as const
  ).flatMap(([dispatch, tenants]) =>
    Object.entries(backlogs).map(([label, backlog]) => grown(dispatch, tenants, backlog, label)),
  ),
}

/** What fairness costs. */
export const fairness: Bench = {
  name: 'fairness',
  about: 'A drain fairly between 1, 100 and 10,000 tenants, beside one in order of priority.',
  jobs: 20_000,
  columns: situations.columns,
  compared: { figure: 'perSecond', better: 'more' },
  peers: [1, 100, 10_000].map((tenants) => `${tenants} tenants: priority`),
  subjects: [1, 100, 10_000].flatMap((tenants) =>
    ['fair', 'priority'].map((dispatch) => ({
      name: `${tenants} tenants: ${dispatch}`,
      script: 'stellwerk-situation.ts',
      options: { dispatch, tenants: String(tenants) },
    })),
  ),
}
