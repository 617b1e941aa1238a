const firstMs = 100
const longestMs = 10_000

/** Waits before the next try: a random part of a time that doubles, never shorter than the service asked for. */
export async function backOff(failures: number, retryAfter: number | null, signal: AbortSignal): Promise<void> {
  const most = Math.min(firstMs * 2 ** failures, longestMs)
  const waitMs = (retryAfter ?? 0) * 1_000 + Math.random() * most
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, waitMs)
    signal.addEventListener('abort', done)
    if (signal.aborted) done()
  })
}
