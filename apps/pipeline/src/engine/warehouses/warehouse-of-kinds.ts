import { holdsNothing } from './holds-nothing.ts'
import { type Kind, nameOf, notSetUp } from './kinds.ts'
import { readdressed } from './sql-names.ts'
import type { Place } from './views.ts'
import { type Load, type UserQuery, type Warehouse, type WarehouseTable, WarehouseProblem } from './warehouse.ts'

/** A client's warehouses, by kind. The first is asked about schemas that nobody knows. */
export type Opened = readonly [readonly [Kind, Warehouse], ...(readonly [Kind, Warehouse])[]]

/**
 * Several warehouses as one: each schema is in one of them, and whatever names a schema goes there. A query goes where the tables are
 * that it reads. `kindsOf` answers which kind each schema of the client is now.
 */
export function warehouseOfKinds(opened: Opened, kindsOf: () => Promise<ReadonlyMap<string, Kind>>): Warehouse {
  const all = opened.map(([, warehouse]) => warehouse)
  const [[, usual]] = opened
  const homes = new WeakMap<Load, Warehouse>()
  const shown = new Map<string, Warehouse>()

  /** One that was deleted is where it still is. */
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

  const home = (loads: readonly Load[]): Warehouse => {
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

  /** Where a query is to run, and which of its schemas are there. */
  async function forQuery<Query extends UserQuery>(query: Query): Promise<[Warehouse, Query]> {
    const schemas = query.schemas ?? []
    const rehearsing = schemas.map((schema) => shown.get(schema)).find((one) => one !== undefined)
    const known = await byWarehouse([...(await kindsOf()).keys()])
    const own = (warehouse: Warehouse) =>
      schemas.filter((one) => shown.get(one) === warehouse || known.get(warehouse)?.includes(one))
    if (rehearsing) return [rehearsing, { ...query, schemas: own(rehearsing) }]
    const relations = (await Promise.all([...known].map(([warehouse, some]) => warehouse.relations(some)))).flat()
    const { reads } = readdressed(query.text, { schemas, relations, address: ({ name }) => name })
    const kinds = await kindsOf()
    const named = new Map(reads.map((place) => [kinds.get(place.schema), place]))
    if (named.size > 1) throw twoWarehouses(named)
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

  /** What one of them knows; where none does, the trouble of one that cannot tell just now goes before that of one that is gone. */
  const first = async <T>(ask: (warehouse: Warehouse) => Promise<T | undefined>): Promise<T | undefined> => {
    const troubles: unknown[] = []
    for (const warehouse of all) {
      const found = await ask(warehouse).catch((error: unknown) => void troubles.push(error))
      if (found !== undefined) return found
    }
    if (troubles.length > 0) throw troubles.find((one) => !holdsNothing(one)) ?? troubles[0]
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
      // Refuses one that reads several warehouses, by their names.
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

const keyOf = ({ schema, name }: Place): string => `${schema}\0${name}`

function twoWarehouses(named: ReadonlyMap<Kind | undefined, Place>): WarehouseProblem {
  const where = [...named].map(([kind, { schema, name }]) => `${schema}.${name} (${kind ? nameOf(kind) : 'elsewhere'})`)
  return new WarehouseProblem(
    'QUERY_FAILED',
    `The query reads tables of several warehouses: ${where.join(', ')}. One query can read only one of them.`,
  )
}
