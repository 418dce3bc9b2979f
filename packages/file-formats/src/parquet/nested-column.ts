import {
  type BytesVector,
  type ColumnVector,
  emptyVector,
  maxValueBytes,
  valueTooLong,
  vectorText,
} from '@sluice/row-stream'
import type { ColumnMetaData } from 'hyparquet'
import { damagedFileProblem } from './file-problems.ts'
import type { LeafReader } from './leaf-reader.ts'
import type { MemoryBudget, ParquetLimits } from './limits.ts'
import { findListElement, type SchemaLeaf, type SchemaNode } from './schema.ts'

/**
 * Moves over the entries of one leaf of a nested column. Fills the reader with its next batch when a batch is used up.
 */
class LeafCursor {
  readonly reader: LeafReader
  readonly #maxBatchEntries: number
  /** The index of the current entry in the batch. */
  #index = 0
  #batchEntries = 0

  constructor(reader: LeafReader, maxBatchEntries: number) {
    this.reader = reader
    this.#maxBatchEntries = maxBatchEntries
  }

  /** True if the row group has no more entries. */
  isAtEnd(): boolean {
    return this.#index === this.#batchEntries && this.#fillNextBatch() === 0
  }

  definitionLevel(): number {
    if (this.isAtEnd()) throw new RangeError('values are missing')
    return this.reader.leaf.maxDefinition === 0 ? 0 : this.reader.definitions[this.#index]!
  }

  /**
   * Returns the level of the list that continues at this entry. Returns 0 if a new row starts here or the data ends.
   */
  repetitionLevel(): number {
    if (this.isAtEnd() || this.reader.leaf.maxRepetition === 0) return 0
    return this.reader.repetitions[this.#index]!
  }

  /** Moves to the next entry. Returns the index of the previous one in the reader's vector. */
  advance(): number {
    return this.#index++
  }

  open(chunk: ColumnMetaData): void {
    this.reader.open(chunk)
    this.#index = 0
    this.#batchEntries = 0
  }

  #fillNextBatch(): number {
    this.#batchEntries = Math.min(this.reader.available(), this.#maxBatchEntries)
    this.#index = 0
    if (this.#batchEntries > 0) this.reader.fill(this.#batchEntries)
    return this.#batchEntries
  }
}

/**
 * Assembles groups, lists and maps to JSON text, row by row, with Dremel's record assembly over the leaves below the
 * column. Holds only the current row and a batch of entries of each leaf in memory.
 */
export class NestedColumn {
  readonly vector: BytesVector
  readonly faults = new Map<number, string>()
  readonly #node: SchemaNode
  readonly #cursors: Map<SchemaLeaf, LeafCursor>
  readonly #budget: MemoryBudget
  /** The first fault in the current row, and the bytes of its texts until now. */
  #rowFault: string | undefined
  #rowTextBytes = 0

  constructor(node: SchemaNode, readers: readonly LeafReader[], budget: MemoryBudget, { maxBatchRows }: ParquetLimits) {
    this.#node = node
    this.#budget = budget
    this.vector = emptyVector('json', maxBatchRows) as BytesVector
    this.#cursors = new Map(readers.map((reader) => [reader.leaf, new LeafCursor(reader, maxBatchRows)]))
  }

  get readers(): LeafReader[] {
    return [...this.#cursors.values()].map(({ reader }) => reader)
  }

  open(chunks: readonly ColumnMetaData[]): void {
    for (const [leaf, cursor] of this.#cursors) cursor.open(chunks[leaf.index]!)
  }

  /** Assembles the next `rowCount` rows into the vector. */
  fill(rowCount: number): void {
    const { nulls, starts, lengths } = this.vector
    const texts: Buffer[] = []
    let totalBytes = 0
    this.faults.clear()
    this.#budget.release(this.vector.data.length)
    for (let row = 0; row < rowCount; row++) {
      const text = Buffer.from(this.#assembleRow(row))
      this.#budget.reserve(text.length)
      nulls[row] = text.length === 4 && text.toString('latin1') === 'null' ? 1 : 0
      starts[row] = totalBytes
      lengths[row] = text.length
      totalBytes += text.length
      texts.push(text)
    }
    this.vector.data = Buffer.concat(texts, totalBytes)
  }

  /** Throws unless every leaf is at its end, as it must be after the last row of a row group. */
  assertEnded(): void {
    for (const cursor of this.#cursors.values()) {
      if (cursor.isAtEnd()) continue
      const { path } = cursor.reader.leaf
      throw damagedFileProblem(`column "${path}"`, new RangeError('there are more values than rows'))
    }
  }

  /** Returns the value of a row as JSON. Records a fault if it cannot be stored. */
  #assembleRow(row: number): string {
    this.#rowFault = undefined
    this.#rowTextBytes = 0
    try {
      for (const leaf of this.#node.leaves) {
        if (this.#cursors.get(leaf)!.repetitionLevel() !== 0) throw new RangeError('a row begins inside a list')
      }
      const text = this.#assembleNode(this.#node)
      if (this.#rowTextBytes > maxValueBytes || text.length > maxValueBytes) {
        this.faults.set(row, valueTooLong)
        return 'null'
      }
      if (this.#rowFault !== undefined) this.faults.set(row, this.#rowFault)
      return text
    } catch (error) {
      if (error instanceof RangeError) throw damagedFileProblem(`column "${this.#node.name}"`, error)
      throw error
    }
  }

  /** Returns the next value of a node as JSON: a list if the node is repeated. */
  #assembleNode(node: SchemaNode): string {
    if (node.isRepeated) return this.#assembleList(node, () => this.#assemblePresent(node))
    return this.#assembleSingle(node)
  }

  /** Returns the next value of a node that is not repeated, or `null` if it is absent. */
  #assembleSingle(node: SchemaNode): string {
    if (node.isOptional && this.#isAbsent(node)) {
      this.#skipAbsent(node)
      return 'null'
    }
    return this.#assemblePresent(node)
  }

  /** Returns the next value of a node as JSON. The value must be present. For a repeated node, returns one element. */
  #assemblePresent(node: SchemaNode): string {
    switch (node.shape) {
      case 'leaf':
        return this.#assembleLeaf(node.leaf!)
      case 'list': {
        const { repeated, element } = findListElement(node)
        return this.#assembleList(repeated, () => {
          return element ? this.#assembleSingle(element) : this.#assemblePresent(repeated)
        })
      }
      case 'map':
        return this.#assembleMap(node.children[0]!)
      case 'group': {
        const members = node.children.map((child) => `${JSON.stringify(child.name)}:${this.#assembleNode(child)}`)
        return `{${members.join(',')}}`
      }
    }
  }

  #assembleList(repeated: SchemaNode, assembleElement: () => string): string {
    return `[${this.#assembleElements(repeated, assembleElement).join(',')}]`
  }

