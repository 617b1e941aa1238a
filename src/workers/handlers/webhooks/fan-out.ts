import type { Wakeup } from '../../../events/wakeup.ts'
import { LeaseLost, Snooze } from '../../../jobs/errors.ts'
import { absorbFanOuts } from '../../../sql/absorb-fan-outs.ts'
import { chainWebhook } from '../../../sql/chain-webhook.ts'
import { enqueueFanOut } from '../../../sql/enqueue-fan-out.ts'
import { fanOutEvents } from '../../../sql/fan-out-events.ts'
import { tryFanOutLock } from '../../../sql/try-fan-out-lock.ts'
import type { HandlerContext, HandlerResult, JobTransaction } from '../../handler.ts'
import { statementsIn } from '../statements-in.ts'

interface FanOutDeps {
  readonly wakeup: Pick<Wakeup, 'signal'>
  readonly random: () => number
}

export type FanOut = (context: HandlerContext<unknown>) => Promise<HandlerResult>

interface Spread {
  readonly events: number
  readonly deliveries: number
  readonly absorbed: number
}

const mostEvents = 500
const mostAbsorbed = 500

/**
 * Spreads a tenant's pending events over its endpoints, in one short transaction under the tenant's lock. Jobs of the tenant that
 * come to this process meanwhile share the run that begins after they came: it sees the events that each of them stands for.
 */
export function createFanOut({ wakeup, random }: FanOutDeps): FanOut {
  const underWay = new Map<string, { readonly running: Promise<unknown>; next: Promise<Spread> | null }>()

  const spreadOnce = async ({ transaction, job }: HandlerContext<unknown>): Promise<Spread> => {
    const spread = await transaction((tx) => spreadIn(tx, job.tenantId, job.priority))
    // Another instance is at it and may have looked before these events were there.
    if (spread === null) throw new Snooze(100 + 100 * random())
    if (spread.deliveries > 0 || spread.events === mostEvents) wakeup.signal('work')
    return spread
  }

  const spread = (context: HandlerContext<unknown>): Promise<Spread> => {
    const { tenantId } = context.job
    const at = underWay.get(tenantId)
    if (at === undefined) {
      const running = spreadOnce(context)
      const entry = { running, next: null }
      underWay.set(tenantId, entry)
      const clear = (): void => void (underWay.get(tenantId) === entry && underWay.delete(tenantId))
      running.then(clear, clear)
      return running
    }
    at.next ??= at.running.then(
      () => spread(context),
      () => spread(context),
    )
    // Whose run it is may lose its claim: that is no matter of those who shared it.
    return at.next.catch((error: unknown) => {
      if (error instanceof LeaseLost) return spread(context)
      throw error
    })
  }

  return async (context) => ({ result: await spread(context) })
}

/** Null: somebody else is spreading this tenant's events. */
async function spreadIn(tx: JobTransaction, tenantId: string, priority: number): Promise<Spread | null> {
  const db = statementsIn(tx)
  const [lock] = await tryFanOutLock(db, tenantId)
  if (!lock!.mine) return null
  // Before the events are read: what an absorbed job stands for is visible then.
  const [{ absorbed } = { absorbed: 0 }] = await absorbFanOuts(db, tenantId, priority, mostAbsorbed)
  const [spread] = await fanOutEvents(db, tenantId, mostEvents)
  for (const endpoint of spread!.ordered) await chainWebhook(db, endpoint)
  if (spread!.events === mostEvents) await enqueueFanOut(db, tenantId)
  return { events: spread!.events, deliveries: spread!.deliveries, absorbed }
}
