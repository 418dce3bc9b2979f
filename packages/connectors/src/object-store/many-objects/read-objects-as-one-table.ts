import {
  formatCount,
  type ColumnFacts,
  type RowStream,
  type Column,
  type ReadReporter,
  type SourceProblem,
  type StoredType,
  type TupleChunk,
  TypesWidened,
} from '@sluice/row-stream'
import { splitProgress } from '@sluice/file-formats/upload/two-step-progress'
import { createCombinedTable, describeDifferences, uniteColumns } from './combined-table.ts'
import type { StoredObject } from '../object-store.ts'
import { type ObjectBatch, ObjectBatches } from './object-batches.ts'
import { isEmptyListProblem, type ObjectReadContext } from '../read-object.ts'

/** The maximum number of batches for which reads are logged. For further batches, only warnings are logged. */
const maxLoggedBatches = 10

export interface CombinedRead {
  objects: readonly StoredObject[]
  /** Columns of objects that earlier loads read. The table has these columns too. */
  previousColumns?: readonly Column[]
  hasPrimaryKey: boolean
  /** Receives the row count of each object, by key. */
  rowCounts: Map<string, number>
  /**
   * Called after all rows are counted. Returns further objects to read. Their columns must be among `previousColumns`.
   */
  findFurtherObjects?(): readonly StoredObject[]
}

/**
 * Reads several objects as one table. It has the union of their columns, types that fit all of them, and columns that
 * identify the object of each row. Downloads and examines all objects before it returns the first row, because the
 * table's columns must be known first. Throws `SourceProblem`, or the signal's reason after an abort.
 */
export async function* readObjectsAsOneTable(
  context: ObjectReadContext,
  { objects, previousColumns = [], hasPrimaryKey, rowCounts, findFurtherObjects = () => [] }: CombinedRead,
  report: ReadReporter,
  signal: AbortSignal,
): AsyncGenerator<RowStream, void, void> {
  const totalBytes = sumSizes(objects)
  const { reportFirstHalf: reportDownload, createSecondReporter } = splitProgress(report)
  const log: ReadReporter['log'] = (...line) => report.log(...line)
  using stack = new DisposableStack()
  const columnsByBatch = new Map<ObjectBatch, readonly Column[]>()
  let emptyListProblem: SourceProblem | undefined

  /** Determines the columns of a batch. An empty JSON list has none. */
  async function examine(batch: ObjectBatch): Promise<void> {
    try {
      columnsByBatch.set(batch, await batch.examine(() => report.progress({}), signal))
    } catch (error) {
      if (!isEmptyListProblem(error)) throw error
      emptyListProblem ??= error
      columnsByBatch.set(batch, [])
    }
  }

  async function openBatches(
    objectsToOpen: readonly StoredObject[],
    onProgress: (bytes: number) => void,
  ): Promise<ObjectBatches> {
    const batchReport = { ...report, log, progress: () => report.progress({}) }
    return stack.use(await ObjectBatches.open(context, objectsToOpen, batchReport, onProgress, signal))
  }

  /** Returns the union of the columns of all batches that are examined until now. */
  function uniteAllColumns(): readonly Column[] {
    let unionColumns = previousColumns
    for (const batchColumns of columnsByBatch.values()) unionColumns = uniteColumns(unionColumns, batchColumns)
    return unionColumns.length > 0 ? unionColumns : context.previousColumns
  }

  const { batches } = await openBatches(objects, (bytes) => reportDownload(Math.min(bytes, totalBytes), totalBytes))
  for (const batch of batches) await examine(batch)
  reportDownload(totalBytes, totalBytes)
  const unionColumns = uniteAllColumns()
  if (emptyListProblem && unionColumns.length === 0) throw emptyListProblem
  const differences = describeDifferences(listColumnsOfObjects(columnsByBatch), unionColumns)
  if (differences) report.log('WARN', 'MEDIUM', differences)
  const columns = createCombinedTable(unionColumns, { hasPrimaryKey })
  const progress = createSecondReporter(totalBytes)

  let furtherBatches: ObjectBatches | undefined
  let hasStarted = false
  const factsByColumn = new Map<string, ColumnFacts[]>()
  async function* rows(types: readonly StoredType[]): AsyncGenerator<TupleChunk, void, void> {
    if (hasStarted) await report.startOver()
    hasStarted = true
    factsByColumn.clear()
    const totalsRead = { bytes: 0, rows: 0 }
    async function* readBatches(batchesToRead: readonly ObjectBatch[]): AsyncGenerator<TupleChunk, void, void> {
      for (const [index, batch] of batchesToRead.entries()) {
        if (!columnsByBatch.has(batch)) await examine(batch)
        const sourceColumns = columnsByBatch.get(batch)!
        for (const { key } of batch.objects) rowCounts.set(key, 0)
        if (sourceColumns.length === 0) continue
        const size = sumSizes(batch.objects)
        const batchReporter = createBatchReporter({ index, size }, totalsRead, report, progress)
        try {
          const { facts, writtenRowCounts } = yield* batch.rows(
            { columns, types, sourceColumns },
            batchReporter,
            signal,
          )
          for (const fact of facts) factsByColumn.set(fact.column, [...(factsByColumn.get(fact.column) ?? []), fact])
          for (const [position, { key }] of batch.objects.entries()) rowCounts.set(key, writtenRowCounts[position]!)
        } catch (error) {
          if (!(error instanceof TypesWidened)) throw error
          columnsByBatch.set(batch, error.columns)
          throw new TypesWidened(createCombinedTable(uniteAllColumns(), { hasPrimaryKey }))
        }
        totalsRead.bytes += size
        totalsRead.rows = batchReporter.countRows()
      }
    }
    yield* readBatches(batches)
    furtherBatches ??= await openBatches(findFurtherObjects(), () => report.progress({}))
    yield* readBatches(furtherBatches.batches)
    progress({ bytesRead: totalBytes, bytesTotal: totalBytes, rowsRead: totalsRead.rows })
  }
  const facts = () => [...factsByColumn].map(([column, factsOfBatches]) => mergeFacts(column, factsOfBatches))
  const content = { format: 'copy-binary' as const, rows, size: totalBytes, facts }
  const unreadWarnings = batches.flatMap((batch) => batch.unread)
  yield {
    table: '',
    columns,
    ...(unreadWarnings.length > 0 && { unread: describeUnreadParts(unreadWarnings) }),
    content,
  }
}

