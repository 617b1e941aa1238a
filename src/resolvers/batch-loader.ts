/** Reads by key: what is asked for in one tick of the event loop is read in one go. */
export interface BatchLoader<Row> {
  load(key: string): Promise<Row | null>
}

interface Options<Row> {
  readonly read: (keys: readonly string[]) => Promise<readonly Row[]>
  readonly keyOf: (row: Row) => string
  /** Whether an answer is kept for the life of the loader. Not for what the same operation may change. */
  readonly remember: boolean
}

export function createBatchLoader<Row>({ read, keyOf, remember }: Options<Row>): BatchLoader<Row> {
  const known = new Map<string, Promise<Row | null>>()
  let batch: { readonly keys: Set<string>; readonly rows: Promise<ReadonlyMap<string, Row>> } | undefined

  const gather = (): NonNullable<typeof batch> => {
    const keys = new Set<string>()
    const rows = endOfTick().then(async () => {
      batch = undefined
      return new Map((await read([...keys])).map((row) => [keyOf(row), row]))
    })
    return { keys, rows }
  }

  return {
    load(key) {
      const before = known.get(key)
      if (before !== undefined) return before
      batch ??= gather()
      batch.keys.add(key)
      const answer = batch.rows.then((rows) => rows.get(key) ?? null)
      if (remember) known.set(key, answer)
      return answer
    },
  }
}

/** After all promise callbacks of this tick: GraphQL resolves the fields of a list in those. */
function endOfTick(): Promise<void> {
  return Promise.resolve().then(() => new Promise((resolve) => process.nextTick(resolve)))
}
