const uuid = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
const jobId = new RegExp(`^(?:job_)?(${uuid})$`, 'i')
const anyNodeId = new RegExp(
  `^(?:(job|instance|pause|email|suppression|template|bulk|key|entitytype|attribute|entity|endpoint|delivery|attachment|import|document|term|rule|workflow)_(${uuid})|(event)_(${uuid})_(\\d{1,9})|(tenant)_([a-z0-9][a-z0-9_-]{0,62})|(kind)_([a-z0-9_]{1,63})|(worker)_(\\d{1,9})|(audit)_(\\d{1,18}))$`,
  'i',
)

/** What has a uuid in its node id. */
type UuidNode =
  | 'job'
  | 'instance'
  | 'pause'
  | 'email'
  | 'suppression'
  | 'template'
  | 'bulk'
  | 'key'
  | 'entitytype'
  | 'attribute'
  | 'entity'
  | 'endpoint'
  | 'delivery'
  | 'attachment'
  | 'import'
  | 'document'
  | 'term'
  | 'rule'
  | 'workflow'

/** What a node id names: readable to us, opaque to clients. */
export type NodeKey =
  | { readonly type: UuidNode; readonly id: string }
  | { readonly type: 'event'; readonly jobId: string; readonly revision: number }
  | { readonly type: 'tenant'; readonly key: string }
  | { readonly type: 'kind'; readonly name: string }
  | { readonly type: 'worker' | 'audit'; readonly id: string }

/** The uuid in a job's node id, or a bare one; null: neither, so that there is no such job. */
export function parseJobId(id: string): string | null {
  return jobId.exec(id)?.[1]?.toLowerCase() ?? null
}

/** The uuid in a node id of this sort, or a bare one; null: neither. */
export function parseUuidOf(type: UuidNode, id: string): string | null {
  const bare = id.startsWith(`${type}_`) ? id.slice(type.length + 1) : id
  return new RegExp(`^${uuid}$`, 'i').test(bare) ? bare.toLowerCase() : null
}

/** Null: no id of ours. */
export function parseNodeId(id: string): NodeKey | null {
  const [, type, key, event, eventJob, revision, tenant, tenantKey, kind, kindName, worker, workerId, audit, auditId] =
    anyNodeId.exec(id) ?? []
  if (type !== undefined) return { type: type.toLowerCase() as UuidNode, id: key!.toLowerCase() }
  if (event !== undefined) return { type: 'event', jobId: eventJob!.toLowerCase(), revision: Number(revision) }
  if (tenant !== undefined) return { type: 'tenant', key: tenantKey! }
  if (kind !== undefined) return { type: 'kind', name: kindName! }
  if (worker !== undefined) return { type: 'worker', id: workerId! }
  if (audit !== undefined) return { type: 'audit', id: auditId! }
  return null
}
