import { closeSync } from 'node:fs'
import { csvSource } from '@sluice/file-formats/csv/csv-source'
import { findRememberedDialect } from '@sluice/file-formats/csv/remembered'
import type { ColumnOptions, RememberedDialect } from '@sluice/file-formats/delimited'
import type { NormalisedFile } from '@sluice/file-formats/format/normalised-file'
import { defaultUploadLimits } from '@sluice/file-formats/spool/limits'
import { readRejects } from '@sluice/file-formats/spool/rejects'
import { openSpool } from '@sluice/file-formats/spool/spool-file'
import { normaliseInThread } from '@sluice/file-formats/upload/normalise-in-thread'
import {
  columnsBefore,
  describeColumns,
  emptyRowStream,
  type Column,
  formatCount,
  type RememberedFeed,
  type RowStream,
  SourceProblem,
  type StoredType,
  TypesWidened,
} from '@sluice/row-stream'
import type { ReadReporter } from './read-reporter.ts'
import type { TableSpool } from './record-tables.ts'
import { columnNames } from './table-names.ts'

export interface TableStreamOptions {
  table: TableSpool
  /** The table name in the stream: empty for the pipeline's own table. */
  streamName: string
  inferStrings: boolean
  directory: string
  reporter: ReadReporter
  signal: AbortSignal
  remembered?: RememberedFeed | undefined
}

/**
 * Returns the rows of a spool as a stream. As for every JSON file, the rows are converted to delimited text, and the types are
 * inferred from all values. Types that the system declares take precedence.
 */
export async function* openTableStream(options: TableStreamOptions): AsyncGenerator<RowStream, void, void> {
  const { table, streamName, directory, reporter, signal, remembered } = options
  if (table.rows === 0) return yield createEmptyStream(options)
  const name = `${table.name}.ndjson`
  const [spool, rejects] = [openSpool(directory), openSpool(directory)]
  try {
    const job = { name, source: table.descriptor, size: table.size, spool, rejects, directory, options: {} }
    const normalised = await normaliseInThread({ ...job, limits: defaultUploadLimits }, signal, reporter.alive)
    const report = reporter.forTable()
    if (normalised.rejected > 0)
      for await (const rows of readRejects(rejects)) for (const row of rows) report.reject(row)
    const rememberedDialect = rememberedColumns(table, remembered)
    const columns = columnOptions(options, normalised)
    const dialect = { ...normalised.dialect, columns, ...(rememberedDialect && { remembered: rememberedDialect }) }
    const renameColumns = createColumnRenamer(table)
    for await (const feed of csvSource.read({ ...dialect, path: spool, fileName: name }, report, signal)) {
      const renamed = renameColumns(feed.columns)
      reporter.log(
        'INFO',
        'LOW',
        `Read ${table.name}, ${formatCount(renamed.length, 'column')}: ${describeColumns(renamed)}`,
      )
      yield { table: streamName, columns: renamed, sparse: true, content: renameContent(feed, renamed, renameColumns) }
    }
  } finally {
    closeSync(spool)
    closeSync(rejects)
  }
}

function columnOptions({ table, inferStrings }: TableStreamOptions, { dialect }: NormalisedFile): ColumnOptions[] {
  const types = new Map<string, ColumnOptions>()
  for (const { label, dataType } of dialect?.columns ?? [])
    if (!(inferStrings && dataType === 'TEXT' && table.isText(label)))
      types.set(label, { label, dataType, declared: true })
  for (const { path: label, dataType } of table.known.values())
    if (dataType && table.seen.has(label)) types.set(label, { label, dataType, declared: true })
  return [...types.values()]
}

/** The decisions of the last load, by the paths of the columns. */
function rememberedColumns(table: TableSpool, feed: RememberedFeed | undefined): RememberedDialect | undefined {
  if (!feed) return undefined
  const paths = [...table.seen.keys()]
  const pathsByName = new Map(columnNames(paths).map((name, index) => [name, paths[index]!]))
  const columns = feed.columns.flatMap((column) => {
    const label = pathsByName.get(column.name)
    return label === undefined ? [] : [{ ...column, label }]
  })
  return findRememberedDialect({ columns })
}

type ColumnRenamer = (columns: readonly Column[]) => Column[]

/** Adds the warehouse name, label and key flag to columns, because the spool only has paths. */
function createColumnRenamer(table: TableSpool): ColumnRenamer {
  const paths = [...table.seen.keys()]
  const names = columnNames(paths)
  const namesByPath = new Map(paths.map((path, index) => [path, names[index]!]))
  return (columns) =>
    columns.map((column) => ({
      ...column,
      name: namesByPath.get(column.label) ?? column.name,
      label: table.known.get(column.label)?.label ?? column.label,
      ...(table.key.includes(column.label) && { primaryKey: true }),
    }))
}

function renameContent(
  { content }: RowStream,
  columns: readonly Column[],
  renameColumns: ColumnRenamer,
): RowStream['content'] {
  const { profile, facts } = content
  const rename = <T>(items: readonly T[]) => items.map((item, index) => ({ ...item, column: columns[index]!.name }))
  return {
    ...content,
    async *rows(types: readonly StoredType[]) {
      try {
        yield* content.rows(types)
      } catch (error) {
        throw error instanceof TypesWidened ? new TypesWidened(renameColumns(error.columns)) : error
      }
    },
    ...(facts && { facts: () => rename(facts()) }),
    ...(profile && { profile: () => rename(profile()) }),
  }
}

/** Creates the table before it has rows, so that increments can be merged into it. */
function createEmptyStream({ table, streamName, reporter, remembered }: TableStreamOptions): RowStream {
  const paths = [...new Set([...table.key, ...table.known.keys()])]
  const earlierColumns = columnsBefore(remembered)
  // If all records were rejected, the table must not be emptied: the source has records.
  const isKnown = paths.length > 0 || (earlierColumns.length > 0 && reporter.rejected === 0)
  if (!isKnown) throw emptySourceProblem(table.name, reporter.rejected)
  const names = columnNames(paths)
  const columns = paths.map((path, index): Column => {
    const { label = path, dataType } = table.known.get(path) ?? {}
    return {
      name: names[index]!,
      label,
      ...(dataType ? { dataType } : { dataType: 'TEXT', evidence: 'NOTHING' }),
      ...(table.key.includes(path) && { primaryKey: true }),
    }
  })
  return emptyRowStream(streamName, [...columns, ...earlierColumns.filter(({ name }) => !names.includes(name))])
}

const emptySourceProblem = (table: string, rejected: number): SourceProblem =>
  new SourceProblem(
    'EMPTY_SOURCE',
    rejected > 0
      ? `All records for ${table} were rejected, for the reasons in the rejected rows. The old data stays; correct the records at the source, and run again.`
      : `The source has no records for ${table}, and does not describe its columns. The old data stays; run again when there are records.`,
  )
