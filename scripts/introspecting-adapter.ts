import { PrismaPg } from '@prisma/adapter-pg'
import {
  ColumnTypeEnum,
  type SqlDriverAdapter,
  type SqlMigrationAwareDriverAdapterFactory,
} from '@prisma/driver-adapter-utils'
import pg from 'pg'

// The catalog's one-byte "char": unknown to Prisma's adapter, which would refuse the whole result, and wanted by the engine.
const CHAR_OID = 18
const TEXT_OID = 25

/** Prisma's adapter for pg, mended so that the schema engine can read PostgreSQL's catalog through it. */
export function introspectingAdapter(url: string): SqlMigrationAwareDriverAdapterFactory {
  const charColumns = new WeakMap<object, readonly number[]>()
  const factory = new PrismaPg(poolThatHidesChars(url, charColumns))
  const connect = async (): Promise<SqlDriverAdapter> => {
    const adapter = await factory.connect()
    const queryRaw = adapter.queryRaw.bind(adapter)
    adapter.queryRaw = async (query) => {
      const result = await queryRaw(query)
      for (const column of charColumns.get(result.rows) ?? []) result.columnTypes[column] = ColumnTypeEnum.Character
      return result
    }
    return adapter
  }
  // Nothing here needs a second database, and the adapter's own way to one would open the first again.
  const connectToShadowDb = () => Promise.reject(new Error('There is no shadow database.'))
  return { provider: factory.provider, adapterName: factory.adapterName, connect, connectToShadowDb }
}

/** Calls "char" columns text, and notes by the identity of the rows which they were. */
function poolThatHidesChars(url: string, charColumns: WeakMap<object, readonly number[]>): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, options: '-c timezone=UTC' })
  const query = pool.query.bind(pool) as (config: pg.QueryArrayConfig) => Promise<pg.QueryArrayResult>
  return Object.assign(pool, {
    async query(config: pg.QueryArrayConfig) {
      const result = await query(config)
      const chars = result.fields.flatMap((field, column) => (field.dataTypeID === CHAR_OID ? [column] : []))
      for (const column of chars) Object.assign(result.fields[column] as pg.FieldDef, { dataTypeID: TEXT_OID })
      charColumns.set(result.rows, chars)
      return result
    },
  })
}
