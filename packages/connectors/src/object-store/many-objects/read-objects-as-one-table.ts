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
import { splitProgress } from '@sluice/file-formats/upload/split-progress'
import { createCombinedTable, describeDifferences, uniteColumns } from './combined-table.ts'
import type { StoredObject } from '../object-store.ts'
import { type ObjectBatch, ObjectBatches } from './object-batches.ts'
import { isEmptyListProblem, type ObjectReading } from '../read-object.ts'

/** The maximum number of batches for which reads are logged. For further batches, only warnings are logged. */
const maxLoggedBatches = 10

export interface CombinedReading {
  objects: readonly StoredObject[]
  /** Columns of objects that earlier loads read. The table has these columns too. */
  columnsBefore?: readonly Column[]
  hasPrimaryKey: boolean
  /** Receives the row count of each object, by key. */
  rowCounts: Map<string, number>
  /** Called after all rows are counted. Returns further objects to read, with columns that `columnsBefore` must contain. */
  unreadObjects?(): readonly StoredObject[]
}

/**
 * Reads several objects as one table. It has the union of their columns, types that fit all of them, and columns that
 * identify the object of each row. Downloads and examines all objects before it returns the first row, because the
 * table's columns must be known first. Throws `SourceProblem`, or the signal's reason after an abort.
 */
export async function* readObjectsAsOneTable(
  reading: ObjectReading,
  { objects, columnsBefore = [], hasPrimaryKey, rowCounts, unreadObjects = () => [] }: CombinedReading,
  report: ReadReporter,
  signal: AbortSignal,
): AsyncGenerator<RowStream, void, void> {
  const totalBytes = objects.reduce((sum, { size }) => sum + size, 0)
  const { first, onSecondProgress } = splitProgress(report)
  const log: ReadReporter['log'] = (...line) => report.log(...line)
  using stack = new DisposableStack()
  const shapes = new Map<ObjectBatch, readonly Column[]>()
  let emptyListProblem: SourceProblem | undefined
  const examine = async (batch: ObjectBatch) => {
    const columns = await batch
      .examine(() => report.progress({}), signal)
      .catch((error: unknown) => {
        if (!isEmptyListProblem(error)) throw error
        emptyListProblem ??= error
        return []
      })
    shapes.set(batch, columns)
  }
  const openBatches = async (objectsToOpen: readonly StoredObject[], onProgress: (bytes: number) => void) =>
    stack.use(
      await ObjectBatches.open(
        reading,
        objectsToOpen,
        { ...report, log, progress: () => report.progress({}) },
        onProgress,
        signal,
      ),
    )
  const batches = await openBatches(objects, (bytes) => first(Math.min(bytes, totalBytes), totalBytes))
  for (const batch of batches.list) await examine(batch)
  first(totalBytes, totalBytes)
  const unite = () => {
    const united = [...shapes.values()].reduce((one, other) => uniteColumns(one, other), columnsBefore)
    return united.length > 0 ? united : reading.columnsBefore
  }
  if (emptyListProblem && unite().length === 0) throw emptyListProblem
  const differences = describeDifferences(
    [...shapes].flatMap(([{ objects: ofBatch }, columns]) => (columns.length > 0 ? ofBatch.map(() => columns) : [])),
    unite(),
  )
  if (differences) report.log('WARN', 'MEDIUM', differences)
  const columns = createCombinedTable(unite(), { hasPrimaryKey })
  const progress = onSecondProgress(totalBytes)

  let additionalBatches: ObjectBatches | undefined
  let hasStarted = false
  const factsByColumn = new Map<string, ColumnFacts[]>()
  async function* rows(types: readonly StoredType[]): AsyncGenerator<TupleChunk, void, void> {
    if (hasStarted) await report.startOver()
    hasStarted = true
    factsByColumn.clear()
    const totalsRead = { bytes: 0, rows: 0 }
    async function* readBatches(list: readonly ObjectBatch[]): AsyncGenerator<TupleChunk, void, void> {
      for (const [index, batch] of list.entries()) {
        if (!shapes.has(batch)) await examine(batch)
        const shape = shapes.get(batch)!
        for (const { key } of batch.objects) rowCounts.set(key, 0)
        if (shape.length === 0) continue
        const size = batch.objects.reduce((sum, object) => sum + object.size, 0)
        const reportOfBatch = createBatchReporter({ index, size }, totalsRead, report, progress)
        try {
          const { facts, writtenRowCounts } = yield* batch.rows({ columns, types, shape }, reportOfBatch, signal)
          for (const fact of facts) factsByColumn.set(fact.column, [...(factsByColumn.get(fact.column) ?? []), fact])
          for (const [at, { key }] of batch.objects.entries()) rowCounts.set(key, writtenRowCounts[at]!)
        } catch (error) {
          if (!(error instanceof TypesWidened)) throw error
          shapes.set(batch, error.columns)
          throw new TypesWidened(createCombinedTable(unite(), { hasPrimaryKey }))
        }
        totalsRead.bytes += size
        totalsRead.rows = reportOfBatch.rowsSoFar()
      }
    }
    yield* readBatches(batches.list)
    additionalBatches ??= await openBatches(unreadObjects(), () => report.progress({}))
    yield* readBatches(additionalBatches.list)
    progress({ bytesRead: totalBytes, bytesTotal: totalBytes, rowsRead: totalsRead.rows })
  }
  const mergedFacts = () => [...factsByColumn].map(([column, ofBatches]) => mergeFacts(column, ofBatches))
  const content = { format: 'copy-binary' as const, rows, size: totalBytes, facts: mergedFacts }
  const unreadWarnings = batches.list.flatMap((batch) => batch.unread)
  yield {
    table: '',
    columns,
    ...(unreadWarnings.length > 0 && { unread: describeAllUnreadParts(unreadWarnings) }),
    content,
  }
}

