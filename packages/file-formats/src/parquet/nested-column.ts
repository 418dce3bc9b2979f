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
import { elementOf, type SchemaLeaf, type SchemaNode } from './schema.ts'

/** A position in one leaf of a nested column. Moves over the entries of its reader one by one. */
class LeafCursor {
  readonly reader: LeafReader
  readonly #batch: number
  #at = 0
  #count = 0

  constructor(reader: LeafReader, batch: number) {
    this.reader = reader
    this.#batch = batch
  }

  get ended(): boolean {
    return this.#at === this.#count && this.#refill() === 0
  }

  get definition(): number {
    if (this.ended) throw new RangeError('values are missing')
    return this.reader.leaf.maxDefinition === 0 ? 0 : this.reader.definitions[this.#at]!
  }

  /** The level of the list that continues at this entry. 0 starts a new row; the end of the data counts as 0 too. */
  get repetition(): number {
    return this.ended || this.reader.leaf.maxRepetition === 0 ? 0 : this.reader.repetitions[this.#at]!
  }

  take(): number {
    return this.#at++
  }

  open(chunk: ColumnMetaData): void {
    this.reader.open(chunk)
    this.#at = 0
    this.#count = 0
  }

  #refill(): number {
    this.#count = Math.min(this.reader.available(), this.#batch)
    this.#at = 0
    if (this.#count > 0) this.reader.fill(this.#count)
    return this.#count
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
  #fault: string | undefined
  #length = 0

  constructor(node: SchemaNode, readers: readonly LeafReader[], budget: MemoryBudget, { batchRows }: ParquetLimits) {
    this.#node = node
    this.#budget = budget
    this.vector = emptyVector('json', batchRows) as BytesVector
    this.#cursors = new Map(readers.map((reader) => [reader.leaf, new LeafCursor(reader, batchRows)]))
  }

  get readers(): LeafReader[] {
    return [...this.#cursors.values()].map(({ reader }) => reader)
  }

  open(chunks: readonly ColumnMetaData[]): void {
    for (const [leaf, cursor] of this.#cursors) cursor.open(chunks[leaf.index]!)
  }

  /** Assembles the next rows into the vector. */
  fill(rows: number): void {
    const { nulls, starts, lengths } = this.vector
    const texts: Buffer[] = []
    let totalBytes = 0
    this.faults.clear()
    this.#budget.hold(-this.vector.data.length)
    for (let row = 0; row < rows; row++) {
      const text = Buffer.from(this.#row(row))
      this.#budget.hold(text.length)
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
    for (const { ended, reader } of this.#cursors.values()) {
      if (!ended)
        throw damagedFileProblem(`column "${reader.leaf.path}"`, new RangeError('there are more values than rows'))
    }
  }

  #row(row: number): string {
    this.#fault = undefined
    this.#length = 0
    try {
      for (const leaf of this.#node.leaves) {
        if (this.#cursors.get(leaf)!.repetition !== 0) throw new RangeError('a row begins inside a list')
      }
      const text = this.#any(this.#node)
      if (this.#length > maxValueBytes || text.length > maxValueBytes) {
        this.faults.set(row, valueTooLong)
        return 'null'
      }
      if (this.#fault !== undefined) this.faults.set(row, this.#fault)
      return text
    } catch (error) {
      if (error instanceof RangeError) throw damagedFileProblem(`column "${this.#node.name}"`, error)
      throw error
    }
  }

  #any(node: SchemaNode): string {
    if (node.repeated) return this.#list(node, () => this.#present(node))
    return this.#single(node)
  }

  #single(node: SchemaNode): string {
    if (node.optional && this.#first(node).definition < node.definition) return this.#absent(node, 'null')
    return this.#present(node)
  }

  #present(node: SchemaNode): string {
    switch (node.shape) {
      case 'leaf':
        return this.#value(node.leaf!)
      case 'list': {
        const { repeated, element } = elementOf(node)
        return this.#list(repeated, () => (element ? this.#single(element) : this.#present(repeated)))
      }
      case 'map':
        return this.#map(node.children[0]!)
      case 'group': {
        const members = node.children.map((child) => `${JSON.stringify(child.name)}:${this.#any(child)}`)
        return `{${members.join(',')}}`
      }
    }
  }

  #list(repeated: SchemaNode, element: () => string): string {
    return `[${this.#elements(repeated, element).join(',')}]`
  }

  #elements<T>(repeated: SchemaNode, element: () => T): T[] {
    const first = this.#first(repeated)
    if (first.definition < repeated.definition) {
      this.#absent(repeated, '')
      return []
    }
    const elements = [element()]
    while (first.repetition === repeated.repetition) elements.push(element())
    return elements
  }

  /**
   * Returns a map as a JSON object if its keys are single values, otherwise as pairs of key and value. Of duplicate
   * keys, the last value counts.
   */
  #map(entry: SchemaNode): string {
    const [key, value] = entry.children
    const pairs = this.#elements(entry, () => [this.#any(key!), value ? this.#any(value) : 'null'] as const)
    if (key!.leaf && pairs.every(([name]) => name !== 'null')) {
      return `{${pairs.map(([name, text]) => `${name.startsWith('"') ? name : JSON.stringify(name)}:${text}`).join(',')}}`
    }
    return `[${pairs.map(([name, text]) => `{"key":${name},"value":${text}}`).join(',')}]`
  }

  #value(leaf: SchemaLeaf): string {
    const cursor = this.#cursors.get(leaf)!
    if (cursor.definition < leaf.maxDefinition) throw new RangeError('levels contradict each other')
    const { reader } = cursor
    const position = cursor.take()
    const fault = reader.faults.get(position)
    if (fault !== undefined) {
      this.#fault ??= `${leaf.path} ${fault}`
      return 'null'
    }
    if ('data' in reader.vector) this.#length += reader.vector.lengths[position]!
    // The row will be rejected because of its length, so the rest of its value is skipped.
    if (this.#length > maxValueBytes) return 'null'
    return jsonOf(reader.vector, position)
  }

  #absent(node: SchemaNode, text: string): string {
    for (const leaf of node.leaves) {
      const cursor = this.#cursors.get(leaf)!
      if (cursor.definition >= node.definition) throw new RangeError('levels contradict each other')
      cursor.take()
    }
    return text
  }

  #first(node: SchemaNode): LeafCursor {
    return this.#cursors.get(node.leaves[0]!)!
  }
}

/** Returns a row's non-null value as JSON. Exact numbers keep their digits; times are ISO 8601 text. */
function jsonOf(vector: ColumnVector, row: number): string {
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
