import { listFurtherTables } from '../deleted-tables/table-ownership.ts'
import type { LoadedTable } from '@sluice/warehouses/load-feeds'
import type { PublishedTableSize } from '../run-lifecycle/finish-run.ts'
import type { Warehouse } from '@sluice/warehouses/warehouse'
import { catalogueClient } from '../warehouses/public-dataset-owner.ts'
import type { Claim } from '../runs/claim-run.ts'
import { describeHints, describeLoad, type Hints } from './load-message-texts.ts'
import type { PipelineToLoad } from './read-pipeline.ts'
import type { RunSuccess } from './run-handler.ts'

type OwnTable = Pick<LoadedTable, 'schema' | 'table'>

/**
 * Returns the tables of a pipeline after a publication, its own table first. After an incremental load, the row counts are those of the
 * whole tables, and tables without new rows are included. If the warehouse query fails, returns the loaded tables.
 */
export async function publishedTables(
  warehouse: Warehouse,
  loaded: readonly LoadedTable[],
  own = findShortestTable(loaded),
): Promise<PublishedTableSize[]> {
  if (!own) return []
  const { schema } = own
  try {
    const besides = [...(await listFurtherTables(warehouse, schema, own.table)), ...loaded.map(({ table }) => table)]
    const names = [own.table, ...besides.filter((name) => name !== own.table).toSorted()]
    const found = await warehouse.catalog.findTables([...new Set(names)].map((name) => ({ schema, name })))
    return found.map(({ name, rowCount, size }) => ({ schema, name, rows: rowCount, size }))
  } catch {
    return loaded.map(({ table, rows, bytes }) => ({ schema, name: table, rows, size: bytes }))
  }
}

/** Finds the pipeline's own table: the names of its other tables start with that name. */
const findShortestTable = (tables: readonly LoadedTable[]): OwnTable | undefined =>
  tables.toSorted((one, other) => one.table.length - other.table.length)[0]

/** Returns who reads the messages of a run. All public datasets are pipelines of one client, the catalogue. */
export const audienceOf = ({ client }: Pick<Claim, 'client'>) => ({ isDataset: client === catalogueClient })

/** Returns the success of a load. If no rows were loaded, it has a warning, except for an incremental load. */
export async function successOf(
  warehouse: Warehouse,
  tables: readonly LoadedTable[],
  rejected: number,
  {
    fed,
    merged,
    own,
    whole,
    hints = new Map(),
    isDataset = false,
  }: {
    fed?: number
    merged?: boolean
    own?: Pick<PipelineToLoad, 'schema' | 'table'>
    whole?: string | undefined
    hints?: Hints
    isDataset?: boolean
  } = {},
): Promise<RunSuccess> {
  const rowsWritten = tables.reduce((sum, { rows }) => sum + rows, 0)
  return {
    state: hasWarning(tables, rejected, merged) ? 'WARNING' : 'OK',
    message: [describeLoad(tables, { rejected, fed, merged, isDataset }), describeHints(hints, { isDataset }), whole]
      .filter(Boolean)
      .join(' '),
    rowsWritten,
    bytesWritten: tables.reduce((sum, { bytes }) => sum + bytes, 0),
    rowsRejected: rejected,
    tables: await publishedTables(warehouse, tables, own),
  }
}

export const hasWarning = (
  tables: readonly Pick<LoadedTable, 'rows' | 'changes'>[],
  rejected: number,
  merged: boolean | undefined,
): boolean =>
  rejected > 0 ||
  (!merged && tables.every(({ rows }) => rows === 0)) ||
  tables.some(({ changes }) => changes.some(({ warning }) => warning))
