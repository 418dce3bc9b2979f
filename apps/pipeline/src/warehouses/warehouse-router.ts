import type { KeyRing } from '@sluice/database'
import type { Redaction } from '@sluice/process'
import { type Kysely, sql } from 'kysely'
import type { DB } from '../database.ts'
import { type ClientWarehouses, warehouseCredentials } from './client-warehouses.ts'
import { type WarehouseKind, nameOf, notSetUp, postgresKind } from '@sluice/warehouses/warehouse-kinds'
import type { WarehouseDriver } from '@sluice/warehouses/registry/warehouse-registry'
import {
  type TableLoad,
  type UserQuery,
  type Warehouse,
  WarehouseProblem,
  type WarehouseTable,
  isWarehouseGone,
} from '@sluice/warehouses/warehouse'
import { resolveNames } from '@sluice/warehouses/sql-names'
import type { TablePlace } from '@sluice/warehouses/views'

interface RouterOptions {
  db: Kysely<DB>
  keyRing: KeyRing
  redaction: Redaction
  /** The drivers of all warehouses other than PostgreSQL. */
  others: readonly WarehouseDriver[]
}

/**
 * Routes a client's warehouses: PostgreSQL and, for schemas of other kinds, the other servers. A client with schemas only in
 * PostgreSQL gets that warehouse directly.
 */
export function routeWarehouses(
  postgres: ClientWarehouses,
  { db, keyRing, redaction, others }: RouterOptions,
): ClientWarehouses {
  const known = new Map<string, Promise<Warehouse | undefined>>()

  async function kindsOf(client: string): Promise<ReadonlyMap<string, WarehouseKind>> {
    const rows = await db
      .selectFrom('schemas')
      .select(['schema_name', 'provider_schema'])
      .where('client', '=', client)
      .execute()
    return new Map(rows.map(({ schema_name, provider_schema }) => [schema_name, provider_schema as WarehouseKind]))
  }

  /** The server may contain nothing but relations that wait to be dropped. */
  async function somethingLeft(client: string): Promise<boolean> {
    const { rows } = await sql`select from warehouse_drops where client = ${client} limit 1`.execute(db)
    return rows.length > 0
  }

  async function made(client: string, { open }: WarehouseDriver): Promise<Warehouse | undefined> {
    const credentials = await warehouseCredentials({ db, keyRing, redaction }, client)
    return credentials && open(credentials, redaction)
  }

  /** Returns the warehouse instance of this process: a second instance would have its own concurrency limits and connections. */
  async function opened(client: string, other: WarehouseDriver): Promise<(readonly [WarehouseKind, Warehouse])[]> {
    const key = JSON.stringify([client, other.kind])
    const opening = known.get(key) ?? made(client, other)
    known.set(key, opening)
    const warehouse = await opening.catch((error: unknown) => {
      known.delete(key)
      throw error
    })
    if (warehouse) return [[other.kind, warehouse]]
    known.delete(key)
    return []
  }

  async function together(client: string, usual: Warehouse): Promise<Warehouse> {
    const used = new Set((await kindsOf(client)).values())
    const elsewhere = [...used].some((kind) => kind !== postgresKind)
    const left = others.length > 0 && (await somethingLeft(client))
    if (!elsewhere && !left) return usual
    const wanted = others.filter(({ kind }) => left || used.has(kind))
    const there = await Promise.all(wanted.map((other) => opened(client, other)))
    const all: OpenedWarehouses = [[postgresKind, usual], ...there.flat()]
    return routeBySchema(all, () => kindsOf(client))
  }

  return {
    kinds: [...postgres.kinds, ...others.map(({ kind }) => kind)],
    open: async (client) => together(client, await postgres.open(client)),
    async find(client) {
      const usual = await postgres.find(client)
      return usual && together(client, usual)
    },
    async erase(client) {
      const used = new Set((await kindsOf(client)).values())
      const left = others.length > 0 && (await somethingLeft(client))
      for (const other of others.filter(({ kind }) => left || used.has(kind))) {
        const [there] = await opened(client, other)
        if (there) await emptyWarehouse(there[1])
        known.delete(JSON.stringify([client, other.kind]))
      }
      await postgres.erase(client)
    },
    readAccess: (client) => postgres.readAccess(client),
    check: () => postgres.check(),
    others: [...postgres.others, ...others.map(({ part }) => part)],
    async [Symbol.asyncDispose]() {
      known.clear()
      await postgres[Symbol.asyncDispose]()
    },
  }
}

/**
 * Drops every view, table and schema of a client's warehouse. Views that read others go first, however deep. A warehouse that was
 * never made is empty.
 */
async function emptyWarehouse(warehouse: Warehouse): Promise<void> {
  const schemas = await warehouse.schemas().catch((error: unknown) => {
    if (isWarehouseGone(error)) return []
    throw error
  })
  if (schemas.length === 0) return
  await warehouse.sweepStaging(async () => new Set())
  for (;;) {
    const places = await warehouse.relations(schemas)
    if (places.length === 0) break
    let dropped = 0
    let problem: unknown
    for (const { schema, name } of places)
      try {
        if (await warehouse.findView(schema, name)) await warehouse.dropView(schema, name)
        else await warehouse.dropTable(schema, name)
        dropped += 1
      } catch (error) {
        // Another relation still reads it: the next round tries again.
        problem = error
      }
    if (dropped === 0) throw problem
  }
  for (const schema of schemas) await warehouse.dropSchema(schema)
}

