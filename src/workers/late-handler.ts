import type { Handler } from './handler.ts'

/**
 * A handler whose modules are loaded with its first job, so that a process pays only for the kinds it runs. Where that fails the
 * job fails with the cause, and the next one tries again. What the settings say will be used is not for here: it is loaded at the
 * start, which then fails in its place.
 */
export function lateHandler<Payload>(load: () => Promise<Handler<Payload>>): Handler<Payload> {
  let loading: Promise<Handler<Payload>> | undefined
  const loaded = (): Promise<Handler<Payload>> =>
    (loading ??= load().catch((error: unknown) => {
      loading = undefined
      throw error
    }))
  return async (context) => (await loaded())(context)
}
