import { warehouseTypes } from '@sluice/contracts/connector-types'
import type { KeyRing } from '@sluice/database'
import type { Redaction } from '@sluice/process'
import { type Kysely, sql } from 'kysely'
import type { DB } from '../database.ts'
import { type ClientWarehouses, warehouseCredentials } from './client-warehouses.ts'
import type { WarehouseKind } from '@sluice/warehouses/warehouse-kinds'
import type { WarehouseDriver } from '@sluice/warehouses/registry/warehouse-registry'
import { type Warehouse, isWarehouseGone } from '@sluice/warehouses/warehouse'
import { type OpenedWarehouses, routeBySchema } from './route-by-schema.ts'

interface RouterOptions {
  db: Kysely<DB>
  keyRing: KeyRing
  redaction: Redaction
  /** The drivers of all kinds of warehouses other than PostgreSQL. */
  otherDrivers: readonly WarehouseDriver[]
}

/**
 * Adds other kinds of warehouses to the PostgreSQL warehouses. If all schemas of an organisation are in PostgreSQL,
 * returns its PostgreSQL warehouse unchanged.
 */
export function routeWarehouses(
  postgres: ClientWarehouses,
  { db, keyRing, redaction, otherDrivers }: RouterOptions,
): ClientWarehouses {
  const openings = new Map<string, Promise<Warehouse | undefined>>()

  async function readSchemaKinds(client: string): Promise<ReadonlyMap<string, WarehouseKind>> {
    const rows = await db
      .selectFrom('schemas')
      .select(['schema_name', 'provider_schema'])
      .where('client', '=', client)
      .execute()
    return new Map(rows.map(({ schema_name, provider_schema }) => [schema_name, provider_schema as WarehouseKind]))
  }

  /** Returns whether tables or schemas of the organisation still have to be dropped. */
  async function hasPendingDrops(client: string): Promise<boolean> {
    const { rows } = await sql`select from warehouse_drops where client = ${client} limit 1`.execute(db)
    return rows.length > 0
  }

  /**
   * Lists the drivers of the servers that have a schema of the organisation. Lists all drivers while tables of the
   * organisation still have to be dropped, because these can be on any server.
   */
  async function listDrivers(client: string, kinds: ReadonlySet<WarehouseKind>): Promise<WarehouseDriver[]> {
    const pending = otherDrivers.length > 0 && (await hasPendingDrops(client))
    return otherDrivers.filter(({ kind }) => pending || kinds.has(kind))
  }

  async function openWith(client: string, { open }: WarehouseDriver): Promise<Warehouse | undefined> {
    const credentials = await warehouseCredentials({ db, keyRing, redaction }, client)
    return credentials && open(credentials, redaction)
  }

  /**
   * Returns this process's instance of a warehouse. A second instance would have its own concurrency limits and
   * connections.
   */
  async function openOnce(client: string, driver: WarehouseDriver): Promise<Warehouse | undefined> {
    const key = JSON.stringify([client, driver.kind])
    const opening = openings.get(key) ?? openWith(client, driver)
    openings.set(key, opening)
    const warehouse = await opening.catch((error: unknown) => {
      openings.delete(key)
      throw error
    })
    if (!warehouse) openings.delete(key)
    return warehouse
  }

  async function route(client: string, defaultWarehouse: Warehouse): Promise<Warehouse> {
    const kinds = new Set((await readSchemaKinds(client)).values())
    const drivers = await listDrivers(client, kinds)
    if (drivers.length === 0 && [...kinds].every((kind) => kind === warehouseTypes.postgres)) return defaultWarehouse
    const connected = await Promise.all(
      drivers.map(async (driver): Promise<(readonly [WarehouseKind, Warehouse])[]> => {
        const warehouse = await openOnce(client, driver)
        return warehouse ? [[driver.kind, warehouse]] : []
      }),
    )
    const openWarehouses: OpenedWarehouses = [[warehouseTypes.postgres, defaultWarehouse], ...connected.flat()]
    return routeBySchema(openWarehouses, () => readSchemaKinds(client))
  }

  return {
    kinds: [...postgres.kinds, ...otherDrivers.map(({ kind }) => kind)],
    open: async (client) => route(client, await postgres.open(client)),
    async find(client) {
      const warehouse = await postgres.find(client)
      return warehouse && route(client, warehouse)
    },
    async erase(client) {
      const kinds = new Set((await readSchemaKinds(client)).values())
      for (const driver of await listDrivers(client, kinds)) {
        const warehouse = await openOnce(client, driver)
        if (warehouse) await emptyWarehouse(warehouse)
        openings.delete(JSON.stringify([client, driver.kind]))
      }
      await postgres.erase(client)
    },
    ensureKey: (client) => postgres.ensureKey(client),
    readAccess: (client) => postgres.readAccess(client),
    check: () => postgres.check(),
    checks: [...postgres.checks, ...otherDrivers.map(({ part }) => part)],
    async [Symbol.asyncDispose]() {
      openings.clear()
      await postgres[Symbol.asyncDispose]()
    },
  }
}

/**
 * Drops every view, table and schema in an organisation's warehouse. Works in rounds, because a view can be dropped
 * only after the views that read it. Does nothing if the warehouse does not exist.
 */
async function emptyWarehouse({ catalog, views, upkeep }: Warehouse): Promise<void> {
  const schemas = await catalog.listSchemas().catch((error: unknown) => {
    if (isWarehouseGone(error)) return []
    throw error
  })
  if (schemas.length === 0) return
  // No load is in progress, so drop all staging tables.
  await upkeep.sweepStaging(async () => new Set())
  for (;;) {
    const relations = await catalog.listRelations(schemas)
    if (relations.length === 0) break
    let droppedCount = 0
    let lastError: unknown
    for (const { schema, name } of relations)
      try {
        if (await views.find(schema, name)) await views.drop(schema, name)
        else await catalog.dropTable(schema, name)
        droppedCount += 1
      } catch (error) {
        // Another view still reads this table or view, so the next round tries again.
        lastError = error
      }
    if (droppedCount === 0) throw lastError
  }
  for (const schema of schemas) await catalog.dropSchema(schema)
}
