import { hash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { defaultUploadLimits } from '@sluice/file-formats/spool/upload-limits'
import { formatCount } from '@sluice/row-stream'
import type { ReadRequest } from '../connector.ts'
import { columnNames as createColumnNames, tableName as createTableName } from '../table-names.ts'
import { type HttpSystem, CursorUnusable, type RecordStream, type SystemContext } from './http-system-interface.ts'
import { createPagingCheck } from './paging.ts'
import type { TablesReporter } from './read-reporter.ts'
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
  /** Whether the system has a list of streams, so that the pipeline's own table lists their tables. */
  hasSeveral: boolean
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

/** Milliseconds of work before the loop yields to the event loop. A few large records can take long. */
const maxBlockingMs = 5

export interface SystemRead {
  system: HttpSystem
  context: SystemContext
  reading: ReadRequest
  directory: string
  reporter: TablesReporter
  /** Maximum number of records of a preview, which reads only the first stream. */
  maxRecords?: number | undefined
}

/**
 * Returns whether an increment can be read: the settings support increments and did not change since the last cursor.
 */
export const canReadIncrement = (system: HttpSystem, { settings, cursor, reset }: ReadRequest): boolean =>
  system.canReadIncrement?.(settings) === true &&
  parseIncrementState(cursor)?.settingsHash === hashSettings(settings) &&
  (reset === undefined || (reset.from !== undefined && system.createCursor?.(reset.from, settings) !== undefined))

/** Reads all streams of a system to disk. The caller must close the files. */
export async function spoolSystem(systemRead: SystemRead): Promise<SpooledSystem> {
  const { system, context, reading: request, reporter, maxRecords } = systemRead
  const ownTable = getOwnTable(request)
  const openedStreams = await system.openStreams(context)
  const hasSeveral = Array.isArray(openedStreams)
  const streams = hasSeveral ? openedStreams : [openedStreams]
  const lastCursors =
    request.mode === 'INCREMENTAL' && canReadIncrement(system, request)
      ? (parseIncrementState(request.cursor)?.at ?? {})
      : undefined
  if (request.mode === 'INCREMENTAL' && !lastCursors) reporter.reportFullRead(explainFullRead(system, request))
  const resetTo = request.reset?.from && system.createCursor?.(request.reset.from, request.settings)
  if (lastCursors && resetTo !== undefined)
    reporter.log('INFO', 'MEDIUM', `The cursor was reset to ${request.reset!.from}.`)
  // Column naming makes the names unique, because stream names can come from users and result in the same table name.
  const names = createColumnNames(streams.map((stream) => stream.name))
  const streamsToSpool = streams.map((stream, index) => ({
    stream,
    table: hasSeveral ? createTableName(ownTable, [names[index]!]) : ownTable,
  }))
  const isPreview = maxRecords !== undefined
  const spoolResult = await spoolStreams(
    isPreview ? streamsToSpool.slice(0, 1) : streamsToSpool,
    lastCursors,
    resetTo,
    systemRead,
  )
  return { hasSeveral, ...spoolResult }
}

/** Returns the name of the pipeline's own table. */
export const getOwnTable = ({ table = 'preview' }: ReadRequest): string => table

interface StreamToSpool {
  stream: RecordStream
  table: string
}

/** Reads all streams into their tables. Reads everything if a stream cannot continue from its cursor. */
async function spoolStreams(
  streams: readonly StreamToSpool[],
  cursors: Record<string, unknown> | undefined,
  resetTo: unknown,
  systemRead: SystemRead,
): Promise<Omit<SpooledSystem, 'hasSeveral'>> {
  await using openFiles = new AsyncDisposableStack()
  const nextCursors: Record<string, unknown> = { ...cursors }
  const spooledStreams: SpooledStream[] = []
  try {
    for (const { stream, table } of streams) {
      const tables = openFiles.use(
        new RecordTables({ ...stream, table }, systemRead.directory, defaultUploadLimits.spoolBytes),
      )
      const cursor = cursors && resetTo !== undefined ? resetTo : cursors?.[stream.name]
      nextCursors[stream.name] = await spoolPages(stream, tables, cursor, systemRead)
      const { name, inferStrings = false, unreadWarning } = stream
      spooledStreams.push({ name, inferStrings, unreadWarning, tables: tables.spooledTables })
    }
  } catch (error) {
    if (!(error instanceof CursorUnusable) || !cursors) throw error
    await systemRead.reporter.startOver()
    systemRead.reporter.reportFullRead(error.message)
    return { ...(await spoolStreams(streams, undefined, undefined, systemRead)), contents: 'RESTARTED' }
  }
  // From here on, the caller closes the files.
  openFiles.move()
  return { streams: spooledStreams, nextCursors, contents: cursors ? 'CHANGES' : 'ALL' }
}

/** Reads all pages of a stream into its tables. Returns the cursor of the next read. */
async function spoolPages(
  stream: RecordStream,
  tables: RecordTables,
  lastCursor: unknown,
  { system, context: { signal }, reporter, maxRecords }: SystemRead,
): Promise<unknown> {
  let cursor = lastCursor
  let hasDuplicates = false
  let repeatedCount = 0
  let resumedAt = performance.now()
  const checkPage = createPagingCheck(system.name)
  const { table, key } = tables.shape
  for await (const page of stream.readPages(lastCursor)) {
    signal.throwIfAborted()
    let hasNewRecords = false
    for (const record of page.records) {
      if (performance.now() - resumedAt > maxBlockingMs) {
        await setImmediate()
        signal.throwIfAborted()
        resumedAt = performance.now()
      }
      const comparison = reporter.tryRecord(tables.recordCount + 1, record, () => tables.add(record))
      // It is unknown which version is newer, so the cursor no longer advances and the next increment reads both again.
      if (comparison === 'SAME' || comparison === 'OTHER') hasDuplicates = true
      else hasNewRecords = true
      if (tables.needsFiles) await tables.openFiles()
      if (comparison === 'SAME') repeatedCount += 1
      if (comparison === 'OTHER')
        reporter.rejectRecord(
          tables.recordCount,
          record,
          `has the same key (${key.join(', ')}) as an earlier record of ${table}; only the first one was loaded`,
        )
    }
    reporter.reportActivity()
    checkPage(hasNewRecords)
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

export function parseIncrementState(cursor: unknown): IncrementState | undefined {
  const state = cursor as IncrementState | null | undefined
  return state?.version === 2 && typeof state.settingsHash === 'string' && typeof state.at === 'object'
    ? state
    : undefined
}

export const hashSettings = (settings: unknown): string => hash('sha256', JSON.stringify(settings)).slice(0, 32)

function explainFullRead(system: HttpSystem, { settings, cursor, reset }: ReadRequest): string {
  if (!system.canReadIncrement?.(settings))
    return 'All records are read and replace the old rows, because the source does not report changes.'
  if (reset)
    return reset.from !== undefined && system.createCursor?.(reset.from, settings) !== undefined
      ? 'All records are read, because the cursor was reset and no earlier load with these settings stored one.'
      : 'All records are read, because the cursor was reset.'
  if ((cursor as { version?: unknown } | null | undefined)?.version === 1)
    return 'After this upgrade, all records are read once, because incremental runs of earlier versions kept values that the source had cleared.'
  return cursor === undefined
    ? 'All records are read, because no earlier load stored a cursor.'
    : 'All records are read, because the settings of the pipeline changed since the last load.'
}
