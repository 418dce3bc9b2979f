import { hash } from 'node:crypto'
import type { SourceBody } from '@sluice/contracts'
import type { ReadRequest } from '../../connector.ts'
import type { DatabaseType } from '../database-product.ts'
import { type CursorKind, parseCursorValue } from './cursor-value.ts'

/** The settings of incremental reads, with the names of columns as the user wrote them. */
export interface IncrementSettings {
  cursorColumn: string
  key: readonly string[]
  /** Seconds for dates and times, otherwise a difference of numbers. */
  lookback?: number
  deletedColumn?: string
}

/** The position from which the next increment of a table continues. */
export interface StoredCursor {
  kind: CursorKind
  /** A result of `parseCursorValue`. */
  value: string
  /** A digest of the names and types of all columns. */
  columns: string
}

/** The cursor that is stored with the rows. */
interface IncrementState {
  version: 1
  /** A digest of the settings that determine the rows. If they change, everything is read again. */
  definition: string
  at: StoredCursor
}

type DatabaseSettings = Extract<SourceBody, { type: DatabaseType }>

/** Returns where the increment continues, or the reason why everything must be read. */
export function findIncrementStart(request: ReadRequest): StoredCursor | { fullRead: string } {
  const { incremental } = request.settings as DatabaseSettings
  if (!incremental) return { fullRead: 'All rows are read and replace the old ones: `incremental` is not set.' }
  if (request.reset) return { fullRead: 'All rows are read, because the cursor was reset.' }
  const state = request.cursor as Partial<IncrementState> | null | undefined
  const { kind, value = '' } = state?.at ?? {}
  if (state?.version !== 1 || !state.at || kind === undefined || parseCursorValue(kind, value) !== value)
    return { fullRead: 'All rows are read, because no earlier load stored a cursor.' }
  if (state.definition !== digestDefinition(request))
    return { fullRead: 'All rows are read, because the settings of the source changed since the last load.' }
  return state.at
}

export const createIncrementState = (request: ReadRequest, at: StoredCursor): IncrementState => ({
  version: 1,
  definition: digestDefinition(request),
  at,
})

/** Leaves out settings that do not change the rows, such as `lookback`. A user name can: it decides which schema an unqualified name means. */
function digestDefinition({ settings }: ReadRequest): string {
  const { jdbcSource, sqlQuery, tables, incremental } = settings as DatabaseSettings
  const { hostname, port, database, username } = jdbcSource
  const { cursorColumn, key, deletedColumn } = incremental!
  return createDigest([hostname, port, database, username, sqlQuery, tables, cursorColumn, key, deletedColumn])
}

export const createDigest = (parts: readonly unknown[]): string => hash('sha256', JSON.stringify(parts)).slice(0, 32)
