import type { DataType } from '@sluice/contracts'
import { type ColumnVector, emptyVector } from '@sluice/row-stream'
import type { ColumnMetaData } from 'hyparquet'
import type { MemoryBudget, ParquetLimits } from './limits.ts'
import { damagedFileProblem, FileProblem } from './file-problems.ts'
import { type ConversionNotes, createFillFunction, type FillFunction } from './fill-vector.ts'
import type { ParquetFile } from './footer.ts'
import { HybridReader } from './rle-hybrid.ts'
import { type DataPage, PageReader } from './pages.ts'
import type { SchemaLeaf } from './schema.ts'
import { type DecodedValues, freeValues, freeBuffer, NotText, readValues } from './decode-values.ts'

const noBytes = new Uint8Array(0)

/**
 * Reads the values of one leaf column, batch by batch, over all row groups. Holds at most one page and one dictionary
 * in memory, so a row group may have any size. Errors that the bytes cause are thrown as FileProblem with the column's
 * name.
 */
export class LeafReader implements ConversionNotes {
  readonly leaf: SchemaLeaf
  /** The entries filled last. In a flat column, an entry is a row; in a list, a row has several entries. */
  readonly vector: ColumnVector
  readonly definitions: Uint8Array
  readonly repetitions: Uint8Array
  /** For each entry of the last `fill` that the warehouse cannot store: its index and the reason. */
  readonly faults = new Map<number, string>()
  /** The number of values that lost digits until now. */
  cuts = 0
  readonly #valueIndexes: Int32Array
  readonly #file: ParquetFile
  readonly #budget: MemoryBudget
  readonly #limits: ParquetLimits
  readonly #fill: FillFunction
  #pages: PageReader | undefined
  #dictionary: DecodedValues | undefined
  #values: DecodedValues | undefined
  #page: DataPage | undefined
  /** The page's dictionary indexes, if the page is dictionary-encoded. */
  #indices: HybridReader | undefined
  #held = 0
  #next = 0
  #leftInPage = 0
  #leftInChunk = 0

  constructor(file: ParquetFile, leaf: SchemaLeaf, dataType: DataType, budget: MemoryBudget, limits: ParquetLimits) {
    const { kind, scale } = leaf.type
    this.leaf = leaf
    this.vector = emptyVector(kind, limits.batchRows, scale)
    this.definitions = new Uint8Array(limits.batchRows)
    this.repetitions = new Uint8Array(limits.batchRows)
    this.#valueIndexes = new Int32Array(limits.batchRows)
    this.#file = file
    this.#budget = budget
    this.#limits = limits
    this.#fill = createFillFunction(leaf.type, dataType)
  }

