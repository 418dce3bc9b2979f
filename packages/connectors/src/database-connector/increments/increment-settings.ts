import { hash } from 'node:crypto'
import type { SourceBody } from '@sluice/contracts'
import type { ReadRequest } from '../../connector.ts'
import type { DatabaseType } from '../database-product.ts'
import { type CursorKind, parseCursorValue } from './cursor-value.ts'

/** The settings of incremental reads. Column names are as the user wrote them. */
export interface IncrementSettings {
  cursorColumn: string
  key: readonly string[]
  /**
   * The distance by which an increment starts before the stored cursor: seconds for dates and times, otherwise a
   * difference of numbers.
   */
  lookback?: number
  deletedColumn?: string
}

/** The position at which the next increment of a table starts. */
export interface StoredCursor {
  kind: CursorKind
  /**
   * The largest value of the cursor column, as `parseCursorValue` returns it. Absent if no row of the table had a value
   * in that column.
   */
  value?: string
  /** A digest of the names and types of all columns. After a change, the increment cannot continue. */
  columns: string
}

/** The name of the position if a query or a single table fills the pipeline's own table. */
export const ownTablePosition = ''

/** Positions by the table's name in the warehouse, or a single one by `ownTablePosition`. */
export type TablePositions = Readonly<Record<string, StoredCursor>>

/** The state that is stored as the cursor of the pipeline's own table. */
interface DatabaseState {
  version: 2
  /** The further tables that the pipeline has filled. Deleting the pipeline drops them. */
  tables: readonly string[]
  /** A digest of the settings that determine the rows. If it changes, everything is read again. */
  definition?: string
  /** Absent without `incremental` settings. */
  positions?: TablePositions
}

type DatabaseSettings = Extract<SourceBody, { type: DatabaseType }>

const noIncrements = 'All rows are read and replace the old ones: `incremental` is not set.'

/**
 * Returns the stored positions at which the increments start, or the reason why everything must be read.
 * `positionNames` contains the names under which the positions of the tables are stored.
 */
export function findIncrementStart(
  request: ReadRequest,
  positionNames: readonly string[],
): { positions: TablePositions } | { fullRead: string } {
  if (!hasIncrements(request.settings as DatabaseSettings)) return { fullRead: noIncrements }
  if (request.reset) return { fullRead: 'All rows are read, because the cursor was reset.' }
  const { version, positions = {}, definition } = (request.cursor ?? {}) as Partial<DatabaseState>
  const isOneOfSeveral = positionNames.length > 1
  const canAllContinue =
    version === 2 && positionNames.every((name) => canContinueFrom(positions[name], isOneOfSeveral))
  if (!canAllContinue) return { fullRead: 'All rows are read, because no earlier load stored a cursor.' }
  if (definition !== digestDefinition(request))
    return { fullRead: 'All rows are read, because the settings of the source changed since the last load.' }
  return { positions }
}

/**
 * True if an increment can start at this position. If no row had a cursor value, a single table is read in full, which
 * also finds deleted rows. One of several tables is then read as an increment, because a full read of one table would
 * require full reads of all.
 */
function canContinueFrom(position: StoredCursor | undefined, isOneOfSeveral: boolean): boolean {
  if (!position) return false
  const { kind, value } = position
  if (value === undefined) return isOneOfSeveral
  return parseCursorValue(kind, value) === value
}

/** True if the query or every table has the settings of incremental reads, its own or those of the pipeline. */
export function hasIncrements({ incremental, tables }: Pick<DatabaseSettings, 'incremental' | 'tables'>): boolean {
  if (incremental) return true
  return tables !== undefined && tables.length > 0 && tables.every((table) => table.incremental)
}

/**
 * Returns the state to store after a read: the further tables that this read (`tables`) and earlier ones filled, and
 * the positions of an incremental read. Returns undefined if it has neither.
 */
export function createDatabaseState(
  request: ReadRequest,
  tables: readonly string[],
  positions: TablePositions,
): DatabaseState | undefined {
  const filledTables = [...new Set([...tables, ...listTablesOfEarlierRuns(request)])]
  const storesPositions = hasIncrements(request.settings as DatabaseSettings) && Object.keys(positions).length > 0
  if (filledTables.length === 0 && !storesPositions) return undefined
  return {
    version: 2,
    tables: filledTables,
    ...(storesPositions && { definition: digestDefinition(request), positions }),
  }
}

/** Returns the further tables that earlier runs filled. */
export function listTablesOfEarlierRuns({ cursor }: ReadRequest): readonly string[] {
  const { tables } = (cursor ?? {}) as Partial<DatabaseState>
  return Array.isArray(tables) ? tables : []
}

/**
 * Returns a digest of the settings that determine the rows. Leaves out settings that do not, such as `lookback`.
 * Includes the user name, because it determines the schema of an unqualified table name.
 */
function digestDefinition({ settings }: ReadRequest): string {
  const { jdbcSource, sqlQuery, tables, incremental } = settings as DatabaseSettings
  const { hostname, port, database, username } = jdbcSource
  const tableSelections = tables?.map(({ schema, name, incremental: incrementOfTable }) => [
    schema,
    name,
    listRowSettings(incrementOfTable ?? incremental),
  ])
  return createDigest([hostname, port, database, username, sqlQuery, tableSelections, listRowSettings(incremental)])
}

/** Returns the settings of an increment that determine the rows. */
const listRowSettings = (settings: IncrementSettings | undefined) =>
  settings && [settings.cursorColumn, settings.key, settings.deletedColumn]

/** Returns the first 32 hexadecimal digits of a SHA-256 digest. */
export const createDigest = (parts: readonly unknown[]): string => hash('sha256', JSON.stringify(parts)).slice(0, 32)
