import type { Bench } from './bench.ts'

const add = (by: string, inFlight: number) => ({ by, inFlight: String(inFlight), bulk: '1' })
const bulk = (by: string) => ({ by, inFlight: '2', bulk: '1000' })

export const enqueue: Bench = {
  name: 'enqueue',
  about: 'Jobs that go in, each answered after its commit: one at a time, 64 at once, and by the thousand.',
  jobs: 20_000,
  columns: [
    { figure: 'perSecond', title: 'jobs/s', digits: 0 },
    { figure: 'p50', title: 'p50 ms', digits: 2 },
    { figure: 'p99', title: 'p99 ms', digits: 2 },
    { figure: 'nodeMicros', title: 'caller us', digits: 1 },
    { figure: 'serverMicros', title: 'server us', digits: 1 },
    { figure: 'walBytes', title: 'WAL B', digits: 0 },
  ],
  compared: { figure: 'perSecond', better: 'more' },
  peers: ['1', '64', '1000'].flatMap((group) => [
    `${group}: graphile`,
    `${group}: pg-boss`,
    `${group}: BullMQ on PostgreSQL`,
  ]),
  subjects: [
    { name: '1: stellwerk coalesced', script: 'stellwerk-enqueue.ts', options: add('enqueuer', 1), share: 0.05 },
    { name: '1: stellwerk library', script: 'stellwerk-enqueue.ts', options: add('library', 1), share: 0.05 },
    { name: '1: stellwerk SQL', script: 'stellwerk-enqueue.ts', options: add('sql', 1), share: 0.05 },
    { name: '1: stellwerk GraphQL', script: 'stellwerk-enqueue.ts', options: add('graphql', 1), share: 0.05 },
    { name: '1: graphile', script: 'graphile-enqueue.ts', options: add('', 1), share: 0.05 },
    { name: '1: pg-boss', script: 'pg-boss-enqueue.ts', options: add('', 1), share: 0.05 },
    {
      name: '1: BullMQ on PostgreSQL',
      script: 'bullmq-enqueue.ts',
      options: { ...add('', 1), on: 'postgres' },
      share: 0.05,
    },
    {
      name: '1: BullMQ on Redis',
      script: 'bullmq-enqueue.ts',
      options: { ...add('', 1), on: 'redis' },
      share: 0.05,
      needs: 'redis-server',
    },
    { name: '64: stellwerk coalesced', script: 'stellwerk-enqueue.ts', options: add('enqueuer', 64) },
    { name: '64: stellwerk library', script: 'stellwerk-enqueue.ts', options: add('library', 64), share: 0.25 },
    { name: '64: stellwerk SQL', script: 'stellwerk-enqueue.ts', options: add('sql', 64), share: 0.25 },
    { name: '64: stellwerk GraphQL', script: 'stellwerk-enqueue.ts', options: add('graphql', 64), share: 0.25 },
    { name: '64: graphile', script: 'graphile-enqueue.ts', options: add('', 64), share: 0.25 },
    { name: '64: pg-boss', script: 'pg-boss-enqueue.ts', options: add('', 64), share: 0.25 },
    {
      name: '64: BullMQ on PostgreSQL',
      script: 'bullmq-enqueue.ts',
      options: { ...add('', 64), on: 'postgres' },
      share: 0.25,
    },
    {
      name: '64: BullMQ on Redis',
      script: 'bullmq-enqueue.ts',
      options: { ...add('', 64), on: 'redis' },
      share: 0.25,
      needs: 'redis-server',
    },
    { name: '1000: stellwerk bulk', script: 'stellwerk-enqueue.ts', options: bulk('enqueuer') },
    { name: '1000: stellwerk SQL', script: 'stellwerk-enqueue.ts', options: bulk('sql') },
    { name: '1000: stellwerk GraphQL', script: 'stellwerk-enqueue.ts', options: bulk('graphql') },
    { name: '1000: graphile', script: 'graphile-enqueue.ts', options: bulk('') },
    { name: '1000: pg-boss', script: 'pg-boss-enqueue.ts', options: bulk('') },
    { name: '1000: BullMQ on PostgreSQL', script: 'bullmq-enqueue.ts', options: { ...bulk(''), on: 'postgres' } },
    {
      name: '1000: BullMQ on Redis',
      script: 'bullmq-enqueue.ts',
      options: { ...bulk(''), on: 'redis' },
      needs: 'redis-server',
    },
  ],
}
