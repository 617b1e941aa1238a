import { statement } from './statement.ts'

/** What bears on claiming, as it stands now. */
export interface ClaimRulesRow {
  readonly tenants: {
    id: string
    closed: boolean
    weight: number | null
    limits: Record<string, { rps: unknown; burst: unknown }> | null
  }[]
  readonly pauses: { kind: string | null; tenantId: string | null; untilMs: number | null }[]
  readonly caps: { kind: string | null; tenantId: string | null }[]
  /** Every kind that the database knows, with its own cap. */
  readonly kinds: { name: string; maxConcurrency: number | null }[]
}

export const readClaimRules = statement<[], { rules: ClaimRulesRow }>(
  'read_claim_rules',
  `-- reads closed tenants, weights, limits, pauses and caps, in one look; on a control signal and every ten seconds
select jsonb_build_object(
  'tenants', (select coalesce(jsonb_agg(jsonb_build_object('id', t.id, 'closed', t.status <> 'active', 'weight', t.metadata -> 'weight', 'limits', t.metadata -> 'rate_limit')), '[]')
                from mdm.aa_tenant t where t.status <> 'active' or t.metadata ?| array['weight', 'rate_limit']),
  'pauses', (select coalesce(jsonb_agg(jsonb_build_object('kind', p.job_kind, 'tenantId', p.tenant_id,
                      'untilMs', case when p.until is not null then greatest(date_part('epoch', p.until - clock_timestamp()) * 1000, 0) end)), '[]')
               from mdm.aa_queue_pause p where p.until is null or p.until > clock_timestamp()),
  'caps', (select coalesce(jsonb_agg(jsonb_build_object('kind', c.job_kind, 'tenantId', c.tenant_id)), '[]') from mdm.aa_concurrency_limit c),
  'kinds', (select coalesce(jsonb_agg(jsonb_build_object('name', k.name, 'maxConcurrency', k.max_concurrency)), '[]') from mdm.aa_job_kind k)) as rules`,
)
