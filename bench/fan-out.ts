import type { Bench } from './bench.ts'

const subjects = (subscribers: number) => {
  const of = (name: string, options: Readonly<Record<string, string>>) => ({
    name: `${subscribers}: ${name}`,
    script: 'fan-out.ts',
    options: { subscribers: String(subscribers), ...options },
  })
  return [
    of('stellwerk jobs', { server: 'stellwerk', stream: 'jobs' }),
    of('stellwerk job', { server: 'stellwerk', stream: 'job' }),
    of('graphql-ws pub/sub', { server: 'peer' }),
  ]
}

export const fanOut: Bench = {
  name: 'fan-out',
  about:
    'One event to all subscribers by WebSocket, and bursts of 20; from the call that causes them to the last byte at the last client.',
  jobs: 20,
  columns: [
    { figure: 'p50', title: 'one: p50 ms', digits: 0 },
    { figure: 'p99', title: 'p99 ms', digits: 0 },
    { figure: 'oneMicros', title: 'node us', digits: 1 },
    { figure: 'perSecond', title: 'bursts: deliveries/s', digits: 0 },
    { figure: 'burstMicros', title: 'node us', digits: 2 },
    { figure: 'rssMb', title: 'RSS MB', digits: 0 },
  ],
  compared: { figure: 'perSecond', better: 'more' },
  peers: ['1000: graphql-ws pub/sub', '5000: graphql-ws pub/sub'],
  subjects: [...subjects(1_000), ...subjects(5_000)],
}
