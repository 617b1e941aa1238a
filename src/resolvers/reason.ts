import { badText } from '../jobs/payload.ts'
import { outsideLength, ranges } from '../jobs/ranges.ts'
import { invalid, type UserError } from './user-error.ts'

/** What is wrong with a reason given by a person; none, or an empty one, is fine. */
export function badReason(reason: string | null | undefined): UserError[] {
  if (!reason) return []
  const unstorable = badText(reason)
  const message =
    outsideLength('reason', reason, ranges.reason) ?? (unstorable === null ? null : `reason ${unstorable}`)
  return message === null ? [] : [invalid(['reason'], message)]
}
