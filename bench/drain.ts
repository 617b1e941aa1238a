import type { Bench, Command } from './bench.ts'

/** `stellwerk worker` with the settings that one needs, and no others. */
const worker = (settings: Readonly<Record<string, string>> = {}): Command => ({
  args: ['worker'],
  env: {
    DATABASE_URL: '{url}',
    PORT: '0',
    STELLWERK_DATA_DIR: '{folder}/worker',
    STELLWERK_JWT_SECRET: 'a secret of the bench, 32 characters long',
    STELLWERK_KINDS: 'bench/subjects/stellwerk-kinds.ts',
    ...settings,
  },
})

const byPriority = JSON.stringify([{ name: 'default', slots: 4, dispatch: 'priority' }])

export const drain: Bench = {
  name: 'drain',
  about:
    'Jobs that do nothing, all there before the start; from the first start of a handler to the commit of the last end.',
  jobs: 50_000,
  columns: [
    { figure: 'perSecond', title: 'jobs/s', digits: 0 },
    { figure: 'nodeMicros', title: 'node us', digits: 1 },
    { figure: 'serverMicros', title: 'server us', digits: 1 },
    { figure: 'allMicros', title: 'all us', digits: 1 },
    { figure: 'walBytes', title: 'WAL B', digits: 0 },
    { figure: 'rssMb', title: 'RSS MB', digits: 0 },
  ],
  compared: { figure: 'perSecond', better: 'more' },
  // Those on PostgreSQL: a Redis that syncs nothing does another thing.
  peers: ['graphile best', 'pg-boss best', 'BullMQ on PostgreSQL'],
  subjects: [
    { name: 'stellwerk fair', script: 'stellwerk-drain.ts', command: worker() },
    { name: 'stellwerk priority', script: 'stellwerk-drain.ts', command: worker({ STELLWERK_POOLS: byPriority }) },
    { name: 'stellwerk fair without log', script: 'stellwerk-drain.ts', command: worker({ LOG_LEVEL: 'warn' }) },
    { name: 'stellwerk fair library', script: 'stellwerk-drain.ts' },
    { name: 'stellwerk priority library', script: 'stellwerk-drain.ts', options: { dispatch: 'priority' } },
    { name: 'graphile best', script: 'graphile-drain.ts', options: { batching: 'on' } },
    // A thousand jobs a second.
    { name: 'graphile default', script: 'graphile-drain.ts', share: 0.1 },
    { name: 'pg-boss best', script: 'pg-boss-drain.ts' },
    // A job every two seconds.
    { name: 'pg-boss default', script: 'pg-boss-drain.ts', options: { batching: 'off' }, share: 0.0002 },
    // A thousand jobs a second, too.
    { name: 'BullMQ on PostgreSQL', script: 'bullmq-drain.ts', options: { on: 'postgres' }, share: 0.1 },
    {
      name: 'BullMQ on PostgreSQL, default',
      script: 'bullmq-drain.ts',
      options: { on: 'postgres', concurrency: 'default' },
      share: 0.02,
    },
    { name: 'BullMQ on Redis', script: 'bullmq-drain.ts', options: { on: 'redis' }, needs: 'redis-server' },
    {
      name: 'BullMQ on Redis, default',
      script: 'bullmq-drain.ts',
      options: { on: 'redis', concurrency: 'default' },
      share: 0.1,
      needs: 'redis-server',
    },
    {
      name: 'BullMQ on Redis, synced',
      script: 'bullmq-drain.ts',
      options: { on: 'redis aof' },
      share: 0.5,
      needs: 'redis-server',
    },
  ],
}
