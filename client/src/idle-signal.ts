/** A signal that fires once nothing was heard for this long; `heard()` starts the wait anew, `end()` ends it. */
export function idleSignal(afterMs: number): { readonly signal: AbortSignal; heard(): void; end(): void } {
  const controller = new AbortController()
  const fire = (): void => controller.abort(new Error(`Nothing was heard for ${afterMs} ms.`))
  let timer = setTimeout(fire, afterMs)
  return {
    signal: controller.signal,
    heard() {
      clearTimeout(timer)
      timer = setTimeout(fire, afterMs)
    },
    end: () => clearTimeout(timer),
  }
}