const sumSizes = (objects: readonly StoredObject[]): number => objects.reduce((sum, { size }) => sum + size, 0)

/** Returns the columns of each object. Leaves out objects without columns, which are empty JSON lists. */
function listColumnsOfObjects(columnsByBatch: ReadonlyMap<ObjectBatch, readonly Column[]>): (readonly Column[])[] {
  return [...columnsByBatch].flatMap(([{ objects }, columns]) =>
    columns.length === 0 ? [] : objects.map(() => columns),
  )
}

/** The maximum number of objects that the message about unread parts names. */
const maxUnread = 3

/** Returns the first warnings, and the number of further objects with parts that were not read. */
function describeUnreadParts(warnings: readonly string[]): string {
  const furtherCount = warnings.length - maxUnread
  const sentences = warnings.slice(0, maxUnread)
  if (furtherCount > 0) {
    const verb = furtherCount === 1 ? 'has' : 'have'
    sentences.push(`${formatCount(furtherCount, 'more object')} ${verb} parts that were not read.`)
  }
  return sentences.join(' ')
}

/**
 * Merges the statistics of a column in several objects. Objects without values in the column do not count, unless no
 * object has values. Evidence and source format are kept only if they are the same in all counted objects.
 */
function mergeFacts(column: string, facts: readonly ColumnFacts[]): ColumnFacts {
  const factsWithValues = facts.filter(({ evidence }) => evidence !== 'NOTHING')
  const [first, ...otherFacts] = factsWithValues.length > 0 ? factsWithValues : facts
  const isSameInAll = (key: 'evidence' | 'sourceFormat') => otherFacts.every((fact) => fact[key] === first?.[key])
  return {
    column,
    ...(first?.evidence && isSameInAll('evidence') && { evidence: first.evidence }),
    ...(first?.sourceFormat !== undefined && isSameInAll('sourceFormat') && { sourceFormat: first.sourceFormat }),
  }
}

/**
 * Returns a reporter for one batch. It adds the totals of the batches before (`totalsBefore`) to the progress. Its
 * method `countRows` returns the number of rows of all batches until now. `size` is the number of bytes of the batch.
 */
function createBatchReporter(
  { index, size }: { index: number; size: number },
  totalsBefore: { bytes: number; rows: number },
  report: ReadReporter,
  reportProgress: ReadReporter['progress'],
): ReadReporter & { countRows(): number } {
  let totalRows = totalsBefore.rows
  return {
    progress({ bytesRead, rowsRead }) {
      if (rowsRead !== undefined) totalRows = totalsBefore.rows + rowsRead
      const totalBytes = bytesRead === undefined ? {} : { bytesRead: totalsBefore.bytes + Math.min(bytesRead, size) }
      reportProgress({ ...totalBytes, rowsRead: totalRows })
    },
    reject: (row) => report.reject(row),
    rejectMore: (count) => report.rejectMore(count),
    hint: (sentence, advice) => report.hint?.(sentence, advice),
    // Does nothing, because the consumer restarts the read of all objects together.
    async startOver() {},
    log(level, importance, message) {
      const isWarning = level === 'WARN' || level === 'ERROR'
      if (index < maxLoggedBatches || isWarning) report.log(level, importance, message)
    },
    countRows: () => totalRows,
  }
}
