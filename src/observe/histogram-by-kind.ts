import type { MetricValueWithName, Registry } from 'prom-client'

/** Seconds by job kind, in buckets. */
export interface HistogramByKind {
  observe(kind: string, seconds: number): void
}

interface Tally {
  /** Observations up to each bound, and beyond the last. */
  readonly counts: Float64Array
  sum: number
}

/**
 * A Prometheus histogram that is cheap to feed and pays when it is scraped: prom-client's own takes 435 ns an observation
 * (it hashes the labels each time), and a drain makes 120,000 a second.
 */
export function createHistogramByKind(
  registry: Registry,
  name: string,
  help: string,
  bounds: readonly number[],
): HistogramByKind {
  const tallies = new Map<string, Tally>()
  const metric = {
    name,
    help,
    type: 'histogram',
    aggregator: 'sum',
    get: async () => ({
      name,
      help,
      type: 'histogram',
      aggregator: 'sum',
      values: [...tallies].flatMap(([kind, tally]) => seriesOf(name, kind, bounds, tally)),
    }),
    reset: () => tallies.clear(),
  }
  registry.registerMetric(metric as unknown as Parameters<Registry['registerMetric']>[0])
  return {
    observe(kind, seconds) {
      let tally = tallies.get(kind)
      if (tally === undefined) tallies.set(kind, (tally = { counts: new Float64Array(bounds.length + 1), sum: 0 }))
      let bucket = 0
      while (bucket < bounds.length && seconds > bounds[bucket]!) bucket++
      tally.counts[bucket]!++
      tally.sum += seconds
    },
  }
}

function seriesOf(
  name: string,
  kind: string,
  bounds: readonly number[],
  { counts, sum }: Tally,
): MetricValueWithName<string>[] {
  let upTo = 0
  const buckets = Array.from(counts, (count, index) => {
    upTo += count
    return { metricName: `${name}_bucket`, labels: { le: bounds[index] ?? '+Inf', kind }, value: upTo }
  })
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels: { kind }, value: sum },
    { metricName: `${name}_count`, labels: { kind }, value: upTo },
  ]
}
