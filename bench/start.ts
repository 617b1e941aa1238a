import type { Bench } from './bench.ts'

/** From the command to the first job that could be taken. */
export const start: Bench = {
  name: 'start',
  about:
    '`stellwerk start` on its embedded database: milliseconds until /ready says yes, and until it has stopped again.',
  jobs: 1,
  columns: [
    { figure: 'readyMs', title: 'ready ms', digits: 0 },
    { figure: 'stopMs', title: 'stop ms', digits: 0 },
    { figure: 'rssMb', title: 'RSS MB', digits: 0 },
  ],
  compared: { figure: 'readyMs', better: 'less' },
  peers: [],
  subjects: [
    { name: 'first time', script: 'stellwerk-start.ts' },
    { name: 'again', script: 'stellwerk-start.ts', options: { again: 'yes' } },
  ],
}