  /**
   * Calls `assembleElement` for each element of a repeated node, and returns the results. An entry continues the list
   * if its repetition level is that of the node. A lower level starts another list or row.
   */
  #assembleElements<T>(repeated: SchemaNode, assembleElement: () => T): T[] {
    if (this.#isAbsent(repeated)) {
      this.#skipAbsent(repeated)
      return []
    }
    const elements = [assembleElement()]
    const firstCursor = this.#firstCursor(repeated)
    while (firstCursor.repetitionLevel() === repeated.repetitionLevel) elements.push(assembleElement())
    return elements
  }

  /**
   * Returns a map as a JSON object. If a key is null or nested, returns a list of objects with key and value
   * instead. Of duplicate keys, the last value counts.
   */
  #assembleMap(entry: SchemaNode): string {
    const [keyNode, valueNode] = entry.children
    const entries = this.#assembleElements(entry, () => ({
      key: this.#assembleNode(keyNode!),
      value: valueNode ? this.#assembleNode(valueNode) : 'null',
    }))
    const canBeObject = keyNode!.leaf !== undefined && entries.every(({ key }) => key !== 'null')
    if (!canBeObject) return `[${entries.map(({ key, value }) => `{"key":${key},"value":${value}}`).join(',')}]`
    const members = entries.map(({ key, value }) => {
      const isString = key.startsWith('"')
      return `${isString ? key : JSON.stringify(key)}:${value}`
    })
    return `{${members.join(',')}}`
  }

  #assembleLeaf(leaf: SchemaLeaf): string {
    const cursor = this.#cursors.get(leaf)!
    if (cursor.definitionLevel() < leaf.maxDefinition) throw new RangeError('levels contradict each other')
    const { reader } = cursor
    const position = cursor.advance()
    const fault = reader.faults.get(position)
    if (fault !== undefined) {
      this.#rowFault ??= `${leaf.path} ${fault}`
      return 'null'
    }
    if ('data' in reader.vector) this.#rowTextBytes += reader.vector.lengths[position]!
    // The row will be rejected because of its length, so the rest of its value is skipped.
    if (this.#rowTextBytes > maxValueBytes) return 'null'
    return formatJson(reader.vector, position)
  }

  /**
   * True if the next value of a node is absent: the node or one above it is null, or the list is empty. The definition
   * level of an entry says how many optional and repeated nodes above its value are present.
   */
  #isAbsent(node: SchemaNode): boolean {
    return this.#firstCursor(node).definitionLevel() < node.definitionLevel
  }

  /** Skips an absent value of a node: in each leaf column below the node, one entry without a value stands for it. */
  #skipAbsent(node: SchemaNode): void {
    for (const leaf of node.leaves) {
      const cursor = this.#cursors.get(leaf)!
      if (cursor.definitionLevel() >= node.definitionLevel) throw new RangeError('levels contradict each other')
      cursor.advance()
    }
  }

  /** Returns the cursor of the first leaf below a node. The levels of its current entry also apply to the node. */
  #firstCursor(node: SchemaNode): LeafCursor {
    return this.#cursors.get(node.leaves[0]!)!
  }
}

/** Returns the value of a row, which must not be null, as JSON. Numbers keep all digits; times are ISO 8601 text. */
function formatJson(vector: ColumnVector, row: number): string {
  const text = vectorText(vector, row)
  switch (vector.kind) {
    case 'boolean':
    case 'integer':
    case 'decimal':
    case 'json':
      return text
    case 'float':
    case 'double':
      return Number.isFinite(vector.values[row]!) ? text : `"${text}"`
    case 'timestamp':
      return JSON.stringify(text.replace(' ', 'T'))
    case 'timestamptz':
      return JSON.stringify(text.replace(' ', 'T').replace('+00', '+00:00'))
    case 'date':
    case 'text':
      return JSON.stringify(text)
  }
}
