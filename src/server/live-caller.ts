import type { Caller } from '../jobs/permissions.ts'

/**
 * A caller that is always the present one: a stream outlives the token that it began with. A class, as an object with getters of its own
 * has a shape of its own: with thousands of streams each look at it would be a search.
 */
export class LiveCaller implements Caller {
  /** Of the last token; one object never says something else than before. */
  present: Caller

  constructor(first: Caller) {
    this.present = first
  }

  get principal() {
    return this.present.principal
  }
  get scopes() {
    return this.present.scopes
  }
  get tenantIds() {
    return this.present.tenantIds
  }
  get expiresAt() {
    return this.present.expiresAt
  }
}

/** Another object as soon as the caller may have other rights. */
export function presentRights(caller: Caller): Caller {
  return caller instanceof LiveCaller ? caller.present : caller
}
