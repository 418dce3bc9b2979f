import type { QueryResult } from '@sluice/contracts'
import type { WarehouseColumn } from '../../engine/warehouses/warehouse.ts'
import { presentColumn } from './present-table.ts'

/** What a query or a source answered. `startedAt` is ISO 8601; `rowCount` where there are more rows than are shown. */
export interface QueryAnswer {
  columns: readonly WarehouseColumn[]
  rows: QueryResult['rows']
  rowCount?: number | undefined
  startedAt: string
  milliseconds: number
}

/** Rows that are no table's, in the shape of one: it has a name only, and takes no room. */
export function presentAnswer(
  name: string,
  { columns, rows, rowCount = rows.length, startedAt, milliseconds }: QueryAnswer,
): QueryResult {
  return {
    schema: '',
    name,
    tableName: name,
    qualifiedTableName: name,
    size: 0,
    sizeMb: 0,
    sizePretty: '',
    rowCount,
    columnCount: columns.length,
    columns: columns.map(presentColumn),
    foreignKeys: [],
    queryStartTime: startedAt,
    queryDuration: milliseconds,
    rows,
    height: rows.length,
    width: columns.length,
  }
}
