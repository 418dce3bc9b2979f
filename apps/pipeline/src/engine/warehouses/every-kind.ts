import type { KeyRing } from '@sluice/database'
import type { Redaction } from '@sluice/process'
import { type Kysely, sql } from 'kysely'
import type { DB } from '../../database.ts'
import { type ClientWarehouses, warehouseCredentials } from './client-warehouses.ts'
import { clickhouseKind, type Kind, postgresKind } from './kinds.ts'
import type { Warehouse } from './warehouse.ts'
import { type Opened, warehouseOfKinds } from './warehouse-of-kinds.ts'

interface Parts {
  db: Kysely<DB>
  keyRing: KeyRing
  redaction: Redaction
  /** Of ClickHouse's HTTP interface, with a user who may make databases, users and grants; undefined where there is none. */
  clickhouseUrl: string | undefined
}

/**
 * The warehouses of clients in PostgreSQL and, for schemas of that kind, ClickHouse. Whoever has schemas in PostgreSQL alone gets
 * that warehouse as it is.
 */
export function everyKind(
  postgres: ClientWarehouses,
  { db, keyRing, redaction, clickhouseUrl }: Parts,
): ClientWarehouses {
  const known = new Map<string, Warehouse>()

  async function kindsOf(client: string): Promise<ReadonlyMap<string, Kind>> {
    const rows = await db
      .selectFrom('schemas')
      .select(['schema_name', 'provider_schema'])
      .where('client', '=', client)
      .execute()
    return new Map(rows.map(({ schema_name, provider_schema }) => [schema_name, provider_schema as Kind]))
  }

  /** What waits to be dropped may be all that is left there. */
  async function somethingLeft(client: string): Promise<boolean> {
    const { rows } = await sql`select from warehouse_drops where client = ${client} limit 1`.execute(db)
    return rows.length > 0
  }

  async function clickhouseOf(client: string): Promise<Warehouse | undefined> {
    const there = known.get(client)
    if (there || clickhouseUrl === undefined) return there
    const credentials = await warehouseCredentials({ db, keyRing, redaction }, client)
    if (!credentials) return undefined
    // Most installations have no ClickHouse, and need not hold its code.
    const [{ clickhouseAccess }, { openClickHouseWarehouse }] = await Promise.all([
      import('./clickhouse/access.ts'),
      import('./clickhouse/clickhouse-warehouse.ts'),
    ])
    const access = clickhouseAccess(clickhouseUrl, credentials)
    redaction.add(...[access.service, access.load, access.read].map(({ password }) => password).filter(Boolean))
    const warehouse = openClickHouseWarehouse(access)
    known.set(client, warehouse)
    return warehouse
  }

  async function together(client: string, usual: Warehouse): Promise<Warehouse> {
    const kinds = await kindsOf(client)
    const elsewhere = [...kinds.values()].some((kind) => kind !== postgresKind)
    if (!elsewhere && !(clickhouseUrl !== undefined && (await somethingLeft(client)))) return usual
    const clickhouse = await clickhouseOf(client)
    const opened: Opened = [[postgresKind, usual], ...(clickhouse ? [[clickhouseKind, clickhouse] as const] : [])]
    return warehouseOfKinds(opened, () => kindsOf(client))
  }

  return {
    kinds: clickhouseUrl === undefined ? postgres.kinds : [...postgres.kinds, clickhouseKind],
    open: async (client) => together(client, await postgres.open(client)),
    async find(client) {
      const usual = await postgres.find(client)
      return usual && together(client, usual)
    },
    readAccess: (client) => postgres.readAccess(client),
    check: () => postgres.check(),
    async [Symbol.asyncDispose]() {
      known.clear()
      await postgres[Symbol.asyncDispose]()
    },
  }
}
