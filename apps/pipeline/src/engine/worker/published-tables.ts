import { filledTables } from '../drops/pipeline-tables.ts'
import type { LoadedTable } from '../loads/load-feeds.ts'
import type { TableThere } from '../run-lifecycle/finish-run.ts'
import type { Warehouse } from '../warehouses/warehouse.ts'

type Own = Pick<LoadedTable, 'schema' | 'table'>

/**
 * The tables of a pipeline as they are once a run has published, its own one first: of an increment, whole tables, and those too that it had
 * nothing of. Where the warehouse does not say, they are what was loaded.
 */
export async function tablesThere(
  warehouse: Warehouse,
  loaded: readonly LoadedTable[],
  own = shortest(loaded),
): Promise<TableThere[]> {
  if (!own) return []
  const { schema } = own
  try {
    const besides = [...(await filledTables(warehouse, schema, own.table)), ...loaded.map(({ table }) => table)]
    const names = [own.table, ...besides.filter((name) => name !== own.table).toSorted()]
    const found = await warehouse.findTables([...new Set(names)].map((name) => ({ schema, name })))
    return found.map(({ name, rowCount, size }) => ({ schema, name, rows: rowCount, size }))
  } catch {
    return loaded.map(({ table, rows, bytes }) => ({ schema, name: table, rows, size: bytes }))
  }
}

/** All others are called like a pipeline's own table, with more behind. */
const shortest = (tables: readonly LoadedTable[]): Own | undefined =>
  tables.toSorted((one, other) => one.table.length - other.table.length)[0]
