import { hash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { defaultUploadLimits } from '@sluice/file-formats/spool/upload-limits'
import { formatCount } from '@sluice/row-stream'
import type { ReadRequest } from '../connector.ts'
import { createColumnNames, createTableName } from '../table-and-column-names.ts'
import { type HttpSystem, CursorUnusable, type RecordStream, type SystemContext } from './http-system.ts'
import { createPagingCheck } from './paging.ts'
import type { TablesReporter } from './tables-reporter.ts'
import { RecordTables } from './records/record-tables.ts'
import type { SpooledTable } from './records/table-spool.ts'

/**
 * The cursor that is stored with the rows. Version 1 is not accepted, because its increments kept values that the
 * source had cleared.
 */
export interface IncrementState {
  version: 2
  /** A hash of the settings. If they change, everything is read again. */
  settingsHash: string
  /** Cursors by the name of the stream. */
  at: Record<string, unknown>
  tables: string[]
}

/** The records of a system on disk. It is plain data, so that a thread can send it. */
export interface SpooledSystem {
  /** True if the system has a list of streams, so that the pipeline's own table lists their tables. */
  hasSeveralStreams: boolean
  streams: SpooledStream[]
  /** Cursors of the next read, by the name of the stream. */
  nextCursors: Record<string, unknown>
  /** CHANGES: the streams continued from their cursors. RESTARTED: they should have, but a stream could not. */
  contents: 'ALL' | 'CHANGES' | 'RESTARTED'
}

export interface SpooledStream {
  name: string
  inferStrings: boolean
  unreadWarning?: string | undefined
  /** The table of the records, then those of their groups. */
  tables: SpooledTable[]
}

/** Milliseconds after which the loop lets the event loop run. A few large records can take long. */
const maxBlockingMs = 5

export interface SystemRead {
  system: HttpSystem
  context: SystemContext
  request: ReadRequest
  directory: string
  reporter: TablesReporter
  /** Maximum number of records of a preview, which reads only the first stream. */
  maxRecords?: number | undefined
}

/**
 * Returns true if an increment can be read: the settings support increments and did not change since the previous load
 * stored a cursor. If a user reset the cursor, there must also be a cursor for the timestamp that the user selected.
 */
export function canReadIncrement(system: HttpSystem, { settings, cursor, reset }: ReadRequest): boolean {
  if (system.canReadIncrement?.(settings) !== true) return false
  if (parseIncrementState(cursor)?.settingsHash !== hashSettings(settings)) return false
  return reset === undefined || createResetCursor(system, reset, settings) !== undefined
}

/** Returns the cursor for the timestamp to which a user reset the source, or undefined without a reset. */
function createResetCursor(system: HttpSystem, reset: ReadRequest['reset'], settings: unknown): unknown {
  return reset?.from === undefined ? undefined : system.createCursor?.(reset.from, settings)
}

/**
 * Reads all streams of a system to disk, or the first stream for a preview. The streams of a list have a further table
 * each; a single stream has the pipeline's own table. The caller must close the files.
 */
export async function spoolSystem(systemRead: SystemRead): Promise<SpooledSystem> {
  const { system, context, request, maxRecords } = systemRead
  const isPreview = maxRecords !== undefined
  const ownTable = getOwnTable(request)
  const openedStreams = await system.openStreams(context)
  const hasSeveralStreams = Array.isArray(openedStreams)
  const previousCursors = findPreviousCursors(systemRead)
  const streams = hasSeveralStreams
    ? assignTables(openedStreams, ownTable)
    : [{ stream: openedStreams, table: ownTable }]
  const spoolResult = await spoolStreams(isPreview ? streams.slice(0, 1) : streams, previousCursors, systemRead)
  return { hasSeveralStreams, ...spoolResult }
}

/** Gives each stream the name of its table, such as `survey_homes`. */
function assignTables(streams: readonly RecordStream[], ownTable: string): StreamToSpool[] {
  // Column naming makes the names unique, because stream names can come from users and result in the same table name.
  const names = createColumnNames(streams.map((stream) => stream.name))
  return streams.map((stream, index) => ({ stream, table: createTableName(ownTable, [names[index]!]) }))
}

/**
 * Returns the cursors from which an increment continues: those of the previous load or, after a reset, the one that the
 * user selected. Returns undefined if everything must be read, and reports why an increment is not possible.
 */
function findPreviousCursors({ system, request, reporter }: SystemRead): PreviousCursors | undefined {
  if (request.mode !== 'INCREMENTAL') return undefined
  if (!canReadIncrement(system, request)) {
    reporter.reportFullRead(explainFullRead(system, request))
    return undefined
  }
  const resetCursor = createResetCursor(system, request.reset, request.settings)
  if (resetCursor !== undefined) reporter.log('INFO', 'MEDIUM', `The cursor was reset to ${request.reset!.from}.`)
  return { byStream: parseIncrementState(request.cursor)?.at ?? {}, resetCursor }
}

/** Returns the name of the pipeline's own table. */
export const getOwnTable = ({ table = 'preview' }: ReadRequest): string => table

interface StreamToSpool {
  stream: RecordStream
  table: string
}

interface PreviousCursors {
  /** Cursors by the name of the stream. */
  byStream: Record<string, unknown>
  /** The cursor to which a user reset all streams, or undefined without a reset. */
  resetCursor: unknown
}

/**
 * Reads the changes of all streams since their previous cursors into their tables. Reads everything without previous
 * cursors. If a stream cannot continue from its cursor, starts over and reads everything of all streams.
 */
async function spoolStreams(
  streams: readonly StreamToSpool[],
  previousCursors: PreviousCursors | undefined,
  systemRead: SystemRead,
): Promise<Omit<SpooledSystem, 'hasSeveralStreams'>> {
  await using openFiles = new AsyncDisposableStack()
  const nextCursors: Record<string, unknown> = { ...previousCursors?.byStream }
  const spooledStreams: SpooledStream[] = []
  try {
    for (const { stream, table } of streams) {
      const tables = openFiles.use(
        new RecordTables({ ...stream, table }, systemRead.directory, defaultUploadLimits.spoolBytes),
      )
      const previousCursor = previousCursors && (previousCursors.resetCursor ?? previousCursors.byStream[stream.name])
      nextCursors[stream.name] = await spoolPages(stream, tables, previousCursor, systemRead)
      const { name, inferStrings = false, unreadWarning } = stream
      spooledStreams.push({ name, inferStrings, unreadWarning, tables: tables.spooledTables })
    }
  } catch (error) {
    const mustStartOver = error instanceof CursorUnusable && previousCursors !== undefined
    if (!mustStartOver) throw error
    await systemRead.reporter.startOver()
    systemRead.reporter.reportFullRead(error.message)
    return { ...(await spoolStreams(streams, undefined, systemRead)), contents: 'RESTARTED' }
  }
  // From here on, the caller closes the files.
  openFiles.move()
  return { streams: spooledStreams, nextCursors, contents: previousCursors ? 'CHANGES' : 'ALL' }
}

/** Reads all pages of a stream into its tables. Returns the cursor of the next read. */
async function spoolPages(
  stream: RecordStream,
  tables: RecordTables,
  previousCursor: unknown,
  { system, context: { signal }, reporter, maxRecords }: SystemRead,
): Promise<unknown> {
  let cursor = previousCursor
  let hasDuplicates = false
  let repeatedCount = 0
  let resumedAt = performance.now()
  const assertPagingAdvances = createPagingCheck(system.name)
  const { table, key } = tables.shape
  for await (const page of stream.readPages(previousCursor)) {
    signal.throwIfAborted()
    let hasNewRecords = false
    for (const record of page.records) {
      if (performance.now() - resumedAt > maxBlockingMs) {
        await setImmediate()
        signal.throwIfAborted()
        resumedAt = performance.now()
      }
      const comparison = reporter.tryRecord(tables.recordCount + 1, record, () => tables.add(record))
      const isDuplicate = comparison === 'REPEATED' || comparison === 'CONFLICTING'
      // It is unknown which version is newer, so the cursor no longer advances and the next increment reads both again.
      if (isDuplicate) hasDuplicates = true
      else hasNewRecords = true
      if (tables.needsFiles) await tables.openFiles()
      if (comparison === 'REPEATED') repeatedCount += 1
      if (comparison === 'CONFLICTING')
        reporter.rejectRecord(
          tables.recordCount,
          record,
          `has the same key (${key.join(', ')}) as an earlier record of ${table}; only the first one was loaded`,
        )
    }
    reporter.reportActivity()
    assertPagingAdvances(hasNewRecords)
    if (page.cursor !== undefined && !hasDuplicates) cursor = page.cursor
    if (maxRecords !== undefined && tables.rootTable.spooled.rowCount > maxRecords) break
  }
  tables.flush()
  // The same record occurs twice if the list shifts during the read.
  if (repeatedCount > 0)
    reporter.log(
      'INFO',
      'LOW',
      `The source returned ${formatCount(repeatedCount, 'record')} of ${table} more than once. Each was loaded once.`,
    )
  return cursor
}

/** Returns the state that the previous load stored, or undefined if none exists or an earlier version stored it. */
export function parseIncrementState(cursor: unknown): IncrementState | undefined {
  const state = cursor as IncrementState | null | undefined
  const isValid = state?.version === 2 && typeof state.settingsHash === 'string' && typeof state.at === 'object'
  return isValid ? state : undefined
}

export const hashSettings = (settings: unknown): string => hash('sha256', JSON.stringify(settings)).slice(0, 32)

/** Returns a sentence for the log that says why `canReadIncrement` returned false. */
function explainFullRead(system: HttpSystem, { settings, cursor, reset }: ReadRequest): string {
  if (!system.canReadIncrement?.(settings))
    return 'All records are read and replace the old rows, because the source does not report changes.'
  if (reset && createResetCursor(system, reset, settings) !== undefined)
    return 'All records are read, because the cursor was reset and no earlier load with these settings stored one.'
  if (reset) return 'All records are read, because the cursor was reset.'
  if (cursor === undefined) return 'All records are read, because no earlier load stored a cursor.'
  const isVersion1 = (cursor as { version?: unknown } | null)?.version === 1
  return isVersion1
    ? 'After this upgrade, all records are read once, because incremental runs of earlier versions kept values that the source had cleared.'
    : 'All records are read, because the settings of the pipeline changed since the last load.'
}
