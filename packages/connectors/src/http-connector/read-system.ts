import { hash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { SourceReading } from '../connector.ts'
import { formatCount, type SourceFeed } from '@sluice/row-stream'
import { defaultUploadLimits } from '@sluice/file-formats/spool/limits'
import { detectEndlessPaging } from './paging.ts'
import type { SystemContext, RecordStream, HttpSystem } from './http-system.ts'
import { columnNames, groupColumns, tableName } from './table-names.ts'
import { tableFeed } from './table-row-stream.ts'
import { TableSpool, RecordTables } from './record-tables.ts'
import type { ReadingLog } from './read-reporter.ts'

/** The cursor that is stored with the rows. With version 1, increments kept values that the source had cleared. */
interface IncrementState {
  version: 2
  /** A hash of the settings: after a change, everything is read. */
  settingsHash: string
  at: Record<string, unknown>
  tables: string[]
}

/** Milliseconds after which the loop yields to the event loop: a few records can take long. */
const maxBlockingMs = 25

export interface SystemReading {
  system: HttpSystem
  asking: SystemContext
  reading: SourceReading
  directory: string
  told: ReadingLog
  /** Maximum number of records of the first stream. */
  most?: number
}

/** Whether an increment can be read: the settings support it and have not changed since the cursor. */
export const canReadIncrement = (system: HttpSystem, { settings, cursor, reset }: SourceReading): boolean =>
  system.increments?.(settings) === true &&
  parseIncrementState(cursor)?.settingsHash === hashSettings(settings) &&
  (reset === undefined || (reset.from !== undefined && system.cursorAt !== undefined))

/**
 * Reads all streams to disk, page by page, then yields their tables one after another. The cursor is stored with the first table, which is
 * the pipeline's own.
 */
export async function* readSystem(given: SystemReading): AsyncGenerator<SourceFeed, void, void> {
  const { system, asking, reading, directory, told, most } = given
  const target = reading.table ?? 'preview'
  const found = await system.streams(asking)
  const several = Array.isArray(found)
  const earlier = parseIncrementState(reading.cursor)
  const asksForNew = reading.mode === 'INCREMENTAL'
  const from = asksForNew && canReadIncrement(system, reading) ? earlier?.at : undefined
  if (asksForNew && !from) told.reportFullRead(explainFullRead(system, reading))
  const resetTo = reading.reset?.from && system.cursorAt?.(reading.reset.from)
  if (from && resetTo !== undefined) told.log('INFO', 'MEDIUM', `The cursor was reset to ${reading.reset!.from}.`)
  const at: Record<string, unknown> = { ...from }

  using stack = new DisposableStack()
  const read: { stream: RecordStream; tables: RecordTables }[] = []
  const streams = several ? found : [found]
  // Stream names can come from users: two of them can result in the same table name.
  const names = columnNames(streams.map((stream) => stream.name))
  for (const [index, stream] of streams.entries()) {
    const table = several ? tableName(target, [names[index]!]) : target
    const tables = stack.use(new RecordTables({ ...stream, table }, directory, defaultUploadLimits.spoolBytes))
    const since = from && resetTo !== undefined ? resetTo : from?.[stream.name]
    at[stream.name] = await readStream(stream, tables, since, { system, asking, told, most })
    read.push({ stream, tables })
    if (most !== undefined) break
  }

  const all = read.flatMap(({ stream, tables }) => tables.all.map((table) => ({ stream, table })))
  const tables = all.map(({ table }) => table.name)
  // Groups that no record has any more: a full read empties their tables, an increment deletes the rows of its records.
  const gone =
    most !== undefined
      ? []
      : (earlier?.tables ?? []).filter((name) => !tables.includes(name) && isGroupTable(name, tables))
  const filled = [...new Set([...tables, ...gone, ...((from && earlier?.tables) ?? [])])]
  const kept: IncrementState = { version: 2, settingsHash: hashSettings(reading.settings), at, tables: filled }
  const feed = (table: TableSpool, stream?: RecordStream) => ({
    table,
    as: table.name === target ? '' : table.name,
    textsMayBeAnything: stream?.inferStrings ?? false,
    directory,
    told,
    signal: asking.signal,
    // The remembered decisions are those of the pipeline's own table.
    ...(table.name === target && { remembered: reading.remembered }),
  })
  const groups = most === undefined ? [] : all.slice(1)
  if (groups.length > 0) told.log('INFO', 'LOW', describeSkippedGroups(target, groups))
  if (several && most === undefined) {
    const contents = stack.use(createContentsTable(target, all, directory))
    yield* withCursor(tableFeed(feed(contents)), kept)
  }
  for (const { table, stream } of all) {
    const feeds = tableFeed(feed(table, stream))
    const partOf = from && findParentTable(table.name, read, target)
    for await (const one of table.name === target ? withCursor(feeds, kept) : feeds)
      yield {
        ...one,
        ...(partOf && { partOf }),
        ...(table === read[0]!.tables.root && stream.unreadWarning !== undefined && { unread: stream.unreadWarning }),
      }
    table[Symbol.dispose]()
  }
  for (const name of gone) {
    const partOf = from && findParentTable(name, read, target)
    if (partOf) {
      const key = { name: '_row_id', label: '_row_id', dataType: 'TEXT' as const, primaryKey: true }
      yield { table: name, columns: [key], content: { format: 'copy-binary', rows: async function* () {} }, partOf }
      continue
    }
    const known = groupColumns.map((path) => ({
      path,
      dataType: path === '_index' ? ('INTEGER' as const) : ('TEXT' as const),
    }))
    yield* tableFeed(feed(stack.use(new TableSpool(name, ['_row_id'], known, directory, 0))))
  }
}

/** Returns the records whose groups are in this table; undefined for the table of the records themselves. */
function findParentTable(
  table: string,
  read: readonly { stream: RecordStream; tables: RecordTables }[],
  target: string,
): SourceFeed['partOf'] {
  const above = read.filter(({ tables: { root } }) => table.startsWith(`${root.name}__`))
  const own = above.toSorted((one, other) => other.tables.root.name.length - one.tables.root.name.length)[0]
  if (!own || read.some(({ tables: { root } }) => root.name === table)) return undefined
  const { root } = own.tables
  // Column names depend on all paths that were seen. A key whose name collides with that of another path ends in a hash.
  const paths = root.rows > 0 ? [...root.seen.keys()] : [...new Set([...root.key, ...root.known.keys()])]
  const names = columnNames(paths)
  const keys = root.key.map((path) => names[paths.indexOf(path)]!)
  return { table: root.name === target ? '' : root.name, keys, column: '_root_row_id' }
}

function explainFullRead(system: HttpSystem, { settings, cursor, reset }: SourceReading): string {
  if (!system.increments?.(settings))
    return 'The source cannot tell what is new of this: all of it is read, and takes the place of the old rows.'
  if (reset)
    return reset.from !== undefined && system.cursorAt
      ? 'All of it is read this time: the cursor was reset, and no earlier reading with these settings can be gone on from.'
      : 'All of it is read this time: the cursor was reset.'
  if ((cursor as { version?: unknown } | null | undefined)?.version === 1)
    return 'All of it is read once after the upgrade: increments of earlier versions kept values that the source had cleared.'
  return cursor === undefined
    ? 'All of it is read this time: nothing was kept of an earlier reading.'
    : 'All of it is read this time: the pipeline has other settings than at the last reading.'
}

const describeSkippedGroups = (target: string, groups: readonly { table: TableSpool }[]): string =>
  `Groups that repeat become tables of their own when this is loaded, and are not shown: ${groups
    .map(({ table }) => table.name.replace(target, '…'))
    .join(', ')}.`

const isGroupTable = (name: string, tables: readonly string[]): boolean =>
  tables.some((table) => name.startsWith(`${table}__`))

async function* withCursor(
  feeds: AsyncIterable<SourceFeed>,
  kept: IncrementState,
): AsyncGenerator<SourceFeed, void, void> {
  for await (const feed of feeds) yield { ...feed, cursor: () => kept }
}

/** Reads all pages of a stream and returns the cursor of the next read. */
async function readStream(
  stream: RecordStream,
  tables: RecordTables,
  from: unknown,
  {
    system,
    asking: { signal },
    told,
    most,
  }: Pick<SystemReading, 'system' | 'asking' | 'told'> & { most?: number | undefined },
): Promise<unknown> {
  let cursor = from
  let held = false
  let repeated = 0
  let turned = performance.now()
  const ends = detectEndlessPaging(system.name)
  for await (const page of stream.pages(from)) {
    signal.throwIfAborted()
    let brought = false
    for (const record of page.records) {
      if (performance.now() - turned > maxBlockingMs) {
        await setImmediate()
        turned = performance.now()
      }
      const fits = told.tryRecord(tables.records + 1, record, () => tables.add(record))
      // Either of the two versions can be the newer one, so the next increment must start before them.
      if (fits === 'SAME' || fits === 'OTHER') held = true
      else brought = true
      if (fits === 'SAME') repeated += 1
      if (fits === 'OTHER') told.rejectRecord(tables.records, record, describeDuplicateKey(tables.shape))
    }
    told.records(tables.records)
    ends(brought)
    if (page.cursor !== undefined && !held) cursor = page.cursor
    if (most !== undefined && tables.root.rows > most) break
  }
  tables.flush()
  // A list that shifts during the read returns the same record twice.
  if (repeated > 0)
    told.log('INFO', 'LOW', `${formatCount(repeated, 'record')} of ${tables.shape.table} came more than once.`)
  return cursor
}

const describeDuplicateKey = ({ table, key }: RecordTables['shape']): string =>
  `has the same key (${key.join(', ')}) as an earlier record of ${table}: only the first was loaded`

function parseIncrementState(cursor: unknown): IncrementState | undefined {
  const kept = cursor as IncrementState | null | undefined
  return kept?.version === 2 && typeof kept.settingsHash === 'string' && typeof kept.at === 'object' ? kept : undefined
}

const hashSettings = (settings: unknown): string => hash('sha256', JSON.stringify(settings)).slice(0, 32)

const columns = [
  { path: 'table_name', dataType: 'TEXT' as const },
  { path: 'content', dataType: 'TEXT' as const },
  { path: 'rows_read', dataType: 'BIGINT' as const },
]

/**
 * Creates the pipeline's own table for a pipeline with several streams: it lists their tables, and the number of rows of the
 * last read for each.
 */
function createContentsTable(
  target: string,
  tables: readonly { stream: { name: string }; table: TableSpool }[],
  directory: string,
): TableSpool {
  const contents = new TableSpool(target, ['table_name'], columns, directory, 10_000_000)
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
