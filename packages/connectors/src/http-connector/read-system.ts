import { hash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { defaultUploadLimits } from '@sluice/file-formats/spool/upload-limits'
import { formatCount, type RowStream } from '@sluice/row-stream'
import type { ReadRequest } from '../connector.ts'
import { formatFields, RecordFlattener } from './flatten-record.ts'
import { type HttpSystem, ReadFromStart, type RecordStream, type SystemContext } from './http-system-interface.ts'
import { createPagingCheck } from './paging.ts'
import type { TablesReporter } from './read-reporter.ts'
import { declareColumns, RecordTables, TableSpool } from './record-tables.ts'
import { columnNames as createColumnNames, groupColumns, tableName as createTableName } from '../table-names.ts'
import { openTableStream } from './table-row-stream.ts'

/**
 * The state that is stored as the cursor with the rows. Version 1 is not accepted, because its increments kept values
 * that the source had cleared.
 */
interface IncrementState {
  version: 2
  /** A hash of the settings. If the settings change, everything is read again. */
  settingsHash: string
  /** Cursors by the name of the stream. */
  at: Record<string, unknown>
  tables: string[]
}

/** Milliseconds after which the read loop yields to the event loop. Even a few large records can take long. */
const maxBlockingMs = 5

export interface SystemRead {
  system: HttpSystem
  context: SystemContext
  reading: ReadRequest
  directory: string
  reporter: TablesReporter
  /** Maximum number of records of a preview, which reads only the first stream. */
  maxRecords?: number
}

interface StreamTables {
  stream: RecordStream
  tables: RecordTables
}

/** True if an increment can be read: the settings support increments and have not changed since the last cursor. */
export const canReadIncrement = (system: HttpSystem, { settings, cursor, reset }: ReadRequest): boolean =>
  system.canReadIncrement?.(settings) === true &&
  parseIncrementState(cursor)?.settingsHash === hashSettings(settings) &&
  (reset === undefined || (reset.from !== undefined && system.createCursor?.(reset.from, settings) !== undefined))

/**
 * Reads all streams to disk, then yields their tables one after another. The cursor is stored with the first table, the
 * pipeline's own.
 */
export async function* readSystem(read: SystemRead): AsyncGenerator<RowStream, void, void> {
  const { system, context, reading: request, directory, reporter, maxRecords } = read
  const ownTable = request.table ?? 'preview'
  const isPreview = maxRecords !== undefined
  const openedStreams = await system.openStreams(context)
  const hasSeveral = Array.isArray(openedStreams)
  const streams = hasSeveral ? openedStreams : [openedStreams]
  const lastState = parseIncrementState(request.cursor)
  const lastCursors =
    request.mode === 'INCREMENTAL' && canReadIncrement(system, request) ? (lastState?.at ?? {}) : undefined
  if (request.mode === 'INCREMENTAL' && !lastCursors) reporter.reportFullRead(explainFullRead(system, request))
  const resetTo = request.reset?.from && system.createCursor?.(request.reset.from, request.settings)
  if (lastCursors && resetTo !== undefined)
    reporter.log('INFO', 'MEDIUM', `The cursor was reset to ${request.reset!.from}.`)

  using stack = new DisposableStack()
  // Stream names can come from users, so two of them can give the same table name. Column naming makes them unique.
  const names = createColumnNames(streams.map((stream) => stream.name))
  const toSpool = streams.map((stream, index) => ({
    stream,
    table: hasSeveral ? createTableName(ownTable, [names[index]!]) : ownTable,
  }))
  const spooled = await spoolStreams(isPreview ? toSpool.slice(0, 1) : toSpool, lastCursors, resetTo, read)
  stack.use(spooled)
  const { readStreams, nextCursors, cursors } = spooled

  const allTables = readStreams.flatMap(({ stream, tables }) => tables.allTables.map((table) => ({ stream, table })))
  const tableNames = allTables.map(({ table }) => table.name)
  const lastTables = lastState?.tables ?? []
  const unfilledGroups = isPreview ? [] : listUnfilledGroups(lastTables, tableNames)
  const isMerged = cursors !== undefined || request.writeMode === 'MERGE'
  const keepsRows = isMerged || request.writeMode === 'APPEND'
  const filledTables = [...new Set([...tableNames, ...unfilledGroups, ...(keepsRows ? lastTables : [])])]
  const nextState: IncrementState = {
    version: 2,
    settingsHash: hashSettings(request.settings),
    at: nextCursors,
    tables: filledTables,
  }
  const openStream = (table: TableSpool, stream?: RecordStream) =>
    openTableStream({
      table,
      streamName: table.name === ownTable ? '' : table.name,
      inferStrings: stream?.inferStrings ?? false,
      directory,
      reporter,
      signal: context.signal,
      // The recorded types of the last load are those of the pipeline's own table.
      ...(table.name === ownTable && { remembered: request.remembered }),
    })

  if (isPreview && allTables.length > 1) {
    const groups = allTables.slice(1).map(({ table }) => table.name.replace(ownTable, '…'))
    reporter.log('INFO', 'LOW', `The preview shows only one table. A load also fills these: ${groups.join(', ')}.`)
  }
  if (hasSeveral && !isPreview) {
    const contents = stack.use(createContentsTable(ownTable, allTables, directory))
    // The own table always has one row per table, even if the tables themselves are appended to.
    for await (const feed of attachCursor(openStream(contents), nextState)) yield { ...feed, replaces: 'table_name' }
  }
  for (const { table, stream } of allTables) {
    const tableStreams = openStream(table, stream)
    const partOf = isMerged ? findParentTable(table.name, readStreams, ownTable) : undefined
    for await (const feed of table.name === ownTable ? attachCursor(tableStreams, nextState) : tableStreams)
      yield {
        ...feed,
        ...(partOf && { partOf }),
        ...(lastCursors && !cursors && { whole: () => true }),
        ...(table === readStreams[0]!.tables.rootTable &&
          stream.unreadWarning !== undefined && { unread: stream.unreadWarning }),
      }
    table[Symbol.dispose]()
  }
  for (const name of unfilledGroups) {
    const partOf = isMerged ? findParentTable(name, readStreams, ownTable) : undefined
    if (partOf) {
      const key = { name: '_row_id', label: '_row_id', dataType: 'TEXT' as const, primaryKey: true }
      const content = { format: 'copy-binary' as const, rows: async function* () {} }
      yield { table: name, columns: [key], content, partOf, sparse: true }
      continue
    }
    const columns = groupColumns.flatMap((path) => declareColumns(path === '_index' ? 'INTEGER' : 'TEXT', [path]))
    yield* openStream(stack.use(new TableSpool(name, ['_row_id'], columns, directory, 0)))
  }
}

interface StreamToSpool {
  stream: RecordStream
  table: string
}

interface SpooledStreams extends Disposable {
  readStreams: StreamTables[]
  /** Cursors for the next read, by stream name. */
  nextCursors: Record<string, unknown>
  /** The cursors from which the streams continued. Undefined if everything was read. */
  cursors: Record<string, unknown> | undefined
}

/** Reads all streams into their tables on disk. If one stream cannot continue from its cursor, reads everything. */
async function spoolStreams(
  streams: readonly StreamToSpool[],
  cursors: Record<string, unknown> | undefined,
  resetTo: unknown,
  read: SystemRead,
): Promise<SpooledStreams> {
  using stack = new DisposableStack()
  const nextCursors: Record<string, unknown> = { ...cursors }
  const readStreams: StreamTables[] = []
  try {
    for (const { stream, table } of streams) {
      const tables = stack.use(new RecordTables({ ...stream, table }, read.directory, defaultUploadLimits.spoolBytes))
      const cursor = cursors && resetTo !== undefined ? resetTo : cursors?.[stream.name]
      nextCursors[stream.name] = await spoolPages(stream, tables, cursor, read)
      readStreams.push({ stream, tables })
    }
  } catch (error) {
    if (!(error instanceof ReadFromStart) || !cursors) throw error
    await read.reporter.startOver()
    read.reporter.reportFullRead(error.message)
    return await spoolStreams(streams, undefined, undefined, read)
  }
  const moved = stack.move()
  return { readStreams, nextCursors, cursors, [Symbol.dispose]: () => moved.dispose() }
}

/** Reads all pages of a stream into its tables on disk. Returns the cursor for the next read. */
async function spoolPages(
  stream: RecordStream,
  tables: RecordTables,
  lastCursor: unknown,
  { system, context: { signal }, reporter, maxRecords }: SystemRead,
): Promise<unknown> {
  let cursor = lastCursor
  let hasDuplicates = false
  let repeated = 0
  let resumedAt = performance.now()
  const checkPage = createPagingCheck(system.name)
  const { table, key } = tables.shape
  for await (const page of stream.readPages(lastCursor)) {
    signal.throwIfAborted()
    let hasNewRecords = false
    for (const record of page.records) {
      if (performance.now() - resumedAt > maxBlockingMs) {
        await setImmediate()
        resumedAt = performance.now()
      }
      const comparison = reporter.tryRecord(tables.recordCount + 1, record, () => tables.add(record))
      // The same key with other content: it is unknown which version is newer. So the cursor does not advance, and the
      // next increment reads both again.
      if (comparison === 'SAME' || comparison === 'OTHER') hasDuplicates = true
      else hasNewRecords = true
      if (comparison === 'SAME') repeated += 1
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
    if (maxRecords !== undefined && tables.rootTable.rowCount > maxRecords) break
  }
  tables.flush()
  // A record occurs twice if records move between pages during the read.
  if (repeated > 0)
    reporter.log(
      'INFO',
      'LOW',
      `The source returned ${formatCount(repeated, 'record')} of ${table} more than once. Each was loaded once.`,
    )
  return cursor
}

function parseIncrementState(cursor: unknown): IncrementState | undefined {
  const state = cursor as IncrementState | null | undefined
  return state?.version === 2 && typeof state.settingsHash === 'string' && typeof state.at === 'object'
    ? state
    : undefined
}

const hashSettings = (settings: unknown): string => hash('sha256', JSON.stringify(settings)).slice(0, 32)

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

/**
 * Lists the group tables of earlier reads that have no rows now. A group is a list inside a record, such as the
 * children of a household, and its table has one row per item. A full read empties these tables. An increment deletes
 * from them the rows of changed records.
 */
const listUnfilledGroups = (lastTables: readonly string[], tables: readonly string[]): string[] =>
  lastTables.filter((name) => !tables.includes(name) && tables.some((table) => name.startsWith(`${table}__`)))

/** Returns the table of the records that contain a group table's items. Returns undefined for a table of records. */
function findParentTable(table: string, streams: readonly StreamTables[], ownTable: string): RowStream['partOf'] {
  const roots = streams.map(({ tables }) => tables.rootTable)
  if (roots.some(({ name }) => name === table)) return undefined
  const [root] = roots
    .filter(({ name }) => table.startsWith(`${name}__`))
    .toSorted((a, b) => b.name.length - a.name.length)
  if (!root) return undefined
  // Computes names from all paths together, because the second of two equal names gets a hash as suffix.
  const paths =
    root.rowCount > 0 ? [...root.valueKinds.keys()] : [...new Set([...root.key, ...root.declaredColumns.keys()])]
  const names = createColumnNames(paths)
  const keys = root.key.map((path) => names[paths.indexOf(path)]!)
  return { table: root.name === ownTable ? '' : root.name, keys, column: '_root_row_id' }
}

async function* attachCursor(
  feeds: AsyncIterable<RowStream>,
  state: IncrementState,
): AsyncGenerator<RowStream, void, void> {
  for await (const feed of feeds) yield { ...feed, cursor: () => state }
}

const contentsColumns = [
  ...declareColumns('TEXT', ['table_name', 'content']),
  ...declareColumns('BIGINT', ['rows_read']),
]
const maxContentsBytes = 10_000_000

/**
 * Creates the own table of a pipeline with several streams. It lists their tables with the row counts of the last read.
 */
function createContentsTable(
  ownTable: string,
  tables: readonly { stream: RecordStream; table: TableSpool }[],
  directory: string,
): TableSpool {
  const contents = new TableSpool(ownTable, ['table_name'], contentsColumns, directory, maxContentsBytes)
  const flattener = new RecordFlattener()
  for (const { stream, table } of tables) {
    const [row] = flattener.flatten({ table_name: table.name, content: stream.name, rows_read: table.rowCount }, '')
    contents.add(formatFields(row!), row!.newKinds)
  }
  contents.flush()
  return contents
}