/** A client's warehouses, by kind. The first one handles unknown schemas. */
type OpenedWarehouses = readonly [readonly [WarehouseKind, Warehouse], ...(readonly [WarehouseKind, Warehouse])[]]

/**
 * Combines several warehouses: each schema is in one of them, and every call with a schema goes there. A query goes to the
 * warehouse with the tables that it reads. `kindsOf` returns the current kind of each of the client's schemas.
 */
export function routeBySchema(
  opened: OpenedWarehouses,
  kindsOf: () => Promise<ReadonlyMap<string, WarehouseKind>>,
): Warehouse {
  const all = opened.map(([, warehouse]) => warehouse)
  const [[, usual]] = opened
  const homes = new WeakMap<TableLoad, Warehouse>()
  const shown = new Map<string, Warehouse>()

  /** A deleted schema still belongs to the warehouse that contains it. */
  async function of(schema: string): Promise<Warehouse> {
    const kind = (await kindsOf()).get(schema)
    if (kind !== undefined) {
      const found = opened.find(([one]) => one === kind)
      if (!found) throw notSetUp(schema, kind)
      return found[1]
    }
    for (const warehouse of all.slice(1)) if ((await warehouse.schemas()).includes(schema)) return warehouse
    return usual
  }

  const home = (loads: readonly TableLoad[]): Warehouse => {
    const found = new Set(loads.map((load) => homes.get(load)))
    const [one] = found
    if (found.size !== 1 || !one) throw new Error('Loads of several warehouses are not published together.')
    return one
  }

  const byWarehouse = async (schemas: readonly string[]): Promise<Map<Warehouse, string[]>> => {
    const kinds = await kindsOf()
    const found = new Map<Warehouse, string[]>()
    for (const schema of schemas) {
      const kind = kinds.get(schema)
      const warehouse = kind === undefined ? usual : opened.find(([one]) => one === kind)?.[1]
      if (warehouse) found.set(warehouse, [...(found.get(warehouse) ?? []), schema])
    }
    return found
  }

  /** Returns the warehouse for a query, and the query's schemas in that warehouse. */
  async function forQuery<Query extends UserQuery>(query: Query): Promise<[Warehouse, Query]> {
    const schemas = query.schemas ?? []
    const rehearsing = schemas.map((schema) => shown.get(schema)).find((one) => one !== undefined)
    const known = await byWarehouse([...(await kindsOf()).keys()])
    const own = (warehouse: Warehouse) =>
      schemas.filter((one) => shown.get(one) === warehouse || known.get(warehouse)?.includes(one))
    if (rehearsing) return [rehearsing, { ...query, schemas: own(rehearsing) }]
    const relations = (await Promise.all([...known].map(([warehouse, some]) => warehouse.relations(some)))).flat()
    const { reads } = resolveNames(query.text, { schemas, relations, address: ({ name }) => name })
    const kinds = await kindsOf()
    const named = new Map(reads.map((place) => [kinds.get(place.schema), place]))
    if (named.size > 1) throw severalWarehouses(named)
    const [kind] = named.keys()
    const only =
      known.size > 0 && schemas.length > 0
        ? [...known].find(([one]) => own(one).length === schemas.length)?.[0]
        : undefined
    const warehouse = opened.find(([one]) => one === kind)?.[1] ?? only ?? usual
    return [warehouse, { ...query, schemas: own(warehouse) }]
  }

  const sum = async (work: (warehouse: Warehouse) => Promise<number>): Promise<number> => {
    let total = 0
    for (const warehouse of all) total += await work(warehouse)
    return total
  }

  /**
   * Returns the first result of any warehouse. If every warehouse has no result, a temporary failure takes precedence over a
   * missing warehouse.
   */
  const first = async <T>(ask: (warehouse: Warehouse) => Promise<T | undefined>): Promise<T | undefined> => {
    const troubles: unknown[] = []
    for (const warehouse of all) {
      const found = await ask(warehouse).catch((error: unknown) => void troubles.push(error))
      if (found !== undefined) return found
    }
    if (troubles.length > 0) throw troubles.find((one) => !isWarehouseGone(one)) ?? troubles[0]
    return undefined
  }

  return {
    async check() {
      for (const warehouse of all) await warehouse.check()
    },
    connections: () => all.reduce((total, warehouse) => total + warehouse.connections(), 0),
    ensureSchema: async (schema) => (await of(schema)).ensureSchema(schema),
    dropSchema: async (schema) => (await of(schema)).dropSchema(schema),
    async beginLoad(target, signal) {
      const warehouse = await of(target.schema)
      const load = await warehouse.beginLoad(target, signal)
      homes.set(load, warehouse)
      return load
    },
    publish: (loads, ...rest) => home(loads).publish(loads, ...rest),
    describeStaged: async (loads, signal) => home(loads).describeStaged?.(loads, signal),
    async adoptStaged(schema, ...rest) {
      const warehouse = await of(schema)
      const loads = await warehouse.adoptStaged?.(schema, ...rest)
      for (const load of loads ?? []) homes.set(load, warehouse)
      return loads
    },
    findPrevious: async (schema, table) => (await of(schema)).findPrevious(schema, table),
    restore: async (target, ...rest) => (await of(target.schema)).restore(target, ...rest),
    expirePrevious: () => sum((warehouse) => warehouse.expirePrevious()),
    plan: (loads, ...rest) => home(loads).plan(loads, ...rest),
    transform: async (loads, ...rest) => {
      if (loads.length > 0) await home(loads).transform(loads, ...rest)
    },
    async rehearse(tables, run) {
      const warehouse = await of(tables[0]!.schema)
      const rehearsal = await warehouse.rehearse(tables, run)
      shown.set(rehearsal.schema, warehouse)
      const { schema } = rehearsal
      return {
        schema,
        oldRows: async (query, signal) => rehearsal.oldRows((await forQuery(query))[1], signal),
        async [Symbol.asyncDispose]() {
          await rehearsal[Symbol.asyncDispose]()
          shown.delete(schema)
        },
      }
    },
    findPublication: (run) => first((warehouse) => warehouse.findPublication(run)),
    closeRun: (run, attempt) => first((warehouse) => warehouse.closeRun(run, attempt)),
    findCursor: async (schema, table) => (await of(schema)).findCursor(schema, table),
    findFeed: async (schema, table) => (await of(schema)).findFeed(schema, table),
    typeRules: async (schema) => (await of(schema)).typeRules(schema),
    findTable: async (schema, table) => (await of(schema)).findTable(schema, table),
    readTable: async (schema, ...rest) => (await of(schema)).readTable(schema, ...rest),
    async query(query, signal) {
      const [warehouse, own] = await forQuery(query)
      return warehouse.query(own, signal)
    },
    async *queryPages(query, pageRows, signal) {
      const [warehouse, own] = await forQuery(query)
      yield* warehouse.queryPages(own, pageRows, signal)
    },
    async ambiguousTable(query, preferred, signal) {
      const [warehouse, own] = await forQuery(query)
      const first = (query.schemas ?? []).slice(0, preferred)
      const still = (own.schemas ?? []).filter((schema) => first.includes(schema)).length
      return warehouse.ambiguousTable(own, still, signal)
    },
    schemas: async () => (await Promise.all(all.map((warehouse) => warehouse.schemas()))).flat().toSorted(),
    dropTable: async (schema, table) => (await of(schema)).dropTable(schema, table),
    sweepStaging: (alive) => sum((warehouse) => warehouse.sweepStaging(alive)),
    pruneLedger: (days) => sum((warehouse) => warehouse.pruneLedger(days)),
    async defineView(view, ...rest) {
      // Rejects a view that reads several warehouses, and names them.
      await forQuery({ text: view.query, schemas: [view.schema] })
      return (await of(view.schema)).defineView(view, ...rest)
    },
    dropView: async (schema, name) => (await of(schema)).dropView(schema, name),
    refreshView: async (schema, name, signal) => (await of(schema)).refreshView(schema, name, signal),
    findView: async (schema, name) => (await of(schema)).findView(schema, name),
    viewReads: async (schema, name) => (await of(schema)).viewReads(schema, name),
    async isManaged(id) {
      for (const warehouse of all) if (await warehouse.isManaged(id)) return true
      return false
    },
    viewsByHand: async (schema, name) => (await of(schema)).viewsByHand(schema, name),
    async relations(schemas) {
      const known = [...(await byWarehouse(schemas))]
      const places = (await Promise.all(known.map(([warehouse, some]) => warehouse.relations(some)))).flat()
      return places.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
    },
    async findTables(places) {
      const known = [...(await byWarehouse([...new Set(places.map(({ schema }) => schema))]))]
      const found = await Promise.all(
        known.map(([warehouse, some]) => warehouse.findTables(places.filter(({ schema }) => some.includes(schema)))),
      )
      const tables = new Map(found.flat().map((table): [string, WarehouseTable] => [keyOf(table), table]))
      return places.flatMap((place) => tables.get(keyOf(place)) ?? [])
    },
    findStaging: async (schema, table, options) => (await of(schema)).findStaging(schema, table, options),
    async [Symbol.asyncDispose]() {
      await Promise.all(all.map((warehouse) => warehouse[Symbol.asyncDispose]()))
    },
  }
}

const keyOf = ({ schema, name }: TablePlace): string => `${schema}\0${name}`

function severalWarehouses(named: ReadonlyMap<WarehouseKind | undefined, TablePlace>): WarehouseProblem {
  const where = [...named].map(([kind, { schema, name }]) => `${schema}.${name} (${kind ? nameOf(kind) : 'elsewhere'})`)
  return new WarehouseProblem(
    'QUERY_FAILED',
    `The query reads tables of several warehouses: ${where.join(', ')}. One query can read only one of them.`,
  )
}
