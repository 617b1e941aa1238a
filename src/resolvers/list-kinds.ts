import { readKinds, type RegisteredKind } from '../sql/read-kinds.ts'
import { authorize, type RequestContext } from './context.ts'
import { kindView } from './kind-view.ts'

/** All kinds that an instance ever registered or that this process knows, by name. */
export async function listKinds(context: RequestContext): Promise<RegisteredKind[]> {
  authorize(context, [['READ_JOBS'], ['ENQUEUE_JOBS']])
  const { kinds, pools } = context.deps
  const others = (await readKinds(pools.api, null)).filter(({ name }) => !kinds.has(name))
  const own = await Promise.all([...kinds.keys()].map(async (name) => kindView(name, context)))
  return [...own, ...others].toSorted((a, b) => (a.name < b.name ? -1 : 1))
}
