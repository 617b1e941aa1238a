import type { Service } from './service.ts'
import { until } from './until.ts'

const listener = `process.on('SIGUSR2', () => {
  gc()
  const { heapUsed, external } = process.memoryUsage()
  process.stdout.write('kept ' + (heapUsed + external) + '\\n')
})`

/** Settings with which a service can be asked what it keeps. */
export const tellsKeptMemory = {
  NODE_OPTIONS: `--expose-gc --import data:text/javascript,${encodeURIComponent(listener)}`,
}

/** Heap and buffers after a collection, in MB. The resident size does not tell: V8 lets the heap grow first, and gives pages back late. */
export async function keptMemory(service: Service): Promise<number> {
  const figures = (): string[] => [...service.output().matchAll(/^kept (\d+)$/gm)].map(([, bytes]) => bytes!)
  const before = figures().length
  service.signal('SIGUSR2')
  await until(() => figures().length > before, 'the service has told what it keeps', 60_000)
  return Number(figures().at(-1)) / 1_048_576
}
