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
import { ObjectCache } from './object-cache.ts'
import { TupleLayout } from './remap-columns.ts'
import type { StoredObject } from './object-store.ts'
import { isEmptyListProblem, type LocalObject, type ObjectReading, readLocalObject } from './read-object.ts'
import { findFieldSources, findStoredTypes, createCombinedTable } from './combined-table.ts'
import { uniteColumns, describeDifferences } from './combined-table.ts'

/** Maximum number of objects for which a read is logged. For further objects, only warnings are logged. */
const maxLoggedObjects = 10
/** Maximum bytes of an object that is read to its end when its columns are determined. */
const maxFullyReadBytes = 1024 * 1024

export interface CombinedReading {
  objects: readonly StoredObject[]
  /** Columns of objects that were loaded before. The table has these columns too. */
  before?: readonly Column[]
  keyed: boolean
  /** Called with the number of rows of each object, by key. */
  counts: Map<string, number>
  /** Called after all rows are counted. Returns further objects to read; `before` contains their columns. */
  unreadObjects?(): readonly StoredObject[]
}

/**
 * Reads several objects as one table. The table has the union of their columns, types that fit all of them, and columns that
 * identify the object of each row. All objects are examined before the first row is returned, because the columns of the table
 * must be known first. Throws `SourceProblem`, or the reason of the signal after an abort.
 */
export async function* readObjectsAsOneTable(
  reading: ObjectReading,
  { objects, before = [], keyed, counts, unreadObjects = () => [] }: CombinedReading,
  report: ReadReporter,
  signal: AbortSignal,
): AsyncGenerator<RowStream, void, void> {
  const total = objects.reduce((sum, { size }) => sum + size, 0)
  const { first, onSecondProgress } = splitProgress(report)
  const log: ReadReporter['log'] = (...line) => report.log(...line)
  using stack = new DisposableStack()
  const keptOf = (all: readonly StoredObject[]) => stack.use(new ObjectCache(reading, all, { log }))
  const cache = keptOf(objects)
  let besides: ObjectCache | undefined
  const shapes = new Map<string, Column[]>()
  const unread: string[] = []
  let emptyListProblem: SourceProblem | undefined
  const look = async (local: LocalObject) => {
    const tableShape = await readTableShape(reading, local, () => report.progress({}), signal).catch(
      (error: unknown) => {
        if (!isEmptyListProblem(error)) throw error
        emptyListProblem ??= error
        return { columns: [] } as Pick<RowStream, 'columns' | 'unread'>
      },
    )
    shapes.set(local.object.key, tableShape.columns)
    if (tableShape.unread !== undefined) unread.push(tableShape.unread)
    return tableShape.columns
  }
  for await (const [, local] of cache.all(signal, (bytes) => first(Math.min(bytes, total), total))) await look(local)
  first(total, total)
  const unite = () => {
    const united = [...shapes.values()].reduce((one: readonly Column[], other) => uniteColumns(one, other), before)
    return united.length > 0 ? united : reading.columnsBefore
  }
  if (emptyListProblem && unite().length === 0) throw emptyListProblem
  const differences = describeDifferences(
    [...shapes.values()].filter(({ length }) => length > 0),
    unite(),
  )
  if (differences) report.log('WARN', 'MEDIUM', differences)
  const columns = createCombinedTable(unite(), { keyed })
  const progress = onSecondProgress(total)

  let hasStarted = false
  /** Objects for which the sampled types were wrong. The next read examines them completely before it returns types. */
  const misguessed = new Set<string>()
  const held = new Map<string, OptionalEvidence[]>()
  async function* rows(types: readonly StoredType[]): AsyncGenerator<TupleChunk, void, void> {
    if (hasStarted) await report.startOver()
    hasStarted = true
    held.clear()
    const read = { bytes: 0, rows: 0 }
    async function* of(all: ObjectCache): AsyncGenerator<TupleChunk, void, void> {
      for await (const [index, local] of all.all(signal, () => report.progress({}))) {
        const { object } = local
        const shape = shapes.get(object.key) ?? (await look(local))
        if (shape.length === 0) {
          counts.set(object.key, 0)
          continue
        }
        const reportOfObject = createObjectReporter(object, index, read, report, progress)
        const layout = new TupleLayout(findFieldSources(columns, types, shape, object), shape.length)
        try {
          for await (const { content } of readLocalObject(readingOf(object), local, reportOfObject, signal)) {
            for await (const chunk of content.rows(findStoredTypes(columns, types, shape))) yield layout.lay(chunk)
            const columnFacts = content.facts?.() ?? shape.map(({ name }): ColumnFacts => ({ column: name }))
            for (const { column, evidence } of columnFacts) held.set(column, [...(held.get(column) ?? []), evidence])
          }
        } catch (error) {
          if (!(error instanceof TypesWidened)) throw error
          shapes.set(object.key, error.columns)
          misguessed.add(object.key)
          throw new TypesWidened(createCombinedTable(unite(), { keyed }))
        }
        counts.set(object.key, layout.rows)
        read.bytes += object.size
        read.rows = reportOfObject.rowsSoFar()
      }
    }
    yield* of(cache)
    yield* of((besides ??= keptOf(unreadObjects())))
    progress({ bytesRead: total, bytesTotal: total, rowsRead: read.rows })
  }
  const readingOf = ({ key }: StoredObject): ObjectReading =>
    misguessed.has(key) ? { ...reading, options: { ...reading.options, lookAtAll: true } } : reading
  const mergedFacts = () => [...held].map(([column, evidences]) => mergeFacts(column, evidences))
  const content = { format: 'copy-binary' as const, rows, size: total, facts: mergedFacts }
  yield { table: '', columns, ...(unread.length > 0 && { unread: describeAllUnreadParts(unread) }), content }
}

