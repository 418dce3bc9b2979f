import { hash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { defaultUploadLimits } from '@sluice/file-formats/spool/limits'
import { formatCount, type RowStream } from '@sluice/row-stream'
import type { ReadRequest } from '../connector.ts'
import type { HttpSystem, RecordStream, SystemContext } from './http-system.ts'
import { detectEndlessPaging } from './paging.ts'
import type { ReadReporter } from './read-reporter.ts'
import { createColumns, RecordTables, TableSpool } from './record-tables.ts'
import { columnNames, groupColumns, tableName } from './table-names.ts'
import { openTableStream } from './table-row-stream.ts'

/** The cursor that is stored with the rows. With version 1, increments kept values that the source had cleared. */
interface IncrementState {
  version: 2
  /** A hash of the settings: after a change, everything is read. */
  settingsHash: string
  /** Cursors by the name of the stream. */
  at: Record<string, unknown>
  tables: string[]
}

/** Milliseconds after which the loop yields to the event loop: a few records can take long. */
const maxBlockingMs = 25

export interface SystemRead {
  system: HttpSystem
  context: SystemContext
  reading: ReadRequest
  directory: string
  reporter: ReadReporter
  /** For previews: the maximum number of records, all of the first stream. */
  maxRecords?: number
}

interface ReadStream {
  stream: RecordStream
  tables: RecordTables
}

/** Whether an increment can be read: the settings support it and have not changed since the cursor. */
export const canReadIncrement = (system: HttpSystem, { settings, cursor, reset }: ReadRequest): boolean =>
  system.canReadIncrement?.(settings) === true &&
  parseIncrementState(cursor)?.settingsHash === hashSettings(settings) &&
  (reset === undefined || (reset.from !== undefined && system.cursorAt !== undefined))

/**
 * Reads all streams to disk, page by page, then yields their tables one after another. The cursor is stored with the first table, which is
 * the pipeline's own.
 */
export async function* readSystem(read: SystemRead): AsyncGenerator<RowStream, void, void> {
  const { system, context, reading, directory, reporter, maxRecords } = read
  const ownTable = reading.table ?? 'preview'
  const isPreview = maxRecords !== undefined
  const found = await system.streams(context)
  const hasSeveral = Array.isArray(found)
  const streams = hasSeveral ? found : [found]
  const lastState = parseIncrementState(reading.cursor)
  const cursors =
    reading.mode === 'INCREMENTAL' && canReadIncrement(system, reading) ? (lastState?.at ?? {}) : undefined
  if (reading.mode === 'INCREMENTAL' && !cursors) reporter.reportFullRead(explainFullRead(system, reading))
  const resetTo = reading.reset?.from && system.cursorAt?.(reading.reset.from)
  if (cursors && resetTo !== undefined)
    reporter.log('INFO', 'MEDIUM', `The cursor was reset to ${reading.reset!.from}.`)
  const nextCursors: Record<string, unknown> = { ...cursors }

  using stack = new DisposableStack()
  const readStreams: ReadStream[] = []
  // Stream names can come from users: two of them can result in the same table name.
  const names = columnNames(streams.map((stream) => stream.name))
  for (const [index, stream] of streams.entries()) {
    const table = hasSeveral ? tableName(ownTable, [names[index]!]) : ownTable
    const tables = stack.use(new RecordTables({ ...stream, table }, directory, defaultUploadLimits.spoolBytes))
    const cursor = cursors && resetTo !== undefined ? resetTo : cursors?.[stream.name]
    nextCursors[stream.name] = await readPages(stream, tables, cursor, read)
    readStreams.push({ stream, tables })
    if (isPreview) break
  }

  const allTables = readStreams.flatMap(({ stream, tables }) => tables.all.map((table) => ({ stream, table })))
  const tableNames = allTables.map(({ table }) => table.name)
  const lastTables = lastState?.tables ?? []
  const unfilledGroups = isPreview ? [] : listUnfilledGroups(lastTables, tableNames)
  const filledTables = [...new Set([...tableNames, ...unfilledGroups, ...(cursors ? lastTables : [])])]
  const nextState: IncrementState = {
    version: 2,
    settingsHash: hashSettings(reading.settings),
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
      // The remembered decisions are those of the pipeline's own table.
      ...(table.name === ownTable && { remembered: reading.remembered }),
    })

  if (isPreview && allTables.length > 1) {
    const groups = allTables.slice(1).map(({ table }) => table.name.replace(ownTable, '…'))
    reporter.log('INFO', 'LOW', `The load also fills these tables, which are not shown: ${groups.join(', ')}.`)
  }
  if (hasSeveral && !isPreview) {
    const contents = stack.use(createContentsTable(ownTable, allTables, directory))
    yield* withCursor(openStream(contents), nextState)
  }
  for (const { table, stream } of allTables) {
    const feeds = openStream(table, stream)
    const partOf = cursors && findParentTable(table.name, readStreams, ownTable)
    for await (const feed of table.name === ownTable ? withCursor(feeds, nextState) : feeds)
      yield {
        ...feed,
        ...(partOf && { partOf }),
        ...(table === readStreams[0]!.tables.root &&
          stream.unreadWarning !== undefined && { unread: stream.unreadWarning }),
      }
    table[Symbol.dispose]()
  }
  for (const name of unfilledGroups) {
    const partOf = cursors && findParentTable(name, readStreams, ownTable)
    if (partOf) {
      const key = { name: '_row_id', label: '_row_id', dataType: 'TEXT' as const, primaryKey: true }
      yield { table: name, columns: [key], content: { format: 'copy-binary', rows: async function* () {} }, partOf }
      continue
    }
    const columns = groupColumns.flatMap((path) => createColumns(path === '_index' ? 'INTEGER' : 'TEXT', [path]))
    yield* openStream(stack.use(new TableSpool(name, ['_row_id'], columns, directory, 0)))
  }
}

