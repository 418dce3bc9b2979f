import { type SimilarTextGroup, groupSimilarTexts, type TextSegment } from '@sluice/file-formats/csv/similar-texts'
import {
  type Column,
  type ColumnFacts,
  type ReadReporter,
  type RowStream,
  silentReporter,
  type StoredType,
  type TupleChunk,
  TypesWidened,
} from '@sluice/row-stream'
import {
  createRowSuffix,
  findFieldSources,
  findStoredTypes,
  countSuffixedFields,
  findSuffixedFieldSources,
} from './combined-table.ts'
import { ObjectSpool } from './object-spool.ts'
import type { StoredObject } from '../object-store.ts'
import { type ObjectReadContext, readLocalObject } from '../read-object.ts'
import { TupleLayout } from './tuple-layout.ts'

/** The layout of the rows to return. */
export interface BatchLayout {
  /** The columns of the combined table. */
  columns: readonly Column[]
  /** The stored types of these columns. */
  types: readonly StoredType[]
  /** The columns of the batch. */
  sourceColumns: readonly Column[]
}

/** The row count of each object in a batch, and statistics of its columns. */
export interface BatchResult {
  writtenRowCounts: number[]
  facts: ColumnFacts[]
}

/** Objects that are read together because their columns are the same. */
export interface ObjectBatch {
  readonly objects: readonly StoredObject[]
  /** Sentences about tables and sheets in the files that are not read. Set by `examine`. */
  readonly unread: readonly string[]
  /** Determines the columns of the objects. Throws EMPTY_SOURCE if the object is an empty JSON list. */
  examine(onProgress: () => void, signal: AbortSignal): Promise<readonly Column[]>
  /**
   * Yields the rows in the layout of the combined table. Throws `TypesWidened` with other columns of the batch if
   * values need wider types.
   */
  rows(layout: BatchLayout, report: ReadReporter, signal: AbortSignal): AsyncGenerator<TupleChunk, BatchResult, void>
}

/**
 * Groups downloaded objects into batches. Delimited texts in UTF-8 that start with the same line and have the same
 * dialect form one batch, because reading them one by one takes several times as long. Any other object is a batch of
 * its own.
 */
export class ObjectBatches implements Disposable {
  readonly batches: readonly ObjectBatch[]
  readonly #spool: ObjectSpool

  private constructor(spool: ObjectSpool, batches: readonly ObjectBatch[]) {
    this.#spool = spool
    this.batches = batches
  }

  /** Downloads the objects and groups them. `onDownload` receives the total of downloaded bytes. */
  static async open(
    context: ObjectReadContext,
    objects: readonly StoredObject[],
    report: Pick<ReadReporter, 'log' | 'progress'>,
    onDownload: (bytes: number) => void,
    signal: AbortSignal,
  ): Promise<ObjectBatches> {
    const spool = await ObjectSpool.download(context, objects, report.log, onDownload, signal)
    try {
      const batches: ObjectBatch[] = []
      const objectsByKey = new Map(objects.map((object) => [object.key, object]))
      for (const { object, segments } of groupByFirstLine(spool, objects, context)) {
        if (segments.length === 0) {
          batches.push(new SingleObject(context, spool, object))
          continue
        }
        const textsToGroup = { file: spool.fd, segments, options: context.options }
        for (const group of await groupSimilarTexts(textsToGroup, () => report.progress({}), signal))
          batches.push(new SimilarObjects(group, findObjects(group, objectsByKey)))
      }
      return new ObjectBatches(spool, batches)
    } catch (error) {
      spool[Symbol.dispose]()
      throw error
    }
  }

  [Symbol.dispose](): void {
    this.#spool[Symbol.dispose]()
  }
}

interface FirstLineGroup {
  /** The first object of the group. */
  object: StoredObject
  /** The texts with this first line, in the spool file. Empty if the group is one object that is read by itself. */
  segments: TextSegment[]
}

/**
 * Groups the objects by first line, in the order of the first object of each group. With the option `headerRow: false`,
 * the first lines are rows, so all delimited texts form one group. An object without `firstLineHash` is a group of its
 * own, because only delimited texts in UTF-8 can be read as one text: it has another format or encoding, or did not fit
 * into the spool file.
 */
function groupByFirstLine(
  spool: ObjectSpool,
  objects: readonly StoredObject[],
  { options }: ObjectReadContext,
): FirstLineGroup[] {
  const hasHeader = options.headerRow !== false
  const groups: FirstLineGroup[] = []
  const groupsByKey = new Map<string, FirstLineGroup>()
  for (const object of objects) {
    const spooledObject = spool.find(object)
    const isDelimitedText = spooledObject?.firstLineHash !== undefined
    if (!isDelimitedText) {
      groups.push({ object, segments: [] })
      continue
    }
    const groupKey = hasHeader ? spooledObject.firstLineHash! : 'all texts'
    let group = groupsByKey.get(groupKey)
    if (!group) {
      group = { object, segments: [] }
      groups.push(group)
      groupsByKey.set(groupKey, group)
    }
    const { name, from, to } = spooledObject
    group.segments.push({ name, from, to })
  }
  return groups
}

function findObjects({ segments }: SimilarTextGroup, objectsByKey: ReadonlyMap<string, StoredObject>): StoredObject[] {
  return segments.map(({ name }) => objectsByKey.get(name)!)
}

/**
 * Delimited texts that are read as if they were one. The scanner adds the columns that identify the object of a row.
 */
