/** The rule of fair dispatch, said plainly: what the claims in SQL are held against. */
export interface ModelJob {
  readonly id: string
  readonly tenantId: string
  readonly kind: string
  readonly priority: number
  /** Milliseconds from now; above 0: not due. */
  readonly dueIn: number
}

export interface ModelRules {
  readonly kinds: ReadonlySet<string>
  /** Null: all. */
  readonly tenants: ReadonlySet<string> | null
  readonly excludedPairs: ReadonlySet<string>
  readonly excludedTenants: ReadonlySet<string>
  /** Most jobs of a `kind tenant` pair in one claim. */
  readonly pairBounds: ReadonlyMap<string, number>
  readonly weightOf: (tenantId: string) => number
}

/** Whose turn it is, and how much of it is left. */
export interface Turn {
  readonly tenantId: string
  readonly left: number
}

/** The jobs of the next turns, in order, and where the rotation stands after each of them. */
export function nextTurns(
  jobs: readonly ModelJob[],
  rules: ModelRules,
  before: Turn,
  limit: number,
): { readonly job: ModelJob; readonly turn: Turn }[] {
  const waiting = Map.groupBy(eligible(jobs, rules), (job) => job.tenantId)
  const picked: { job: ModelJob; turn: Turn }[] = []
  let turn = before
  while (picked.length < limit && waiting.size > 0) {
    if (turn.left === 0 || !waiting.has(turn.tenantId)) {
      const tenantId = tenantAfter([...waiting.keys()], turn.tenantId)
      turn = { tenantId, left: rules.weightOf(tenantId) }
    }
    const ofTenant = waiting.get(turn.tenantId)!
    turn = { ...turn, left: turn.left - 1 }
    picked.push({ job: ofTenant.shift()!, turn })
    if (ofTenant.length === 0) waiting.delete(turn.tenantId)
  }
  return picked
}

/** The jobs of a claim by priority, in order. */
export function mostUrgent(jobs: readonly ModelJob[], rules: ModelRules, limit: number): ModelJob[] {
  return eligible(jobs, rules).slice(0, limit)
}

/** Best first: what one claim may bring. */
function eligible(jobs: readonly ModelJob[], rules: ModelRules): ModelJob[] {
  const taken = new Map<string, number>()
  return jobs.toSorted(byUrgency).filter((job) => {
    const pair = `${job.kind} ${job.tenantId}`
    const bound = rules.pairBounds.get(pair) ?? Infinity
    const fits =
      job.dueIn <= 0 &&
      rules.kinds.has(job.kind) &&
      (rules.tenants?.has(job.tenantId) ?? true) &&
      !rules.excludedPairs.has(pair) &&
      !rules.excludedTenants.has(job.tenantId) &&
      (taken.get(pair) ?? 0) < bound
    if (fits) taken.set(pair, (taken.get(pair) ?? 0) + 1)
    return fits
  })
}

function byUrgency(a: ModelJob, b: ModelJob): number {
  return a.priority - b.priority || a.dueIn - b.dueIn || (a.id < b.id ? -1 : 1)
}

function tenantAfter(tenants: readonly string[], last: string): string {
  const inOrder = tenants.toSorted()
  return inOrder.find((tenant) => tenant > last) ?? inOrder[0]!
}

/** Chance that can be repeated: numbers in [0, 1) from a seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
