import { closeSync } from 'node:fs'
import { csvSource } from '@sluice/file-formats/csv/csv-source'
import { findPreviousDialect } from '@sluice/file-formats/csv/find-previous-dialect'
import type { ColumnOptions, PreviousDialect } from '@sluice/file-formats/delimited'
import type { ConvertedFile } from '@sluice/file-formats/format/conversion-job'
import { defaultUploadLimits } from '@sluice/file-formats/spool/upload-limits'
import { readRejects } from '@sluice/file-formats/spool/rejected-rows-file'
import { openSpool } from '@sluice/file-formats/spool/spool-file'
import { convertInThread } from '@sluice/file-formats/upload/convert-upload-in-thread'
import {
  columnsOfPreviousLoad,
  describeColumns,
  emptyRowStream,
  type Column,
  type ColumnFacts,
  formatCount,
  type PreviousSourceColumns,
  type RowStream,
  SourceProblem,
  type StoredType,
  TypesWidened,
} from '@sluice/row-stream'
import type { TablesReporter } from './tables-reporter.ts'
import { isTextColumn, type SpooledTable } from './records/table-spool.ts'
import { createColumnNames } from '../table-and-column-names.ts'

export interface TableStreamOptions {
  table: SpooledTable
  /** The table name in the stream, which is empty for the pipeline's own table. */
  streamName: string
  inferStrings: boolean
  directory: string
  reporter: TablesReporter
  signal: AbortSignal
  previousShape?: PreviousSourceColumns | undefined
}

/**
 * Yields the rows on disk as a row stream. Converts them to delimited text and infers types from all values, as for an
 * uploaded JSON file. Declared types take precedence. Without rows, yields a stream that only creates the table.
 */
export async function* openTableStream(options: TableStreamOptions): AsyncGenerator<RowStream, void, void> {
  const { table, streamName, directory, reporter, signal } = options
  if (table.rowCount === 0) return yield createEmptyStream(options)
  const textFile = openSpool(directory)
  const rejectsFile = openSpool(directory)
  try {
    const convertedFile = await convertToDelimitedText(options, textFile, rejectsFile)
    const report = reporter.createTableReporter()
    if (convertedFile.rejected > 0)
      for await (const rows of readRejects(rejectsFile)) for (const row of rows) report.reject(row)
    const file = { ...createDialect(options, convertedFile), path: textFile, fileName: getFileName(table) }
    const renameColumns = createColumnRenamer(table)
    for await (const rowStream of csvSource.read({ ...file, isRewritten: true }, report, signal)) {
      const columns = renameColumns(rowStream.columns)
      reporter.log(
        'INFO',
        'LOW',
        `Read ${table.name}, ${formatCount(columns.length, 'column')}: ${describeColumns(columns)}`,
      )
      const content = renameContent(rowStream, columns, renameColumns)
      yield { table: streamName, columns, sparse: true, content }
    }
  } finally {
    closeSync(textFile)
    closeSync(rejectsFile)
  }
}

/** The file name that messages contain. */
const getFileName = (table: SpooledTable): string => `${table.name}.ndjson`

/** Converts the rows of a table to delimited text in `textFile`. Writes rejected rows to `rejectsFile`. */
const convertToDelimitedText = (
  { table, directory, signal, reporter }: TableStreamOptions,
  textFile: number,
  rejectsFile: number,
): Promise<ConvertedFile> =>
  convertInThread(
    {
      name: getFileName(table),
      source: table.file!.fd,
      size: table.size,
      spool: textFile,
      rejects: rejectsFile,
      directory,
      options: {},
      limits: defaultUploadLimits,
    },
    signal,
    reporter.reportActivity,
  )

/** Returns how to read the converted file, with the declared columns and the columns of the previous load. */
function createDialect(options: TableStreamOptions, convertedFile: ConvertedFile) {
  const columns = createColumnOptions(options, convertedFile)
  const previousDialect = findTableDialect(options.table, options.previousShape)
  return { ...convertedFile.dialect, columns, ...(previousDialect && { previousDialect }) }
}

/**
 * Returns the columns that have a declared type: in the converted file or by the system, which takes precedence. The
 * types of all other columns are inferred. With `inferStrings`, this includes columns that contain only texts. A label
 * is the path of the column in the record.
 */
