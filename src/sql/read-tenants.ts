import { statement } from './statement.ts'

export interface TenantRow {
  readonly id: string
  readonly key: string
  readonly name: string
  readonly status: 'active' | 'closed'
  readonly metadata: {
    readonly weight?: number
    readonly rate_limit?: Readonly<Record<string, { readonly rps: number; readonly burst: number }>>
  }
}

/** The select list that makes a TenantRow of the alias `t`. */
export const tenantRowColumns = `t.id, t.tenant_key as key, t.name, t.status, t.metadata`

export const readTenants = statement<[idsOrKeys: readonly string[], tenantIds: readonly string[] | null], TenantRow>(
  'read_tenants',
  `-- reads tenants by id or key, each on its unique index; $2 = the caller's tenants, null: all
select ${tenantRowColumns}
  from mdm.aa_tenant t
 where (t.tenant_key = any ($1::text[]) or t.id = any (array(select i::uuid from unnest($1::text[]) i where pg_input_is_valid(i, 'uuid'))))
   and ($2::uuid[] is null or t.id = any ($2))`,
)
