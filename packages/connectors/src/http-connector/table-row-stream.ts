import { closeSync } from 'node:fs'
import type { ColumnOptions, RememberedDialect } from '@sluice/file-formats/delimited'
import { formatCount, describeColumns, columnsBefore, emptyFeed, type SourceFeed, type FeedColumn, SourceProblem, type StoredType, TypesWidened, type RememberedFeed } from '@sluice/row-stream'
import { csvSource } from '@sluice/file-formats/csv/csv-source'
import { rememberedFile } from '@sluice/file-formats/csv/remembered'
import { defaultUploadLimits } from '@sluice/file-formats/spool/limits'
import { normaliseInThread } from '@sluice/file-formats/upload/normalise-in-thread'
import type { NormalisedFile } from '@sluice/file-formats/format/normalised-file'
import { readRejects } from '@sluice/file-formats/spool/rejects'
import { openSpool } from '@sluice/file-formats/spool/spool-file'
import type { ReadingLog } from './read-reporter.ts'
import { columnNames } from './table-names.ts'
import type { TableSpool } from './record-tables.ts'

export interface TableFeedOptions {
  table: TableSpool
  /** The table name in the feed: empty for the pipeline's own table. */
  as: string
  textsMayBeAnything: boolean
  directory: string
  told: ReadingLog
  signal: AbortSignal
  remembered?: RememberedFeed | undefined
}

/**
 * Returns the rows of a spool as a feed. As for every JSON file, the rows are converted to delimited text, and the types are
 * inferred from all values. Types that the system declares take precedence.
 */
export async function* tableFeed(given: TableFeedOptions): AsyncGenerator<SourceFeed, void, void> {
  const { table, as, directory, told, signal, remembered } = given
  if (table.rows === 0) return yield createEmptyFeed(given)
  const name = `${table.name}.ndjson`
  const [spool, rejects] = [openSpool(directory), openSpool(directory)]
  try {
    const job = { name, source: table.descriptor, size: table.size, spool, rejects, directory, options: {} }
    const normalised = await normaliseInThread({ ...job, limits: defaultUploadLimits }, signal, () => told.alive())
    const report = told.forTable()
    if (normalised.rejected > 0)
      for await (const rows of readRejects(rejects)) for (const row of rows) report.reject(row)
    const known = rememberedRows(table, remembered)
    const columns = columnOptions(given, normalised)
    const dialect = { ...normalised.dialect, columns, ...(known && { remembered: known }) }
    for await (const feed of csvSource.read({ ...dialect, path: spool, fileName: name }, report, signal)) {
      const named = createColumnRenamer(table)
      const fed = named(feed.columns)
      told.log('INFO', 'LOW', `Read ${table.name}, ${formatCount(fed.length, 'column')}: ${describeColumns(fed)}`)
      yield { table: as, columns: fed, sparse: true, content: contentOf(feed, fed, named) }
    }
  } finally {
    closeSync(spool)
    closeSync(rejects)
  }
}

function columnOptions({ table, textsMayBeAnything }: TableFeedOptions, { dialect }: NormalisedFile): ColumnOptions[] {
  const types = new Map<string, ColumnOptions>()
  for (const { label, dataType } of dialect?.columns ?? [])
    if (!(textsMayBeAnything && dataType === 'TEXT' && table.isText(label)))
      types.set(label, { label, dataType, declared: true })
  for (const { path: label, dataType } of table.known.values())
    if (dataType && table.seen.has(label)) types.set(label, { label, dataType, declared: true })
  return [...types.values()]
}

/** The decisions of the last load, by the paths of the columns. */
function rememberedRows(table: TableSpool, feed: RememberedFeed | undefined): RememberedDialect | undefined {
  if (!feed) return undefined
  const paths = [...table.seen.keys()]
  const names = columnNames(paths)
  const pathOf = new Map(names.map((name, index) => [name, paths[index]!]))
  const columns = feed.columns.flatMap((column) => {
    const label = pathOf.get(column.name)
    return label === undefined ? [] : [{ ...column, label }]
  })
  return rememberedFile({ columns })
}

type ColumnRenamer = (columns: readonly FeedColumn[]) => FeedColumn[]

/** Adds the warehouse name, label and key flag to columns, because the spool only has paths. */
function createColumnRenamer(table: TableSpool): ColumnRenamer {
  const paths = [...table.seen.keys()]
  const names = columnNames(paths)
  const nameOf = new Map(paths.map((path, index) => [path, names[index]!]))
  return (columns) =>
    columns.map((column) => ({
      ...column,
      name: nameOf.get(column.label) ?? column.name,
      label: table.known.get(column.label)?.label ?? column.label,
      ...(table.key.includes(column.label) && { primaryKey: true }),
    }))
}

function contentOf(
  { content }: SourceFeed,
  columns: readonly FeedColumn[],
  named: ColumnRenamer,
): SourceFeed['content'] {
  const { profile, facts } = content
  return {
    ...content,
    async *rows(types: readonly StoredType[]) {
      try {
        yield* content.rows(types)
      } catch (error) {
        throw error instanceof TypesWidened ? new TypesWidened(named(error.columns)) : error
      }
    },
    ...(facts && { facts: () => facts().map((one, index) => ({ ...one, column: columns[index]!.name })) }),
    ...(profile && { profile: () => profile().map((one, index) => ({ ...one, column: columns[index]!.name })) }),
  }
}

/** Creates the table before it has rows, so that increments can be merged into it. */
function createEmptyFeed({ table, as, told, remembered }: TableFeedOptions): SourceFeed {
  const paths = [...new Set([...table.key, ...table.known.keys()])]
  const before = columnsBefore(remembered)
  // If all records were rejected, the table must not be emptied: the source has records.
  const isKnown = paths.length > 0 || (before.length > 0 && told.rejected === 0)
  if (!isKnown) throw emptySourceProblem(table.name, told.rejected)
  const names = columnNames(paths)
  const columns = paths.map((path, index): FeedColumn => {
    const { label = path, dataType } = table.known.get(path) ?? {}
    return {
      name: names[index]!,
      label,
      ...(dataType ? { dataType } : { dataType: 'TEXT', evidence: 'NOTHING' }),
      ...(table.key.includes(path) && { primaryKey: true }),
    }
  })
  return emptyFeed(as, [...columns, ...before.filter(({ name }) => !names.includes(name))])
}

const emptySourceProblem = (table: string, rejected: number): SourceProblem =>
  new SourceProblem(
    'EMPTY_SOURCE',
    rejected > 0
      ? `No record for ${table} became a row: the rejected rows say why. The old data stays; mend them at the source, and run again.`
      : `There is no record for ${table}, and nothing says which columns it would have. The old data stays; run again once there are some.`,
  )
