import { setTimeout as wait } from 'node:timers/promises'
import { restartableServer } from '../test/crash/restartable-server.ts'
import { createSupervisor, mixOf } from '../test/crash/supervisor.ts'
import type { Service } from '../test/support/service.ts'
import { tcpProxy } from '../test/support/tcp-proxy.ts'

// `npm run soak -- <minutes>`: three instances, one of them over a bad network, and one fault after another, chosen by chance.
// After each round everything must be as the laws of test/crash/violations.ts say; the first round that is not ends the run.

const minutes = Number(process.argv[2] ?? 10)
if (!(minutes > 0)) {
  console.error('Say for how many minutes: npm run soak -- 10')
  process.exit(2)
}

const faultsARound = 3
const roundEndsWithinMs = 90_000

const server = await restartableServer()
const way = await tcpProxy(server.url)
const supervisor = await createSupervisor({
  ...server,
  settings: { STELLWERK_WORKERS: '300', STELLWERK_DEAD_AFTER_MS: '3000', STELLWERK_CLEANUP_TICK_MS: '5000' },
})
const services: Service[] = []
let ended = false

/** Starts an instance, and again in the same directory whenever it ends. */
async function keep(index: number, dataDir?: string): Promise<void> {
  const options = { ...(dataDir === undefined ? {} : { dataDir }), ...(index === 0 ? { url: way.url } : {}) }
  const service = await supervisor.launch(options)
  services[index] = service
  void service.exited.then(() => (ended ? undefined : keep(index, service.dataDir)))
}

const pick = <Thing>(things: readonly Thing[]): Thing => things[Math.floor(Math.random() * things.length)]!

const faults: Readonly<Record<string, () => Promise<unknown>>> = {
  'kill -9': async () => pick(services).signal('SIGKILL'),
  'kill -9 of all': async () => services.forEach((service) => service.signal('SIGKILL')),
  SIGTERM: async () => pick(services).signal('SIGTERM'),
  freeze: async () => {
    const service = pick(services)
    service.signal('SIGSTOP')
    await wait(1_000 + Math.random() * 5_000)
    service.signal('SIGCONT')
  },
  'poison job': () => supervisor.enqueue({ kind: 'deadly', count: 1 }),
  'PostgreSQL restarted': () => server.restart('fast', Math.random() * 4_000),
  'PostgreSQL crashed': () => server.restart('immediate'),
  'backends terminated': () =>
    server.sql(
      'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()',
    ),
  'network cut': async () => way.cut(),
  'network away': async () => {
    way.mode('closed')
    await wait(Math.random() * 6_000)
    way.mode('open')
  },
  'network silent': async () => {
    way.mode('hole')
    await wait(Math.random() * 6_000)
    way.mode('open')
  },
  'answers lost': async () => {
    way.mute(pick(['fails_always', 'finish_jobs', 'fail_jobs']))
    await wait(500)
    way.cut()
  },
}

async function round(): Promise<{ happened: string[]; broken: string[] }> {
  const happened: string[] = []
  await supervisor.enqueue(...mixOf(20))
  for (let count = 0; count < faultsARound; count += 1) {
    await wait(300 + Math.random() * 1_500)
    const [name, make] = pick(Object.entries(faults))
    happened.push(name)
    await make()
    await supervisor.enqueue(...mixOf(5))
  }
  const hurry = setInterval(() => void supervisor.hasten().catch(() => undefined), 500)
  const broken = await supervisor.verdict(roundEndsWithinMs)
  clearInterval(hurry)
  return { happened, broken }
}

for (const index of [0, 1, 2]) await keep(index)
await Promise.all(services.map((service) => service.started()))

const end = performance.now() + minutes * 60_000
let broken: string[] = []
for (let count = 1; performance.now() < end && broken.length === 0; count += 1) {
  const result = await round()
  broken = result.broken
  console.log(
    `round ${count}: ${result.happened.join(', ')}: ${broken.length === 0 ? 'all laws hold' : 'BROKEN'}, ${await supervisor.count('done')} done, ${await supervisor.count('dlq')} in the dead-letter queue`,
  )
}
for (const law of broken) console.error(law)
if (broken.length > 0)
  for (const service of services)
    console.error(`--- the last lines of process ${service.pid}\n${service.output().split('\n').slice(-30).join('\n')}`)

ended = true
await supervisor.end()
await way.close()
await server.end()
console.log(broken.length === 0 ? 'All laws held.' : `${broken.length} laws were broken.`)
process.exit(broken.length === 0 ? 0 : 1)