  /** Starts reading the leaf's column chunk of the next row group. */
  open(chunk: ColumnMetaData): void {
    this.#guard(() => {
      if (chunk.type !== this.leaf.type.physical) throw new RangeError('it has another type than the schema says')
      this.#pages = new PageReader(this.#file, chunk, this.leaf, this.#budget)
    })
    this.#drop()
    if (this.#dictionary) freeValues(this.#dictionary)
    this.#dictionary = undefined
    this.#budget.hold(-this.#held)
    this.#held = 0
    this.#leftInPage = 0
    this.#leftInChunk = Number(chunk.num_values)
  }

  get bytesRead(): number {
    return this.#pages?.bytesRead ?? 0
  }

  /** Returns the number of entries that can be filled without reading another page, or 0 at the end of the chunk. */
  available(): number {
    if (this.#leftInPage === 0 && this.#leftInChunk > 0) this.#guard(() => this.#nextPage())
    return this.#leftInPage
  }

  /** Fills the next entries. `count` must not exceed `available()`. */
  fill(count: number): void {
    this.faults.clear()
    this.#guard(() => this.#fillFrom(this.#page!, count))
    this.#leftInPage -= count
    this.#leftInChunk -= count
  }

  fault(row: number, reason: string): void {
    this.faults.set(row, reason)
  }

  cut(): void {
    this.cuts++
  }

  /** Opens the next page with entries, with its values or the indexes of its values in the dictionary. */
  #nextPage(): void {
    this.#drop()
    do {
      this.#page = this.#pages!.next(({ values, body }) => {
        this.#dictionary = readValues(body, 'PLAIN', values, this.leaf.type, this.#limits.pageBytes)
        this.#hold(body.length)
      })
      if (!this.#page) throw new RangeError('values are missing')
    } while (this.#page.entries === 0)
    const { entries, encoding, body, values } = this.#page
    if (entries > this.#leftInChunk) throw new RangeError('there are more values than announced')
    this.#hold(body.length)
    this.#leftInPage = entries
    this.#next = 0
    if (encoding !== 'RLE_DICTIONARY' && encoding !== 'PLAIN_DICTIONARY') {
      this.#values = readValues(body, encoding, values ?? entries, this.leaf.type, this.#limits.pageBytes)
      return
    }
    if (body.length === 0) return
    if (!this.#dictionary) throw new RangeError('a dictionary is missing')
    this.#values = this.#dictionary
    this.#indices = new HybridReader(body, 1, body.length, body[0]!)
  }

  /** Reads the levels and values of the next `count` entries of a page into the vector. */
  #fillFrom(page: DataPage, count: number): void {
    const { maxDefinition } = this.leaf
    const { nulls } = this.vector
    page.repetitions?.read(this.repetitions, count)
    let valueCount = count
    if (page.definitions) {
      page.definitions.read(this.definitions, count)
      valueCount = 0
      for (let i = 0; i < count; i++) {
        const hasValue = this.definitions[i] === maxDefinition
        nulls[i] = hasValue ? 0 : 1
        if (hasValue) valueCount++
      }
    } else nulls.fill(0, 0, count)
    if (valueCount > 0 && !this.#values) throw new RangeError('values are missing')
    this.#findValueIndexes(count, valueCount)
    if (this.#values) this.#fill(this.#values, this.#valueIndexes, count, this.vector, this)
    // The vector's previous data may refer to freed memory.
    else if ('data' in this.vector) this.vector.data = noBytes
  }

  /** Computes, for each entry, the index of its value among the values of the page or dictionary. */
  #findValueIndexes(count: number, valuesInPage: number): void {
    const valueIndexes = this.#valueIndexes
    const { nulls } = this.vector
    const valueCount = this.#values?.count ?? 0
    if (this.#indices) {
      this.#indices.read(valueIndexes, valuesInPage)
      // An index beyond 2^31 appears as negative.
      for (let i = 0; i < valuesInPage; i++)
        if (valueIndexes[i]! >>> 0 >= valueCount) throw new RangeError('a value is not in the dictionary')
      // Moves the present values to their entries in reverse order, which needs no second array.
      for (let i = count - 1, from = valuesInPage - 1; i >= 0 && from < i; i--)
        valueIndexes[i] = nulls[i] ? -1 : valueIndexes[from--]!
      return
    }
    if (this.#next + valuesInPage > valueCount) throw new RangeError('values are missing')
    let nextValue = this.#next
    for (let i = 0; i < count; i++) valueIndexes[i] = nulls[i] ? -1 : nextValue++
    this.#next = nextValue
  }

  #hold(bytes: number): void {
    this.#held += bytes
    this.#budget.hold(bytes)
  }

  #drop(): void {
    if (this.#values && this.#values !== this.#dictionary) freeValues(this.#values)
    if (this.#page) freeBuffer(this.#page.memory)
    this.#page = undefined
    this.#values = undefined
    this.#indices = undefined
    const dictionaryBytes = this.#dictionary?.bytes.length ?? 0
    this.#budget.hold(dictionaryBytes - this.#held)
    this.#held = dictionaryBytes
  }

  #guard(run: () => void): void {
    try {
      run()
    } catch (error) {
      if (error instanceof FileProblem || error instanceof NotText) throw error
      throw damagedFileProblem(`column "${this.leaf.path}"`, error)
    }
  }
}
