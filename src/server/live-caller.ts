import type { Caller } from '../jobs/permissions.ts'

/** A caller that is always the present one: a stream outlives the token that it began with. */
export function liveCaller(present: () => Caller): Caller {
  return {
    get principal() {
      return present().principal
    },
    get scopes() {
      return present().scopes
    },
    get tenantIds() {
      return present().tenantIds
    },
    get expiresAt() {
      return present().expiresAt
    },
  }
}
