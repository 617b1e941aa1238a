/**
 * Lets calls that come while one is under way share the next: one statement and one commit for all of them. `run` answers in the
 * order of its items; if it fails, every call of the group fails.
 */
export function gather<Item, Answer>(
  run: (items: readonly Item[]) => Promise<readonly Answer[]>,
): (item: Item) => Promise<Answer> {
  let open: {
    readonly item: Item
    readonly resolve: (answer: Answer) => void
    readonly reject: (error: unknown) => void
  }[] = []
  let running = false

  const flush = async (): Promise<void> => {
    while (open.length > 0) {
      const group = open
      open = []
      try {
        const answers = await run(group.map(({ item }) => item))
        group.forEach(({ resolve }, index) => resolve(answers[index]!))
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    running = false
  }

  return (item) =>
    new Promise((resolve, reject) => {
      open.push({ item, resolve, reject })
      if (running) return
      running = true
      // What the same turn of the event loop brings goes along.
      setImmediate(() => void flush())
    })
}
