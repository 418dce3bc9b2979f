import type { QueryResult } from '@sluice/contracts'
import type { WarehouseColumn } from '../../engine/warehouses/warehouse.ts'
import { presentColumn } from './present-table.ts'

/** The result of a query or a source. `startedAt` is ISO 8601; `rowCount` is set if there are more rows. */
export interface QueryAnswer {
  columns: readonly WarehouseColumn[]
  rows: QueryResult['rows']
  rowCount?: number | undefined
  startedAt: string
  milliseconds: number
}

/** Presents rows as a table with a name only. */
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