/** The maximum number of objects that the message about unread parts names. */
const maxUnread = 3

function describeAllUnreadParts(warnings: readonly string[]): string {
  const moreCount = warnings.length - maxUnread
  const moreText =
    moreCount > 0
      ? [`${formatCount(moreCount, 'more object')} ${moreCount === 1 ? 'has' : 'have'} parts that were not read.`]
      : []
  return [...warnings.slice(0, maxUnread), ...moreText].join(' ')
}

/**
 * Merges the facts of the objects. A column is undecided only if it is undecided in every object, and it has a printed
 * form only if it has the same one in every object with values.
 */
function mergeFacts(column: string, facts: readonly ColumnFacts[]): ColumnFacts {
  const decided = facts.filter(({ evidence }) => evidence !== 'NOTHING')
  const [first] = decided.length > 0 ? decided : facts
  const hasOne = (key: 'evidence' | 'sourceFormat') => decided.every((one) => one[key] === first?.[key])
  return {
    column,
    ...(first?.evidence && hasOne('evidence') && { evidence: first.evidence }),
    ...(first?.sourceFormat !== undefined && hasOne('sourceFormat') && { sourceFormat: first.sourceFormat }),
  }
}

/** Returns a reporter for one batch. It adds to the report of all objects. */
function createBatchReporter(
  { index, size }: { index: number; size: number },
  totalsBefore: { bytes: number; rows: number },
  report: ReadReporter,
  reportProgress: ReadReporter['progress'],
): ReadReporter & { rowsSoFar(): number } {
  let rowCount = totalsBefore.rows
  return {
    progress({ bytesRead, rowsRead }) {
      if (rowsRead !== undefined) rowCount = totalsBefore.rows + rowsRead
      const bytes = bytesRead === undefined ? {} : { bytesRead: totalsBefore.bytes + Math.min(bytesRead, size) }
      reportProgress({ ...bytes, rowsRead: rowCount })
    },
    reject: (row) => report.reject(row),
    rejectMore: (count) => report.rejectMore(count),
    hint: (sentence, advice) => report.hint?.(sentence, advice),
    // Does nothing, because the consumer restarts the read of all objects together.
    async startOver() {},
    log(level, importance, message) {
      if (index < maxLoggedBatches || level === 'WARN' || level === 'ERROR') report.log(level, importance, message)
    },
    rowsSoFar: () => rowCount,
  }
}