function createColumnOptions({ table, inferStrings }: TableStreamOptions, { dialect }: ConvertedFile): ColumnOptions[] {
  const optionsByLabel = new Map<string, ColumnOptions>()
  for (const { index: _index, ...column } of dialect?.columns ?? []) {
    const isInferred = inferStrings && column.dataType === 'TEXT' && isTextColumn(table, column.label)
    if (!isInferred) optionsByLabel.set(column.label, { ...column, declared: true })
  }
  for (const { path: label, dataType } of table.declaredColumns.values())
    if (dataType && table.valueKinds.has(label)) optionsByLabel.set(label, { label, dataType, declared: true })
  return [...optionsByLabel.values()]
}

/**
 * Returns the column types of the previous load. The label of a column is its path in the records, which replaces its
 * name in the warehouse. Returns undefined for the first load.
 */
function findTableDialect(
  table: SpooledTable,
  previousShape: PreviousSourceColumns | undefined,
): PreviousDialect | undefined {
  if (!previousShape) return undefined
  const paths = [...table.valueKinds.keys()]
  const pathsByName = new Map(createColumnNames(paths).map((name, index) => [name, paths[index]!]))
  const columns = previousShape.columns.flatMap((column) => {
    const path = pathsByName.get(column.name)
    return path === undefined ? [] : [{ ...column, label: path }]
  })
  return findPreviousDialect({ columns })
}

type ColumnRenamer = (columns: readonly Column[]) => Column[]

/**
 * Returns a function that adds the warehouse name, label and key flag to columns, which only have paths in the spool.
 */
function createColumnRenamer(table: SpooledTable): ColumnRenamer {
  const paths = [...table.valueKinds.keys()]
  const names = createColumnNames(paths)
  const namesByPath = new Map(paths.map((path, index) => [path, names[index]!]))
  return (columns) =>
    columns.map((column) => ({
      ...column,
      name: namesByPath.get(column.label) ?? column.name,
      label: table.declaredColumns.get(column.label)?.label ?? column.label,
      ...(table.key.includes(column.label) && { primaryKey: true }),
    }))
}

/**
 * Returns the content with the renamed columns in its facts about columns (statistics of the values), and in the error
 * `TypesWidened`, which contains the columns for another read.
 */
function renameContent(
  { content }: RowStream,
  columns: readonly Column[],
  renameColumns: ColumnRenamer,
): RowStream['content'] {
  const { facts } = content
  const renameFacts = (items: readonly ColumnFacts[]) =>
    items.map((item, index) => ({ ...item, column: columns[index]!.name }))
  return {
    ...content,
    async *rows(types: readonly StoredType[]) {
      try {
        yield* content.rows(types)
      } catch (error) {
        throw error instanceof TypesWidened ? new TypesWidened(renameColumns(error.columns)) : error
      }
    },
    ...(facts && { facts: () => renameFacts(facts()) }),
  }
}

/**
 * Returns a stream without rows that creates the table, so that later increments can be merged into it. Its columns are
 * those that the system declares and those of the previous load. Throws `SourceProblem` if no columns are known.
 */
function createEmptyStream({ table, streamName, reporter, previousShape }: TableStreamOptions): RowStream {
  const paths = [...new Set([...table.key, ...table.declaredColumns.keys()])]
  const previousColumns = columnsOfPreviousLoad(previousShape)
  // If all records were rejected, the load fails instead of emptying the table, because the source does have records.
  const canUsePreviousColumns = previousColumns.length > 0 && reporter.rejectedCount === 0
  if (paths.length === 0 && !canUsePreviousColumns) throw createEmptySourceProblem(table.name, reporter.rejectedCount)
  const names = createColumnNames(paths)
  const columns = paths.map((path, index): Column => {
    const { label = path, dataType } = table.declaredColumns.get(path) ?? {}
    return {
      name: names[index]!,
      label,
      // The column has no values yet, so a later load can still infer another type than TEXT.
      ...(dataType ? { dataType } : { dataType: 'TEXT', evidence: 'NOTHING' }),
      ...(table.key.includes(path) && { primaryKey: true }),
    }
  })
  const otherPreviousColumns = previousColumns.filter(({ name }) => !names.includes(name))
  return emptyRowStream(streamName, [...columns, ...otherPreviousColumns])
}

const createEmptySourceProblem = (table: string, rejectedCount: number): SourceProblem =>
  new SourceProblem(
    'EMPTY_SOURCE',
    rejectedCount > 0
      ? `All records for ${table} were rejected; the list of rejected rows contains the reasons. The old data stays: correct the records in the source, then run again.`
      : `The source has no records for ${table} and does not declare its columns. The old data stays: run again when there are records.`,
  )
