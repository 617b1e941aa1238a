import { setTimeout as wait } from 'node:timers/promises'

/** For so many times as long as a batch took, the server is left to the jobs: deleting without a pause took half a core from a drain. */
const restPerWork = 2

/** Deletes in batches along a key, to its end or to the signal; `place` is where to go on, null at the end. */
export async function alongKey(
  first: string,
  signal: AbortSignal,
  remove: (after: string) => Promise<readonly { readonly deleted: number; readonly lastId: string | null }[]>,
): Promise<{ deleted: number; place: string | null }> {
  let deleted = 0
  let place: string | null = first
  while (place !== null && !signal.aborted) {
    const begunAt = performance.now()
    const [row] = await remove(place)
    deleted += row!.deleted
    place = row!.lastId
    if (place !== null) await rest((performance.now() - begunAt) * restPerWork, signal)
  }
  return { deleted, place }
}

async function rest(ms: number, signal: AbortSignal): Promise<void> {
  await wait(ms, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
}
