import { type WarehouseKind, warehouseName, notSetUp } from '@sluice/warehouses/warehouse-kinds'
import {
  type StagedTable,
  type TablePlace,
  type UserQuery,
  type Warehouse,
  WarehouseProblem,
  type WarehouseTable,
  isWarehouseGone,
} from '@sluice/warehouses/warehouse'
import { combineMatches } from '@sluice/warehouses/catalog'
import { resolveNames } from '@sluice/warehouses/sql-text/resolve-table-names'

/** The warehouses of an organisation with their kinds. The first one is used for unknown schemas. */
export type OpenedWarehouses = readonly [
  readonly [WarehouseKind, Warehouse],
  ...(readonly [WarehouseKind, Warehouse])[],
]

/**
 * Combines several warehouses of an organisation into one. Calls that name a schema go to the schema's warehouse;
 * queries go to the warehouse with the tables that they read. `kindsOf` returns the current kind of warehouse of each
 * schema.
 */
export function routeBySchema(
  openWarehouses: OpenedWarehouses,
  kindsOf: () => Promise<ReadonlyMap<string, WarehouseKind>>,
): Warehouse {
  const allWarehouses = openWarehouses.map(([, warehouse]) => warehouse)
  const [[, defaultWarehouse]] = openWarehouses
  const warehouseOfStaged = new WeakMap<StagedTable, Warehouse>()
  const warehouseOfPreview = new Map<string, Warehouse>()

  const findByKind = (kind: WarehouseKind | undefined) => openWarehouses.find(([one]) => one === kind)?.[1]

  /** Returns the warehouse of a schema. For a deleted schema, returns the warehouse that still contains it. */
  async function getBySchema(schema: string): Promise<Warehouse> {
    const kind = (await kindsOf()).get(schema)
    if (kind !== undefined) {
      const warehouseOfKind = findByKind(kind)
      if (!warehouseOfKind) throw notSetUp(schema, kind)
      return warehouseOfKind
    }
    for (const warehouse of allWarehouses.slice(1))
      if ((await warehouse.catalog.listSchemas()).includes(schema)) return warehouse
    return defaultWarehouse
  }

  function getByStaged(tables: readonly StagedTable[]): Warehouse {
    const stagedWarehouses = new Set(tables.map((table) => warehouseOfStaged.get(table)))
    const [one] = stagedWarehouses
    if (stagedWarehouses.size !== 1 || !one)
      throw new Error('Tables of several warehouses cannot be published together. Load them with separate pipelines.')
    return one
  }

  async function schemasByWarehouse(schemas: readonly string[]): Promise<Map<Warehouse, string[]>> {
    const kinds = await kindsOf()
    const groups = new Map<Warehouse, string[]>()
    for (const schema of schemas) {
      const kind = kinds.get(schema)
      const warehouse = kind === undefined ? defaultWarehouse : findByKind(kind)
      if (warehouse) groups.set(warehouse, [...(groups.get(warehouse) ?? []), schema])
    }
    return groups
  }

  /** Returns the warehouse for a query, and the query limited to the schemas in that warehouse. */
  async function chooseForQuery<Query extends UserQuery>(query: Query): Promise<[Warehouse, Query]> {
    const schemas = query.schemas ?? []
    const previewed = schemas.map((schema) => warehouseOfPreview.get(schema)).find((one) => one !== undefined)
    const schemasByKnownWarehouse = await schemasByWarehouse([...(await kindsOf()).keys()])
    const schemasIn = (warehouse: Warehouse) =>
      schemas.filter(
        (one) => warehouseOfPreview.get(one) === warehouse || schemasByKnownWarehouse.get(warehouse)?.includes(one),
      )
    if (previewed) return [previewed, { ...query, schemas: schemasIn(previewed) }]
    const relations = (
      await Promise.all(
        [...schemasByKnownWarehouse].map(([{ catalog }, groupSchemas]) => catalog.listRelations(groupSchemas)),
      )
    ).flat()
    const { reads } = resolveNames(query.text, { schemas, relations, address: ({ name }) => name })
    const kinds = await kindsOf()
    const placeByKind = new Map(reads.map((place) => [kinds.get(place.schema), place]))
    if (placeByKind.size > 1) throw severalWarehousesProblem(placeByKind)
    const [kind] = placeByKind.keys()
    const only =
      schemasByKnownWarehouse.size > 0 && schemas.length > 0
        ? [...schemasByKnownWarehouse].find(([one]) => schemasIn(one).length === schemas.length)?.[0]
        : undefined
    const warehouse = findByKind(kind) ?? only ?? defaultWarehouse
    return [warehouse, { ...query, schemas: schemasIn(warehouse) }]
  }

  async function sumAll(count: (warehouse: Warehouse) => Promise<number>): Promise<number> {
    let total = 0
    for (const warehouse of allWarehouses) total += await count(warehouse)
    return total
  }

  /**
   * Returns the first result that a warehouse has. If none has a result, throws a temporary error of a warehouse rather
   * than the error of a missing one.
   */
  async function findFirst<T>(find: (warehouse: Warehouse) => Promise<T | undefined>): Promise<T | undefined> {
    const errors: unknown[] = []
    for (const warehouse of allWarehouses) {
      const result = await find(warehouse).catch((error: unknown) => void errors.push(error))
      if (result !== undefined) return result
    }
    if (errors.length > 0) throw errors.find((one) => !isWarehouseGone(one)) ?? errors[0]
    return undefined
  }

  return {
    loader: {
      async stage(target, signal) {
        const warehouse = await getBySchema(target.schema)
        const table = await warehouse.loader.stage(target, signal)
        warehouseOfStaged.set(table, warehouse)
        return table
      },
      async transform(tables, ...args) {
        if (tables.length > 0) await getByStaged(tables).loader.transform(tables, ...args)
      },
      async exposeStagedRows(tables, attempt) {
        const warehouse = await getBySchema(tables[0]!.schema)
        const preview = await warehouse.loader.exposeStagedRows(tables, attempt)
        const { schema } = preview
        warehouseOfPreview.set(schema, warehouse)
        return {
          schema,
          findOldRows: async (query, signal) => preview.findOldRows((await chooseForQuery(query))[1], signal),
          async [Symbol.asyncDispose]() {
            await preview[Symbol.asyncDispose]()
            warehouseOfPreview.delete(schema)
          },
        }
      },
      publish: (tables, ...args) => getByStaged(tables).loader.publish(tables, ...args),
      plan: (tables, ...args) => getByStaged(tables).loader.plan(tables, ...args),
      describeStaged: async (tables, signal) => getByStaged(tables).loader.describeStaged(tables, signal),
      async adoptStaged(schema, ...args) {
        const warehouse = await getBySchema(schema)
        const tables = await warehouse.loader.adoptStaged(schema, ...args)
        for (const table of tables ?? []) warehouseOfStaged.set(table, warehouse)
        return tables
      },
      findPublication: (run) => findFirst(({ loader }) => loader.findPublication(run)),
      fenceRun: (run, attempt) => findFirst(({ loader }) => loader.fenceRun(run, attempt)),
      findLastLoad: async (schema, table) => (await getBySchema(schema)).loader.findLastLoad(schema, table),
      typeRules: async (schema) => (await getBySchema(schema)).loader.typeRules(schema),
      findPrevious: async (schema, table) => (await getBySchema(schema)).loader.findPrevious(schema, table),
      restore: async (target, ...args) => (await getBySchema(target.schema)).loader.restore(target, ...args),
    },
    catalog: {
      listSchemas: async () =>
        (await Promise.all(allWarehouses.map(({ catalog }) => catalog.listSchemas()))).flat().toSorted(),
      ensureSchema: async (schema) => (await getBySchema(schema)).catalog.ensureSchema(schema),
      dropSchema: async (schema) => (await getBySchema(schema)).catalog.dropSchema(schema),
      async listRelations(schemas) {
        const warehouseSchemas = [...(await schemasByWarehouse(schemas))]
        const places = (
          await Promise.all(warehouseSchemas.map(([{ catalog }, groupSchemas]) => catalog.listRelations(groupSchemas)))
        ).flat()
        return places.toSorted((one, other) => (placeKey(one) < placeKey(other) ? -1 : 1))
      },
      findTable: async (schema, table) => (await getBySchema(schema)).catalog.findTable(schema, table),
      async findTables(places) {
        const warehouseSchemas = [...(await schemasByWarehouse([...new Set(places.map(({ schema }) => schema))]))]
        const tableLists = await Promise.all(
          warehouseSchemas.map(([{ catalog }, groupSchemas]) =>
            catalog.findTables(places.filter(({ schema }) => groupSchemas.includes(schema))),
          ),
        )
        const tables = new Map(tableLists.flat().map((table): [string, WarehouseTable] => [placeKey(table), table]))
        return places.flatMap((place) => tables.get(placeKey(place)) ?? [])
      },
      async findColumnNames(places, prefix, limit) {
        const warehouseSchemas = [...(await schemasByWarehouse([...new Set(places.map(({ schema }) => schema))]))]
        const matchLists = await Promise.all(
          warehouseSchemas.map(([{ catalog }, groupSchemas]) => {
            const ownPlaces = places.filter(({ schema }) => groupSchemas.includes(schema))
            return catalog.findColumnNames(ownPlaces, prefix, limit)
          }),
        )
        return combineMatches(matchLists.flat(), limit)
      },
      findStagingTable: async (schema, table, options) =>
        (await getBySchema(schema)).catalog.findStagingTable(schema, table, options),
      dropTable: async (schema, table) => (await getBySchema(schema)).catalog.dropTable(schema, table),
    },
    queries: {
      async query(query, signal) {
        const [warehouse, ownQuery] = await chooseForQuery(query)
        return warehouse.queries.query(ownQuery, signal)
      },
      async *queryPages(query, pageRows, signal) {
        const [warehouse, ownQuery] = await chooseForQuery(query)
        yield* warehouse.queries.queryPages(ownQuery, pageRows, signal)
      },
      async exportRows(source, format, signal) {
        if ('table' in source)
          return (await getBySchema(source.table.schema)).queries.exportRows(source, format, signal)
        const [warehouse, query] = await chooseForQuery(source.query)
        return warehouse.queries.exportRows({ query }, format, signal)
      },
      readTable: async (schema, ...args) => (await getBySchema(schema)).queries.readTable(schema, ...args),
      async findAmbiguousTable(query, preferred, signal) {
        const [warehouse, ownQuery] = await chooseForQuery(query)
        const first = (query.schemas ?? []).slice(0, preferred)
        const ownPreferred = (ownQuery.schemas ?? []).filter((schema) => first.includes(schema)).length
        return warehouse.queries.findAmbiguousTable(ownQuery, ownPreferred, signal)
      },
      async explain(query, signal) {
        const [warehouse, ownQuery] = await chooseForQuery(query)
        return warehouse.queries.explain(ownQuery, signal)
      },
    },
    views: {
      async define(view, ...args) {
        // Throws if the view reads from several warehouses. The message names them.
        await chooseForQuery({ text: view.query, schemas: [view.schema] })
        return (await getBySchema(view.schema)).views.define(view, ...args)
      },
      drop: async (schema, name) => (await getBySchema(schema)).views.drop(schema, name),
      refresh: async (schema, name, signal) => (await getBySchema(schema)).views.refresh(schema, name, signal),
      find: async (schema, name) => (await getBySchema(schema)).views.find(schema, name),
      listReads: async (schema, name) => (await getBySchema(schema)).views.listReads(schema, name),
      async isManaged(id) {
        for (const { views } of allWarehouses) if (await views.isManaged(id)) return true
        return false
      },
      listUnmanagedReaders: async (schema, name) =>
        (await getBySchema(schema)).views.listUnmanagedReaders(schema, name),
    },
    upkeep: {
      async check() {
        for (const { upkeep } of allWarehouses) await upkeep.check()
      },
      countConnections: () => allWarehouses.reduce((total, { upkeep }) => total + upkeep.countConnections(), 0),
      sweepStaging: (alive) => sumAll(({ upkeep }) => upkeep.sweepStaging(alive)),
      pruneLedger: (keepDays) => sumAll(({ upkeep }) => upkeep.pruneLedger(keepDays)),
      dropExpiredTables: () => sumAll(({ upkeep }) => upkeep.dropExpiredTables()),
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(allWarehouses.map((warehouse) => warehouse[Symbol.asyncDispose]()))
    },
  }
}

const placeKey = ({ schema, name }: TablePlace): string => `${schema}\0${name}`

function severalWarehousesProblem(placeByKind: ReadonlyMap<WarehouseKind | undefined, TablePlace>): WarehouseProblem {
  const places = [...placeByKind].map(
    ([kind, { schema, name }]) => `${schema}.${name} (${kind ? warehouseName(kind) : 'elsewhere'})`,
  )
  return new WarehouseProblem(
    'QUERY_FAILED',
    `The query reads tables of several warehouses: ${places.join(', ')}. Use tables of one warehouse only.`,
  )
}