/** Reads all pages of a stream and returns the cursor of the next read. */
async function readPages(
  stream: RecordStream,
  tables: RecordTables,
  lastCursor: unknown,
  { system, context: { signal }, reporter, maxRecords }: SystemRead,
): Promise<unknown> {
  let cursor = lastCursor
  let hasDuplicates = false
  let repeated = 0
  let resumedAt = performance.now()
  const checkPage = detectEndlessPaging(system.name)
  const { table, key } = tables.shape
  for await (const page of stream.pages(lastCursor)) {
    signal.throwIfAborted()
    let hasNewRecords = false
    for (const record of page.records) {
      if (performance.now() - resumedAt > maxBlockingMs) {
        await setImmediate()
        resumedAt = performance.now()
      }
      const comparison = reporter.tryRecord(tables.records + 1, record, () => tables.add(record))
      // Either of the two versions can be the newer one, so the next increment must start before them.
      if (comparison === 'SAME' || comparison === 'OTHER') hasDuplicates = true
      else hasNewRecords = true
      if (comparison === 'SAME') repeated += 1
      if (comparison === 'OTHER')
        reporter.rejectRecord(
          tables.records,
          record,
          `has the same key (${key.join(', ')}) as an earlier record of ${table}: only the first was loaded`,
        )
    }
    reporter.alive()
    checkPage(hasNewRecords)
    if (page.cursor !== undefined && !hasDuplicates) cursor = page.cursor
    if (maxRecords !== undefined && tables.root.rows > maxRecords) break
  }
  tables.flush()
  // A list that shifts during the read returns the same record twice.
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
    return 'The source does not report changes, so all records are read and replace the old rows.'
  if (reset)
    return reset.from !== undefined && system.cursorAt
      ? 'All records are read, because the cursor was reset and no earlier load with these settings stored one.'
      : 'All records are read, because the cursor was reset.'
  if ((cursor as { version?: unknown } | null | undefined)?.version === 1)
    return 'All records are read once after the upgrade, because increments of earlier versions kept values that the source had cleared.'
  return cursor === undefined
    ? 'All records are read, because no earlier load stored a cursor.'
    : 'All records are read, because the settings of the pipeline changed since the last load.'
}

/** Lists group tables of earlier reads that no record fills now. A full read empties them; an increment deletes the rows of its records. */
const listUnfilledGroups = (lastTables: readonly string[], tables: readonly string[]): string[] =>
  lastTables.filter((name) => !tables.includes(name) && tables.some((table) => name.startsWith(`${table}__`)))

/** Returns the records whose groups are in this table; undefined for the table of the records themselves. */
function findParentTable(table: string, streams: readonly ReadStream[], ownTable: string): RowStream['partOf'] {
  const roots = streams.map(({ tables }) => tables.root)
  if (roots.some(({ name }) => name === table)) return undefined
  const [root] = roots
    .filter(({ name }) => table.startsWith(`${name}__`))
    .toSorted((a, b) => b.name.length - a.name.length)
  if (!root) return undefined
  // Column names depend on all paths that were seen. A key whose name collides with that of another path ends in a hash.
  const paths = root.rows > 0 ? [...root.seen.keys()] : [...new Set([...root.key, ...root.known.keys()])]
  const names = columnNames(paths)
  const keys = root.key.map((path) => names[paths.indexOf(path)]!)
  return { table: root.name === ownTable ? '' : root.name, keys, column: '_root_row_id' }
}

async function* withCursor(
  feeds: AsyncIterable<RowStream>,
  state: IncrementState,
): AsyncGenerator<RowStream, void, void> {
  for await (const feed of feeds) yield { ...feed, cursor: () => state }
}

const contentsColumns = [...createColumns('TEXT', ['table_name', 'content']), ...createColumns('BIGINT', ['rows_read'])]
const maxContentsBytes = 10_000_000

/**
 * Creates the pipeline's own table for a pipeline with several streams: it lists their tables, and the number of rows of the
 * last read for each.
 */
function createContentsTable(
  ownTable: string,
  tables: readonly { stream: RecordStream; table: TableSpool }[],
  directory: string,
): TableSpool {
  const contents = new TableSpool(ownTable, ['table_name'], contentsColumns, directory, maxContentsBytes)
  for (const { stream, table } of tables)
    contents.add(
      new Map<string, string | number>([
        ['table_name', table.name],
        ['content', stream.name],
        ['rows_read', table.rows],
      ]),
    )
  contents.flush()
  return contents
}
