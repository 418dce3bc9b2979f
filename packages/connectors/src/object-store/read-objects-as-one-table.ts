import {
  formatCount,
  type ColumnFacts,
  type RowStream,
  type Column,
  type LoadReport,
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

/** The number of objects whose reading is logged; for the others, only warnings are logged. */
const maxLoggedObjects = 10
/** Maximum bytes of an object that is already read to its end when its columns are determined. */
const maxFullyReadBytes = 1024 * 1024

export interface CombinedReading {
  objects: readonly StoredObject[]
  /** Columns of objects that were loaded before, which the table has too. */
  before?: readonly Column[]
  keyed: boolean
  /** Receives the number of rows of each object, by key. */
  counts: Map<string, number>
  /** Called after all rows are counted: returns further objects to read, whose columns `before` contains. */
  rest?(): readonly StoredObject[]
}

/**
 * Reads several objects as one table: the union of their columns, types wide enough for all, and a column for the object
 * of each row. It examines every object before it returns the first row, because the table's columns must be known from
 * the start. Throws `SourceProblem`, or the signal's reason.
 */
export async function* readObjectsAsOneTable(
  reading: ObjectReading,
  { objects, before = [], keyed, counts, rest = () => [] }: CombinedReading,
  report: LoadReport,
  signal: AbortSignal,
): AsyncGenerator<RowStream, void, void> {
  const total = objects.reduce((sum, { size }) => sum + size, 0)
  const { first, second } = splitProgress(report)
  const log: LoadReport['log'] = (...line) => report.log(...line)
  using stack = new DisposableStack()
  const keptOf = (all: readonly StoredObject[]) => stack.use(new ObjectCache(reading, all, { log }))
  const kept = keptOf(objects)
  let besides: ObjectCache | undefined
  const shapes = new Map<string, Column[]>()
  const unread: string[] = []
  let emptyListProblem: SourceProblem | undefined
  const look = async (local: LocalObject) => {
    const found = await shapeOf(reading, local, () => report.progress({}), signal).catch((error: unknown) => {
      if (!isEmptyListProblem(error)) throw error
      emptyListProblem ??= error
      return { columns: [] } as Pick<RowStream, 'columns' | 'unread'>
    })
    shapes.set(local.object.key, found.columns)
    if (found.unread !== undefined) unread.push(found.unread)
    return found.columns
  }
  for await (const [, local] of kept.all(signal, (bytes) => first(Math.min(bytes, total), total))) await look(local)
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
  const progress = second(total)

  let begun = false
  /** Objects whose samples led to wrong types: the next reading reads them whole before reporting types. */
  const misguessed = new Set<string>()
  const held = new Map<string, Evidence[]>()
  async function* rows(types: readonly StoredType[]): AsyncGenerator<TupleChunk, void, void> {
    if (begun) await report.startOver()
    begun = true
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
        const reportOfObject = objectReport(object, index, read, report, progress)
        const layout = new TupleLayout(findFieldSources(columns, types, shape, object), shape.length)
        try {
          for await (const { content } of readLocalObject(readingOf(object), local, reportOfObject, signal)) {
            for await (const chunk of content.rows(findStoredTypes(columns, types, shape))) yield layout.lay(chunk)
            const facts = content.facts?.() ?? shape.map(({ name }): ColumnFacts => ({ column: name }))
            for (const { column, evidence } of facts) held.set(column, [...(held.get(column) ?? []), evidence])
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
    yield* of(kept)
    yield* of((besides ??= keptOf(rest())))
    progress({ bytesRead: total, bytesTotal: total, rowsRead: read.rows })
  }
  const readingOf = ({ key }: StoredObject): ObjectReading =>
    misguessed.has(key) ? { ...reading, options: { ...reading.options, lookAtAll: true } } : reading
  const facts = () => [...held].map(([column, all]) => factsOf(column, all))
  const content = { format: 'copy-binary' as const, rows, size: total, facts }
  yield { table: '', columns, ...(unread.length > 0 && { unread: allUnread(unread) }), content }
}

/** Number of objects whose unread parts are listed. */
const mostUnread = 3

function allUnread(unread: readonly string[]): string {
  const more = unread.length - mostUnread
  const others =
    more > 0 ? [`${formatCount(more, 'more object')} ${more === 1 ? 'has' : 'have'} sheets that were not read.`] : []
  return [...unread.slice(0, mostUnread), ...others].join(' ')
}

type Evidence = ColumnFacts['evidence']

/** Merges the evidence: a column of several objects is undecided only if no object decides it. */
function factsOf(column: string, all: readonly Evidence[]): ColumnFacts {
  const decided = all.filter((one) => one !== 'NOTHING')
  const [first] = decided.length > 0 ? decided : all
  return { column, ...(first && decided.every((one) => one === first) && { evidence: first }) }
}

/**
 * Returns the columns as all rows need them. It reads the whole file, because a thread that has read a file to its end
 * reads the next one. After an early stop a new thread is necessary, and its start takes longer than reading a small file.
 */
async function provenShape({ columns, content }: RowStream): Promise<Column[]> {
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

/** Returns the columns of one object and its unread parts. The reader's log lines are reported later, when the rows are read. */
async function shapeOf(
  reading: ObjectReading,
  local: LocalObject,
  sign: () => void,
  signal: AbortSignal,
): Promise<Pick<RowStream, 'columns' | 'unread'>> {
  const quiet: LoadReport = { progress: sign, reject() {}, rejectMore() {}, async startOver() {}, log() {} }
  for await (const feed of readLocalObject(reading, local, quiet, signal))
    return local.size > maxFullyReadBytes ? feed : { ...feed, columns: await provenShape(feed) }
  throw new Error(`nothing was found in ${local.object.key}`)
}

/** Returns the report of one object, as part of the report of all objects. */
function objectReport(
  { key, size }: StoredObject,
  index: number,
  before: { bytes: number; rows: number },
  report: LoadReport,
  progress: LoadReport['progress'],
): LoadReport & { rowsSoFar(): number } {
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
    // The consumer restarts all objects together, so an object does not restart alone.
    async startOver() {},
    log(level, importance, message) {
      if (index < maxLoggedObjects || level === 'WARN' || level === 'ERROR') report.log(level, importance, message)
    },
    rowsSoFar: () => rows,
  }
}
