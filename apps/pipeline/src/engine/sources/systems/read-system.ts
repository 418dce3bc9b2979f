import { hash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { Reading } from '../reading.ts'
import { countOf } from '../count-of.ts'
import type { Feed } from '../source.ts'
import { defaultUploadLimits } from '../files/spool/limits.ts'
import { pagesThatEnd } from './pages-that-end.ts'
import type { Asking, Stream, System } from './system.ts'
import { contentsOf } from './tables/contents.ts'
import { columnNames, groupColumns, tableName } from './tables/names.ts'
import { tableFeed } from './tables/table-feed.ts'
import { TableSpool } from './tables/table-spool.ts'
import { RecordTables } from './tables/tables.ts'
import type { Told } from './tell-reading.ts'

/** What is kept with the rows for the next reading. */
interface Kept {
  version: 1
  /** What the settings were: with others, everything is read. */
  of: string
  /** By streams. */
  at: Record<string, unknown>
  /** Those that were filled. */
  tables: string[]
}

/** Milliseconds after which others get their turn on the event loop: few records may be much work. */
const atATime = 25

export interface SystemToRead {
  system: System
  asking: Asking
  reading: Reading
  /** Where spools are made. */
  directory: string
  told: Told
  /** So many records of the first stream are enough. */
  most?: number
}

/** Whether what an earlier reading left can be gone on from: these settings can tell what is new, and have not changed. */
export const goesOn = (system: System, { settings, cursor }: Reading): boolean =>
  system.increments?.(settings) === true && keptIn(cursor)?.of === fingerprint(settings)

/**
 * Reads all streams to disk, page by page, then gives their tables one after another. What is kept for the next reading is kept with
 * the first, which is the pipeline's own.
 */
export async function* readSystem(given: SystemToRead): AsyncGenerator<Feed, void, void> {
  const { system, asking, reading, directory, told, most } = given
  const target = reading.table ?? 'preview'
  const found = await system.streams(asking)
  const several = Array.isArray(found)
  const earlier = keptIn(reading.cursor)
  const asksForNew = reading.mode === 'INCREMENTAL'
  const from = asksForNew && goesOn(system, reading) ? earlier?.at : undefined
  if (asksForNew && !from) told.log('INFO', 'LOW', whyAll(system, reading))
  const at: Record<string, unknown> = { ...from }

  using stack = new DisposableStack()
  const read: { stream: Stream; tables: RecordTables }[] = []
  const streams = several ? found : [found]
  // Streams may be called by people: two names may come to the same.
  const names = columnNames(streams.map((stream) => stream.name))
  for (const [index, stream] of streams.entries()) {
    const table = several ? tableName(target, [names[index]!]) : target
    const tables = stack.use(new RecordTables({ ...stream, table }, directory, defaultUploadLimits.spoolBytes))
    at[stream.name] = await readStream(stream, tables, from?.[stream.name], { system, asking, told, most })
    read.push({ stream, tables })
    if (most !== undefined) break
  }

  const all = read.flatMap(({ stream, tables }) => tables.all.map((table) => ({ stream, table })))
  const tables = all.map(({ table }) => table.name)
  // In a full reading, groups of which there is nothing any more are emptied as well.
  const gone =
    from || most !== undefined
      ? []
      : (earlier?.tables ?? []).filter((name) => !tables.includes(name) && inGroup(name, tables))
  const filled = [...new Set([...tables, ...gone, ...((from && earlier?.tables) ?? [])])]
  const kept: Kept = { version: 1, of: fingerprint(reading.settings), at, tables: filled }
  const feed = (table: TableSpool, stream?: Stream) => ({
    table,
    as: table.name === target ? '' : table.name,
    textsMayBeAnything: stream?.textsMayBeAnything ?? false,
    directory,
    told,
    signal: asking.signal,
  })
  const groups = most === undefined ? [] : all.slice(1)
  if (groups.length > 0) told.log('INFO', 'LOW', groupsLeftOut(target, groups))
  if (several && most === undefined) {
    const contents = stack.use(contentsOf(target, all, directory))
    yield* withCursor(tableFeed(feed(contents)), kept)
  }
  for (const { table, stream } of all) {
    const feeds = tableFeed(feed(table, stream))
    yield* table.name === target ? withCursor(feeds, kept) : feeds
    table[Symbol.dispose]()
  }
  for (const name of gone) {
    const known = groupColumns.map((path) => ({
      path,
      dataType: path === '_index' ? ('INTEGER' as const) : ('TEXT' as const),
    }))
    yield* tableFeed(feed(stack.use(new TableSpool(name, ['_row_id'], known, directory, 0))))
  }
}

function whyAll(system: System, { settings, cursor }: Reading): string {
  if (!system.increments?.(settings))
    return 'The source cannot tell what is new of this: all of it is read, and takes the place of the old rows.'
  return cursor === undefined
    ? 'All of it is read this time: nothing was kept of an earlier reading.'
    : 'All of it is read this time: the pipeline has other settings than at the last reading.'
}

const groupsLeftOut = (target: string, groups: readonly { table: TableSpool }[]): string =>
  `Groups that repeat become tables of their own when this is loaded, and are not shown: ${groups
    .map(({ table }) => table.name.replace(target, '…'))
    .join(', ')}.`

const inGroup = (name: string, tables: readonly string[]): boolean =>
  tables.some((table) => name.startsWith(`${table}__`))

async function* withCursor(feeds: AsyncIterable<Feed>, kept: Kept): AsyncGenerator<Feed, void, void> {
  for await (const feed of feeds) yield { ...feed, cursor: () => kept }
}

/** All pages of a stream. Answers where the next reading begins. */
async function readStream(
  stream: Stream,
  tables: RecordTables,
  from: unknown,
  {
    system,
    asking: { signal },
    told,
    most,
  }: Pick<SystemToRead, 'system' | 'asking' | 'told'> & { most?: number | undefined },
): Promise<unknown> {
  let cursor = from
  let held = false
  let dropped = 0
  let turned = performance.now()
  const ends = pagesThatEnd(system.name)
  for await (const page of stream.pages(from)) {
    signal.throwIfAborted()
    let brought = false
    for (const record of page.records) {
      if (performance.now() - turned > atATime) {
        await setImmediate()
        turned = performance.now()
      }
      const fits = told.trying(tables.records + 1, record, () => tables.add(record))
      // The later of two may be the newer one: the next reading has to begin before it.
      if (fits === false) {
        held = true
        dropped += 1
      } else brought = true
    }
    told.records(tables.records)
    ends(brought)
    if (page.cursor !== undefined && !held) cursor = page.cursor
    if (most !== undefined && tables.root.rows > most) break
  }
  tables.flush()
  // A list that shifts while it is read gives the same record twice; a key that tells nothing apart loses records.
  if (dropped > 0) told.log('WARN', 'MEDIUM', twice(dropped, tables.shape))
  return cursor
}

const twice = (dropped: number, { table, key }: RecordTables['shape']): string =>
  `Left out ${countOf(dropped, 'record')} of ${table} whose key (${key.join(', ')}) an earlier one has: only the first is there.`

function keptIn(cursor: unknown): Kept | undefined {
  const kept = cursor as Kept | null | undefined
  return kept?.version === 1 && typeof kept.of === 'string' && typeof kept.at === 'object' ? kept : undefined
}

const fingerprint = (settings: unknown): string => hash('sha256', JSON.stringify(settings)).slice(0, 32)
