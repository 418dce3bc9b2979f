import type { Warehouse } from '../warehouses/warehouse.ts'

/** The tables that a pipeline fills besides its own, as its source kept them with the rows; they are called like it, with `__` and more. */
export async function filledTables(warehouse: Warehouse, schema: string, table: string): Promise<string[]> {
  const kept = (await warehouse.findCursor(schema, table)) as { tables?: unknown } | null | undefined
  const names: unknown[] = Array.isArray(kept?.tables) ? kept.tables : []
  return names.filter((name): name is string => typeof name === 'string' && name.startsWith(`${table}__`))
}