class SimilarObjects implements ObjectBatch {
  readonly objects: readonly StoredObject[]
  readonly #group: SimilarTextGroup

  constructor(group: SimilarTextGroup, objects: readonly StoredObject[]) {
    this.#group = group
    this.objects = objects
  }

  get unread(): readonly string[] {
    return this.#group.unread
  }

  async examine(): Promise<readonly Column[]> {
    return this.#group.columns
  }

  async *rows(
    { columns, types, sourceColumns }: BatchLayout,
    report: ReadReporter,
    signal: AbortSignal,
  ): AsyncGenerator<TupleChunk, BatchResult, void> {
    report.log('INFO', 'LOW', this.#group.describe())
    for (const note of this.#group.notes) report.log('INFO', 'MEDIUM', note)
    const suffixes = this.objects.map((object) => createRowSuffix(object, columns, types))
    const rows = this.#group.rows(findStoredTypes(columns, types, sourceColumns), suffixes, report, signal)
    const sources = findSuffixedFieldSources(columns, sourceColumns)
    const fieldCount = countSuffixedFields(sourceColumns)
    const isInOrder = sources.length === fieldCount && sources.every((source, index) => source === index)
    return yield* isInOrder ? rows : rearrangeChunks(rows, new TupleLayout(sources, fieldCount))
  }
}

/** Yields the chunks with their fields in the order of the layout. Returns the result of `rows`. */
async function* rearrangeChunks(
  rows: AsyncGenerator<TupleChunk, BatchResult, void>,
  layout: TupleLayout,
): AsyncGenerator<TupleChunk, BatchResult, void> {
  try {
    for (;;) {
      const { done, value } = await rows.next()
      if (done) return value
      yield layout.rearrange(value)
    }
  } finally {
    // Ends the reader thread before the spool file is closed, even if the consumer stops early. The result is not used.
    await rows.return({ writtenRowCounts: [], facts: [] })
  }
}

/** Objects up to this size, in bytes, are read completely to determine their columns. */
const maxFullyReadBytes = 1024 * 1024

/** A single object of any format. */
class SingleObject implements ObjectBatch {
  readonly objects: readonly [StoredObject]
  unread: readonly string[] = []
  readonly #context: ObjectReadContext
  readonly #spool: ObjectSpool
  /**
   * True if values did not fit the types that were inferred from samples. The next read then infers the types from all
   * rows.
   */
  #needsFullExamination = false

  constructor(context: ObjectReadContext, spool: ObjectSpool, object: StoredObject) {
    this.#context = context
    this.#spool = spool
    this.objects = [object]
  }

  async examine(onProgress: () => void, signal: AbortSignal): Promise<readonly Column[]> {
    // Logs nothing, because the reader logs the same lines again when it reads the rows.
    const report = { ...silentReporter, progress: onProgress }
    using localObject = await this.#spool.open(this.objects[0], signal)
    for await (const rowStream of readLocalObject(this.#context, localObject, report, signal)) {
      if (rowStream.unread !== undefined) this.unread = [rowStream.unread]
      return localObject.size > maxFullyReadBytes ? rowStream.columns : await readExactColumns(rowStream)
    }
    throw new Error(`Internal error: the reader returned no table for ${localObject.object.key}`)
  }

  async *rows(
    { columns, types, sourceColumns }: BatchLayout,
    report: ReadReporter,
    signal: AbortSignal,
  ): AsyncGenerator<TupleChunk, BatchResult, void> {
    const [object] = this.objects
    const { options } = this.#context
    const context = this.#needsFullExamination
      ? { ...this.#context, options: { ...options, observeAllRows: true } }
      : this.#context
    const layout = new TupleLayout(findFieldSources(columns, types, sourceColumns, object), sourceColumns.length)
    const facts: ColumnFacts[] = []
    using localObject = await this.#spool.open(object, signal)
    try {
      for await (const { content } of readLocalObject(context, localObject, addKeyToReports(object, report), signal)) {
        for await (const chunk of content.rows(findStoredTypes(columns, types, sourceColumns)))
          yield layout.rearrange(chunk)
        const columnFacts = content.facts?.() ?? sourceColumns.map(({ name }): ColumnFacts => ({ column: name }))
        facts.push(...columnFacts)
      }
    } catch (error) {
      if (error instanceof TypesWidened) this.#needsFullExamination = true
      throw error
    }
    return { writtenRowCounts: [layout.rows], facts }
  }
}

/** Returns a reporter that adds the object's key to rejected rows and hints. */
const addKeyToReports = ({ key }: StoredObject, report: ReadReporter): ReadReporter => ({
  ...report,
  reject: (row) => report.reject({ ...row, reason: `${key}: ${row.reason}` }),
  hint: (sentence, advice) => report.hint?.(`${key}: ${sentence}`, advice),
})

/**
 * Returns columns with types that fit all rows of an object. Reads the rows, and drops them, until no value needs a
 * wider type. Reads the whole file: stopping early would end the reader thread, and starting another one takes longer
 * than reading a small file.
 */
async function readExactColumns({ columns, content }: RowStream): Promise<Column[]> {
  let candidateColumns = columns
  for (;;) {
    try {
      for await (const { release: releaseMemory } of content.rows(candidateColumns)) releaseMemory?.()
      return candidateColumns
    } catch (error) {
      if (!(error instanceof TypesWidened)) throw error
      candidateColumns = error.columns
    }
  }
}
