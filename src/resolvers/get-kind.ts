import type { RegisteredKind } from '../sql/read-kinds.ts'
import { authorize, type RequestContext } from './context.ts'
import { kindView } from './kind-view.ts'

/** One kind by its name; null: nobody knows it. */
export async function getKind(name: string, context: RequestContext): Promise<RegisteredKind | null> {
  authorize(context, [['READ_JOBS'], ['ENQUEUE_JOBS']])
  if (context.deps.kinds.has(name)) return kindView(name, context)
  return /^[a-z0-9_]{1,63}$/.test(name) ? context.loaders.kinds.load(name) : null
}
