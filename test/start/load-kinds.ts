import { loadKinds } from '../../src/workers/load-kinds.ts'

/** Loads each module that it is given, and prints as a list what was said to each; null: nothing was wrong. */
const said: (string | null)[] = []
for (const path of process.argv.slice(2)) {
  said.push(
    await loadKinds(path).then(
      () => null,
      (error: Error) => error.message,
    ),
  )
}
process.stdout.write(JSON.stringify(said))
