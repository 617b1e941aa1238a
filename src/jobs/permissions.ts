/** What a caller may do. `MANAGE_METADATA` is the administrator's permission (API.md, Roles). */
export const scopes = [
  'READ_JOBS',
  'READ_PAYLOADS',
  'ENQUEUE_JOBS',
  'CONTROL_JOBS',
  'MANAGE_METADATA',
  'READ_AUDIT',
  'OPERATE_PLATFORM',
] as const

export type Scope = (typeof scopes)[number]

export type PrincipalKind = 'USER' | 'SERVICE' | 'WORKER' | 'SYSTEM'

/** An identity that acts. */
export interface Principal {
  readonly id: string
  readonly name: string | null
  readonly kind: PrincipalKind
}

/** Who is calling, and what the token behind the call allows. */
export interface Caller {
  readonly principal: Principal
  readonly scopes: ReadonlySet<Scope>
  /** Ids of the tenants the caller may act for; `all` needs no list. */
  readonly tenantIds: 'all' | ReadonlySet<string>
  readonly expiresAt: Date | null
}

/** Whether the caller holds every scope of at least one of the lists. */
export function holdsScopes(caller: Caller, anyOf: readonly (readonly Scope[])[]): boolean {
  return anyOf.some((all) => all.every((scope) => caller.scopes.has(scope)))
}

/** Whether the caller may see and act on this tenant's data. */
export function mayActFor(caller: Caller, tenantId: string): boolean {
  return caller.tenantIds === 'all' || caller.tenantIds.has(tenantId)
}

/** The tenant predicate of a statement: null means every tenant. */
export function tenantPredicate(caller: Caller): string[] | null {
  return caller.tenantIds === 'all' ? null : [...caller.tenantIds]
}

const prefixes: Record<PrincipalKind, string> = { USER: 'user', SERVICE: 'service', WORKER: 'worker', SYSTEM: 'system' }

/** The form in which the journal keeps an identity: `user:<subject>`, `service:<subject>`. */
export function actorOf(principal: Principal): string {
  return `${prefixes[principal.kind]}:${principal.id}`
}

/** Reads an identity back from the journal; SQL callers (`sql:<role>`) count as services. */
export function principalOf(actor: string): Principal {
  const colon = actor.indexOf(':')
  const prefix = actor.slice(0, colon)
  const id = actor.slice(colon + 1)
  const kind = (Object.keys(prefixes) as PrincipalKind[]).find((each) => prefixes[each] === prefix)
  return kind === undefined ? { id: actor, name: null, kind: 'SERVICE' } : { id, name: null, kind }
}
