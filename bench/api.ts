import type { Bench } from './bench.ts'

const one = (server: string) => ({ server, inFlight: '32', bulk: '1' })
const hundred = (server: string) => ({ server, inFlight: '8', bulk: '100' })

/** What GraphQL costs above the insert that it is for. */
export const api: Bench = {
  name: 'api',
  about:
    'Jobs that go in over HTTP, one or a hundred a mutation; jobs by second of processor time of the process that answers.',
  jobs: 30_000,
  columns: [
    { figure: 'perCore', title: 'jobs/core s', digits: 0 },
    { figure: 'apiMicros', title: 'server us', digits: 1 },
    { figure: 'perSecond', title: 'jobs/s', digits: 0 },
    { figure: 'p50', title: 'p50 ms', digits: 1 },
    { figure: 'p99', title: 'p99 ms', digits: 1 },
    { figure: 'serverMicros', title: 'PostgreSQL us', digits: 1 },
  ],
  compared: { figure: 'perCore', better: 'more' },
  peers: ['1: stock yoga, plain insert', '100: node:http, same insert'],
  subjects: [
    { name: '1: stellwerk', script: 'api-enqueue.ts', options: one('stellwerk') },
    { name: '1: node:http, same insert', script: 'api-enqueue.ts', options: one('http') },
    { name: '1: stock yoga, plain insert', script: 'api-enqueue.ts', options: one('yoga'), share: 0.25 },
    { name: '100: stellwerk', script: 'api-enqueue.ts', options: hundred('stellwerk'), share: 2 },
    { name: '100: node:http, same insert', script: 'api-enqueue.ts', options: hundred('http'), share: 2 },
  ],
}
