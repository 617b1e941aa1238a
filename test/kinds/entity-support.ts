import type { TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

export interface AttributeSpec {
  readonly key: string
  readonly type?: 'text' | 'number' | 'date' | 'timestamp' | 'boolean'
  readonly searchable?: boolean
  readonly sortable?: boolean
  readonly weight?: string
}

export interface AttributeState {
  readonly id: string
  readonly status: 'none' | 'pending' | 'building' | 'active' | 'failed'
  readonly name: string | null
  readonly error: { code: string; message: string; bad_rows?: number; sample?: string[] } | null
}

/** What entity tests do by plain SQL: whoever writes, the jobs follow. */
export function entitiesOf(database: TestDatabase) {
  const { sql } = database
  return {
    async type(key: string, { tenant = 'default', language = 'simple', target = false } = {}): Promise<string> {
      const [row] = await sql<{ id: string }>(
        `insert into mdm.ddm_entity_type (tenant_id, type_key, language, is_external_source_target)
         select id, $2, $3, $4 from mdm.aa_tenant where tenant_key = $1 returning id`,
        [tenant, key, language, target],
      )
      return row!.id
    },
    async attribute(
      typeId: string,
      { key, type = 'text', searchable = false, sortable = false, weight = 'D' }: AttributeSpec,
    ): Promise<string> {
      const [row] = await sql<{ id: string }>(
        `insert into mdm.ddm_entity_type_attribute (entity_type_id, attr_key, data_type, searchable, sortable, search_weight)
         values ($1, $2, $3, $4, $5, $6) returning id`,
        [typeId, key, type, searchable, sortable, weight],
      )
      return row!.id
    },
    /** Writes entities whose attributes are what the SQL expression makes of \`n\`, from 1. */
    async fill(typeId: string, rows: number, attributes: string): Promise<void> {
      await sql(
        `insert into mdm.ddm_entity (tenant_id, entity_type_id, attributes)
         select t.tenant_id, t.id, ${attributes} from mdm.ddm_entity_type t, generate_series(1, $2::int) n where t.id = $1`,
        [typeId, rows],
      )
    },
    async insert(typeId: string, attributes: Record<string, unknown>): Promise<string> {
      const [row] = await sql<{ id: string }>(
        `insert into mdm.ddm_entity (tenant_id, entity_type_id, attributes) select tenant_id, id, $2 from mdm.ddm_entity_type where id = $1 returning id`,
        [typeId, attributes],
      )
      return row!.id
    },
    async toggle(attributeId: string, flags: string): Promise<void> {
      await sql(`update mdm.ddm_entity_type_attribute set ${flags} where id = $1`, [attributeId])
    },
    async state(attributeId: string): Promise<AttributeState> {
      const [row] = await sql<AttributeState & Record<string, unknown>>(
        'select id, index_status as status, index_name as name, index_error as error from mdm.ddm_entity_type_attribute where id = $1',
        [attributeId],
      )
      return row!
    },
    async typeState(typeId: string) {
      const [row] = await sql<{
        status: string
        name: string | null
        error: { code: string } | null
        version: number
      }>(
        'select gin_index_status as status, gin_index_name as name, gin_index_error as error, search_version as version from mdm.ddm_entity_type where id = $1',
        [typeId],
      )
      return row!
    },
    /** The indexes that jobs made, as the catalogue has them. */
    async indexes(): Promise<{ name: string; valid: boolean; definition: string }[]> {
      for (;;) {
        try {
          return await sql(
            `select * from (
               select c.relname as name, i.indisvalid as valid, pg_get_indexdef(i.indexrelid) as definition
                 from pg_index i join pg_class c on c.oid = i.indexrelid
                where i.indrelid = 'mdm.ddm_entity'::regclass and c.relname like 'ix\\_entity%' offset 0) found
              where definition is not null order by 1`,
          )
        } catch (error) {
          // One was dropped while this looked; where it had gone altogether, its definition is null.
          if (!/^(?:cache lookup failed for|could not open relation with OID)/.test((error as Error).message))
            throw error
        }
      }
    },
    /** The jobs of a kind, oldest first. */
    async jobs(kind: string) {
      return sql<{
        id: string
        status: string
        attempts: number
        key: string | null
        error: string | null
        payload: Record<string, unknown>
        result: Record<string, unknown> | null
        progress: { message?: string; data?: { phase: string; waitsFor: { pid: number } | null } } | null
      }>(
        `select id, status, attempts, idempotency_key as key, last_error as error, payload, result, progress from mdm.aa_job where job_kind = $1 order by id`,
        [kind],
      )
    },
    async reached(attributeId: string, status: AttributeState['status'], withinMs = 20_000): Promise<AttributeState> {
      return until(
        async () => {
          const state = await this.state(attributeId)
          return state.status === status ? state : null
        },
        `the index is ${status}`,
        withinMs,
      )
    },
    async typeReached(typeId: string, status: string, withinMs = 20_000) {
      return until(
        async () => {
          const state = await this.typeState(typeId)
          return state.status === status ? state : null
        },
        `the GIN index is ${status}`,
        withinMs,
      )
    },
    /** Waits until no job of a kind is open. */
    async quiet(kind: string, withinMs = 20_000): Promise<void> {
      await until(
        async () => (await this.jobs(kind)).every(({ status }) => status !== 'pending' && status !== 'running'),
        `no ${kind} is open`,
        withinMs,
      )
    },
    /** Puts what waits for its time in front. */
    async hurry(): Promise<void> {
      await sql(`update mdm.aa_job set available_at = now() where status = 'pending' and available_at > now()`)
    },
  }
}

export type Entities = ReturnType<typeof entitiesOf>
