import type { Bench } from './bench.ts'

export const pickup: Bench = {
  name: 'pickup',
  about: 'Milliseconds from the call that enqueues to the start of the handler, one job at a time on an idle system.',
  jobs: 300,
  columns: [
    { figure: 'p50', title: 'p50 ms', digits: 2 },
    { figure: 'p95', title: 'p95 ms', digits: 2 },
    { figure: 'p99', title: 'p99 ms', digits: 2 },
    { figure: 'fromAnswerP50', title: 'from answer p50', digits: 2 },
    { figure: 'nodeMicros', title: 'node us', digits: 0 },
    { figure: 'serverMicros', title: 'server us', digits: 0 },
  ],
  compared: { figure: 'p99', better: 'less' },
  peers: ['graphile', 'pg-boss', 'BullMQ on PostgreSQL'],
  subjects: [
    { name: 'stellwerk same instance', script: 'stellwerk-pickup.ts' },
    { name: 'stellwerk other instance', script: 'stellwerk-pickup.ts', options: { other: 'yes' } },
    { name: 'stellwerk worker', script: 'stellwerk-pickup.ts', options: { other: 'service' } },
    { name: 'stellwerk by SQL', script: 'stellwerk-pickup.ts', options: { by: 'sql' } },
    { name: 'graphile', script: 'graphile-pickup.ts' },
    { name: 'pg-boss', script: 'pg-boss-pickup.ts' },
    { name: 'BullMQ on PostgreSQL', script: 'bullmq-pickup.ts', options: { on: 'postgres' } },
    { name: 'BullMQ on Redis', script: 'bullmq-pickup.ts', options: { on: 'redis' }, needs: 'redis-server' },
  ],
}
