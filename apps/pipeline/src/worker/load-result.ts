import type { WriteMode } from '@sluice/contracts'
import { furtherTablesOf, listFurtherTables } from '../deleted-tables/table-ownership.ts'
import type { LoadedTable } from '@sluice/warehouses/load-row-streams'
import { dataTablesOf } from '@sluice/warehouses/load-target'
import type { PublishedTableSize } from '../run-lifecycle/finish-run.ts'
import type { Warehouse } from '@sluice/warehouses/warehouse'
import { catalogueClient } from '../warehouses/public-dataset-owner.ts'
import type { Claim } from '../runs/claim-run.ts'
import { describeHints, describeLoad, type Hints } from './load-message-texts.ts'
import type { RunSuccess } from './run-handler.ts'

type OwnTable = Pick<LoadedTable, 'schema' | 'table'>

/** The cursor that the warehouse has for a pipeline's own table after a load. */
export interface StoredCursor {
  value: unknown
}

/**
 * Returns the tables of a pipeline after a publication, its own table first, with the row counts of the whole tables.
 * Includes tables to which an incremental load added no rows. `mode` is the write mode of the publication, and `cursor`
 * the cursor of the own table; both may be unknown. If the warehouse cannot be queried, returns only the loaded tables.
 */
export async function listPublishedTables(
  warehouse: Warehouse,
  loaded: readonly LoadedTable[],
  {
    ownTable = findShortestTable(loaded),
    mode,
    cursor,
  }: { ownTable?: OwnTable | undefined; mode?: WriteMode | undefined; cursor?: StoredCursor | undefined } = {},
): Promise<PublishedTableSize[]> {
  if (!ownTable) return []
  const { schema } = ownTable
  try {
    const furtherTables = cursor
      ? furtherTablesOf(cursor.value, ownTable.table)
      : await listFurtherTables(warehouse, schema, ownTable.table)
    const otherTables = new Set([...furtherTables, ...loaded.map(({ table }) => table)])
    otherTables.delete(ownTable.table)
    const names = [ownTable.table, ...[...otherTables].toSorted()]
    const tables = await warehouse.catalog.findTables(names.map((name) => ({ schema, name })))
    return tables.map(({ name, rowCount, size }) => {
      const loadedTable = loaded.find(({ table }) => table === name)
      return { schema, name, rows: rowCount, size, ...(loadedTable && describePublication(loadedTable, mode)) }
    })
  } catch {
    return loaded.map((loadedTable) => {
      const { table, rows, bytes } = loadedTable
      return { schema, name: table, rows, size: bytes, ...describePublication(loadedTable, mode) }
    })
  }
}

function describePublication(
  { rows, bytes, changes, rowsBefore, merged }: LoadedTable,
  mode: WriteMode | undefined,
): Pick<PublishedTableSize, 'publication'> {
  return {
    publication: {
      rows,
      bytes,
      changes,
      ...(mode && { mode }),
      ...(rowsBefore !== undefined && { rowsBefore }),
      ...(merged && { merged }),
    },
  }
}

/**
 * Returns the main table of a pipeline, which has the shortest name: the names of its other tables start with that
 * name.
 */
const findShortestTable = (tables: readonly LoadedTable[]): OwnTable | undefined =>
  tables.toSorted((one, other) => one.table.length - other.table.length)[0]

/**
 * Returns whether the run loads a public dataset. The pipelines of all public datasets belong to one organisation, the
 * catalogue.
 */
export const isDatasetRun = ({ client }: Pick<Claim, 'client'>): boolean => client === catalogueClient

interface LoadSummary {
  /** The number of rows from the source, before the transformation. */
  sourceRows?: number
  /** Whether the rows were merged into the table; undefined if unknown. */
  isMerged?: boolean
  /** The mode in which the rows were written, if known. */
  mode?: WriteMode | undefined
  /** The write mode of the pipeline. Default: REPLACE. */
  pipelineMode?: WriteMode
  ownTable?: OwnTable
  cursor?: StoredCursor | undefined
  /** Why the source was read completely although an incremental load was requested. */
  fullReadReason?: string | undefined
  /** The reason why the source had no rows that are new to the table. */
  nothingNewMessage?: string | undefined
  hints?: Hints
  /** Whether the message is for the publisher of a public dataset. */
  isDataset?: boolean
}

/**
 * Returns the result of a load that published its rows. Its state is WARNING if rows were rejected, if a change of a
 * column has a warning, if the source had nothing new, or if no table has rows although they were not merged into
 * existing rows.
 */
export async function createLoadSuccess(
  warehouse: Warehouse,
  tables: readonly LoadedTable[],
  rejectedRows: number,
  {
    sourceRows,
    isMerged,
    mode,
    pipelineMode = 'REPLACE',
    ownTable,
    cursor,
    fullReadReason,
    nothingNewMessage,
    hints = new Map(),
    isDataset = false,
  }: LoadSummary = {},
): Promise<RunSuccess> {
  // An increment of a source often has no rows. A file that is appended or merged should have some.
  const isIncrement = isMerged === true && pipelineMode === 'REPLACE'
  const mayBeEmpty = isIncrement || (isMerged === true && tables.length === 0)
  const needsWarning = nothingNewMessage !== undefined || hasWarning(tables, rejectedRows, mayBeEmpty)
  const loadMessage =
    nothingNewMessage ??
    describeLoad(tables, { rejected: rejectedRows, sourceRows, isMerged, mode, pipelineMode, isDataset })
  return {
    state: needsWarning ? 'WARNING' : 'OK',
    message: [loadMessage, describeHints(hints, { isDataset }), fullReadReason].filter(Boolean).join(' '),
    rowsWritten: dataTablesOf(tables).reduce((sum, { rows }) => sum + rows, 0),
    bytesWritten: tables.reduce((sum, { bytes }) => sum + bytes, 0),
    rowsRejected: rejectedRows,
    tables: await listPublishedTables(warehouse, tables, { ownTable, mode, cursor }),
  }
}

/** True if rows were rejected, a change has a warning, or no table has rows. With `mayBeEmpty`, tables need no rows. */
export function hasWarning(
  tables: readonly Pick<LoadedTable, 'rows' | 'changes' | 'listsTables'>[],
  rejectedRows: number,
  mayBeEmpty: boolean | undefined,
): boolean {
  if (rejectedRows > 0) return true
  const isEmpty = dataTablesOf(tables).every(({ rows }) => rows === 0)
  if (isEmpty && !mayBeEmpty) return true
  return tables.some(({ changes }) => changes.some(({ warning }) => warning))
}