/** Maximum number of objects in the message about unread parts. */
const mostUnread = 3

function describeAllUnreadParts(unread: readonly string[]): string {
  const more = unread.length - mostUnread
  const others =
    more > 0 ? [`${formatCount(more, 'more object')} ${more === 1 ? 'has' : 'have'} sheets that were not read.`] : []
  return [...unread.slice(0, mostUnread), ...others].join(' ')
}

type OptionalEvidence = ColumnFacts['evidence']

/** Merges the type evidence of the objects. A column is undecided only if it is undecided in every object. */
function mergeFacts(column: string, evidences: readonly OptionalEvidence[]): ColumnFacts {
  const decided = evidences.filter((one) => one !== 'NOTHING')
  const [first] = decided.length > 0 ? decided : evidences
  return { column, ...(first && decided.every((one) => one === first) && { evidence: first }) }
}

/**
 * Returns the columns with types that fit all rows of an object. Reads the whole file, because stopping early ends the reader
 * thread, and starting another one takes longer than reading a small file.
 */
async function readExactShape({ columns, content }: RowStream): Promise<Column[]> {
  for (let known = columns; ; ) {
    try {
      for await (const { release } of content.rows(known)) release?.()
      return known
    } catch (error) {
      if (!(error instanceof TypesWidened)) throw error
      known = error.columns
    }
  }
}

/** Returns the columns of an object, and its unread parts. The log lines of the reader are reported later, with the rows. */
async function readTableShape(
  reading: ObjectReading,
  local: LocalObject,
  sign: () => void,
  signal: AbortSignal,
): Promise<Pick<RowStream, 'columns' | 'unread'>> {
  const quiet: ReadReporter = { progress: sign, reject() {}, rejectMore() {}, async startOver() {}, log() {} }
  for await (const feed of readLocalObject(reading, local, quiet, signal))
    return local.size > maxFullyReadBytes ? feed : { ...feed, columns: await readExactShape(feed) }
  throw new Error(`Internal error: the reader returned no table for ${local.object.key}`)
}

/** Returns a reporter for one object, which adds to the report of all objects. */
function createObjectReporter(
  { key, size }: StoredObject,
  index: number,
  before: { bytes: number; rows: number },
  report: ReadReporter,
  progress: ReadReporter['progress'],
): ReadReporter & { rowsSoFar(): number } {
  let rows = before.rows
  return {
    progress({ bytesRead, rowsRead }) {
      if (rowsRead !== undefined) rows = before.rows + rowsRead
      const bytes = bytesRead === undefined ? {} : { bytesRead: before.bytes + Math.min(bytesRead, size) }
      progress({ ...bytes, rowsRead: rows })
    },
    reject: (row) => report.reject({ ...row, reason: `${key}: ${row.reason}` }),
    rejectMore: (count) => report.rejectMore(count),
    hint: (sentence, advice) => report.hint?.(`${key}: ${sentence}`, advice),
    // The consumer restarts the read of all objects together, so a single object cannot restart.
    async startOver() {},
    log(level, importance, message) {
      if (index < maxLoggedObjects || level === 'WARN' || level === 'ERROR') report.log(level, importance, message)
    },
    rowsSoFar: () => rows,
  }
}
