/** Where the round-robin over the tenants stands. */
export interface Rotation {
  /** The next turn belongs to the first tenant with something to do after this one. */
  readonly afterTenant: string
  /** The tenant whose turn the last claim cut, and how many of its weight it had; none: the zero id. */
  readonly cutTenant: string
  readonly cutTaken: number
  /** How many tenants had something to do when last looked at. */
  readonly tenants: number
}

export const noTenant = '00000000-0000-0000-0000-000000000000'

export const firstRotation: Rotation = { afterTenant: noTenant, cutTenant: noTenant, cutTaken: 0, tenants: 0 }

/**
 * The rotation after a claim that brought jobs of these tenants, in the order of their turns. A turn that the limit cut is carried on first
 * thing next time, so that weights hold over any sizes of claims.
 */
export function rotate(
  before: Rotation,
  tenantsOfJobs: readonly string[],
  limit: number,
  weightOf: (tenantId: string) => number,
): Rotation {
  const last = tenantsOfJobs.at(-1)
  if (last === undefined) return { ...before, tenants: 0 }
  const tenants = new Set(tenantsOfJobs).size
  const ofLast = tenantsOfJobs.reduce((count, tenant) => count + (tenant === last ? 1 : 0), 0)
  const trailing = tenantsOfJobs.length - 1 - tenantsOfJobs.findLastIndex((tenant) => tenant !== last)
  const carried = last === before.cutTenant && trailing === ofLast ? before.cutTaken : 0
  const taken = (carried + trailing) % weightOf(last)
  if (taken === 0 || tenantsOfJobs.length < limit)
    return { afterTenant: last, cutTenant: noTenant, cutTaken: 0, tenants }
  return { afterTenant: idBefore(last), cutTenant: last, cutTaken: taken, tenants }
}

/** The greatest id below this one. */
function idBefore(id: string): string {
  const number = BigInt(`0x${id.replaceAll('-', '')}`)
  const hex = (number === 0n ? 0n : number - 1n).toString(16).padStart(32, '0')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** Where it is not known how many tenants have something to do, a claim may lock so many jobs for nothing, or as many as it brings. */
const mostLockedInVain = 256

/** How many rounds to take in one claim so that few tenants need no further statements. */
export function roundsFor(limit: number, tenants: number): number {
  // Two at least: a job that comes alone would fill the one turn of its tenant, and a second claim have to see that there is no other.
  if (tenants === 0) return Math.min(limit, Math.max(2, Math.floor(mostLockedInVain / limit)))
  return Math.max(1, Math.ceil(limit / tenants))
}

/** Whether a claim with `roundsFor` these brought all there was: it saw the whole rotation, and no tenant filled its turns. */
export function broughtAll(
  before: Rotation,
  tenantsOfJobs: readonly string[],
  limit: number,
  weightOf: (tenantId: string) => number,
): boolean {
  const rounds = roundsFor(limit, before.tenants)
  const counts = new Map<string, number>()
  for (const tenant of tenantsOfJobs) counts.set(tenant, (counts.get(tenant) ?? 0) + 1)
  return (
    before.cutTaken === 0 &&
    tenantsOfJobs.length < limit &&
    counts.size < limit &&
    [...counts].every(([tenant, count]) => count < rounds * weightOf(tenant))
  )
}

/**
 * The tenants that hold their share of the slots already: slots x weight / weights of those at work, at least one (SPEC section 4).
 * `atWork` names a tenant once for each slot it holds. Whether others have due jobs is seen by claiming: one such tenant is counted with.
 */
export function tenantsOverShare(
  atWork: Iterable<string>,
  slots: number,
  weightOf: (tenantId: string) => number,
): string[] {
  const held = new Map<string, number>()
  for (const tenant of atWork) held.set(tenant, (held.get(tenant) ?? 0) + 1)
  const weights = [...held.keys()].reduce((sum, tenant) => sum + weightOf(tenant), 1)
  return [...held]
    .filter(([tenant, count]) => count >= Math.max(1, Math.floor((slots * weightOf(tenant)) / weights)))
    .map(([tenant]) => tenant)
}
