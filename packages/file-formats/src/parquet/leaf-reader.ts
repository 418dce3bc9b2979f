import type { DataType } from '@sluice/contracts'
import { type ColumnVector, emptyVector } from '@sluice/row-stream'
import type { ColumnMetaData } from 'hyparquet'
import type { MemoryBudget, ParquetLimits } from './limits.ts'
import { damagedFileProblem, FileProblem } from './file-problems.ts'
import { type ConversionReporter, createFillFunction, type FillFunction } from './fill-vector.ts'
import type { ParquetFile } from './parquet-file.ts'
import { HybridReader } from './rle-hybrid.ts'
import { type DataPage, PageReader } from './page-reader.ts'
import type { SchemaLeaf } from './schema.ts'
import { type DecodedValues, freeValues, freeBuffer, NotTextError, decodeValues } from './decode-values.ts'

const noBytes = new Uint8Array(0)

/**
 * Reads the values of one leaf column, batch by batch, through all row groups. At most one page and one dictionary are
 * in memory, so a row group may have any size. Throws FileProblem with the name of the column if its bytes are damaged.
 */
export class LeafReader implements ConversionReporter {
  readonly leaf: SchemaLeaf
  /** The entries of the last `fill`. An entry of a flat column is a row; in a list, a row has several entries. */
  readonly vector: ColumnVector
  readonly definitions: Uint8Array
  readonly repetitions: Uint8Array
  /** For each entry of the last `fill` that the warehouse cannot store: its index and the reason. */
  readonly faults = new Map<number, string>()
  /** The number of values until now that lost digits. */
  truncatedValues = 0
  readonly #valueIndexes: Int32Array
  readonly #file: ParquetFile
  readonly #budget: MemoryBudget
  readonly #limits: ParquetLimits
  readonly #fill: FillFunction
  #pages: PageReader | undefined
  #dictionary: DecodedValues | undefined
  #values: DecodedValues | undefined
  #page: DataPage | undefined
  /** The dictionary indexes of the page, if it is dictionary-encoded. */
  #dictionaryIndexes: HybridReader | undefined
  #reservedBytes = 0
  /** The index of the next value in `#values`, if the page is not dictionary-encoded. */
  #nextValueIndex = 0
  #leftInPage = 0
  #leftInChunk = 0

  constructor(file: ParquetFile, leaf: SchemaLeaf, dataType: DataType, budget: MemoryBudget, limits: ParquetLimits) {
    const { kind, scale } = leaf.type
    this.leaf = leaf
    this.vector = emptyVector(kind, limits.maxBatchRows, scale)
    this.definitions = new Uint8Array(limits.maxBatchRows)
    this.repetitions = new Uint8Array(limits.maxBatchRows)
    this.#valueIndexes = new Int32Array(limits.maxBatchRows)
    this.#file = file
    this.#budget = budget
    this.#limits = limits
    this.#fill = createFillFunction(leaf.type, dataType)
  }

  /** Starts reading the leaf's column chunk of the next row group. */
  open(chunk: ColumnMetaData): void {
    this.#runDecoder(() => {
      if (chunk.type !== this.leaf.type.physical) throw new RangeError('it has another type than the schema says')
      this.#pages = new PageReader(this.#file, chunk, this.leaf, this.#budget)
    })
    this.#releasePage()
    if (this.#dictionary) freeValues(this.#dictionary)
    this.#dictionary = undefined
    this.#budget.release(this.#reservedBytes)
    this.#reservedBytes = 0
    this.#leftInPage = 0
    this.#leftInChunk = Number(chunk.num_values)
  }

  get bytesRead(): number {
    return this.#pages?.bytesRead ?? 0
  }

  /**
   * Returns the number of entries that the current page still has, or 0 at the end of the chunk. If the current page is
   * used up, opens the next one.
   */
  available(): number {
    if (this.#leftInPage === 0 && this.#leftInChunk > 0) this.#runDecoder(() => this.#openNextPage())
    return this.#leftInPage
  }

  /** Fills the next entries. `count` must not exceed `available()`. */
  fill(count: number): void {
    this.faults.clear()
    this.#runDecoder(() => this.#fillFrom(this.#page!, count))
    this.#leftInPage -= count
    this.#leftInChunk -= count
  }

  reportFault(row: number, reason: string): void {
    this.faults.set(row, reason)
  }

  reportTruncation(): void {
    this.truncatedValues++
  }

  /** Opens the next page that has entries: decodes its values, or its dictionary indexes. */
  #openNextPage(): void {
    this.#releasePage()
    do {
      this.#page = this.#pages!.next(({ valueCount, body }) => {
        this.#dictionary = decodeValues(body, 'PLAIN', valueCount, this.leaf.type, this.#limits.maxPageBytes)
        this.#reserve(body.length)
      })
      if (!this.#page) throw new RangeError('values are missing')
    } while (this.#page.entries === 0)
    const { entries, encoding, body, valueCount } = this.#page
    if (entries > this.#leftInChunk) throw new RangeError('there are more values than announced')
    this.#reserve(body.length)
    this.#leftInPage = entries
    this.#nextValueIndex = 0
    const usesDictionary = encoding === 'RLE_DICTIONARY' || encoding === 'PLAIN_DICTIONARY'
    if (!usesDictionary) {
      this.#values = decodeValues(body, encoding, valueCount ?? entries, this.leaf.type, this.#limits.maxPageBytes)
      return
    }
    if (body.length === 0) return
    if (!this.#dictionary) throw new RangeError('a dictionary is missing')
    this.#values = this.#dictionary
    const bitsPerIndex = body[0]!
    this.#dictionaryIndexes = new HybridReader(body, 1, body.length, bitsPerIndex)
  }

  /** Reads the levels and values of the next `count` entries of a page. */
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

  /**
   * Determines the index of each entry's value in `#values`, or -1 for a null. Of the `count` entries, `presentCount`
   * have a value.
   */
  #findValueIndexes(count: number, presentCount: number): void {
    const valueIndexes = this.#valueIndexes
    const { nulls } = this.vector
    const valueCount = this.#values?.count ?? 0
    if (this.#dictionaryIndexes) {
      this.#dictionaryIndexes.read(valueIndexes, presentCount)
      for (let i = 0; i < presentCount; i++) {
        // An index of 2^31 or more was read as a negative number.
        const unsignedIndex = valueIndexes[i]! >>> 0
        if (unsignedIndex >= valueCount) throw new RangeError('a value is not in the dictionary')
      }
      // The indexes are at the start of the array. Moves each to its entry, from the last to the first, so that none is
      // overwritten before it is moved. Once `from` reaches `i`, no nulls are left, and the other indexes are in place.
      for (let i = count - 1, from = presentCount - 1; i >= 0 && from < i; i--)
        valueIndexes[i] = nulls[i] ? -1 : valueIndexes[from--]!
      return
    }
    if (this.#nextValueIndex + presentCount > valueCount) throw new RangeError('values are missing')
    let nextValueIndex = this.#nextValueIndex
    for (let i = 0; i < count; i++) valueIndexes[i] = nulls[i] ? -1 : nextValueIndex++
    this.#nextValueIndex = nextValueIndex
  }

  #reserve(bytes: number): void {
    this.#reservedBytes += bytes
    this.#budget.reserve(bytes)
  }

  /** Frees the current page. Keeps the dictionary, which the next pages of the chunk need too. */
  #releasePage(): void {
    if (this.#values && this.#values !== this.#dictionary) freeValues(this.#values)
    if (this.#page) freeBuffer(this.#page.memory)
    this.#page = undefined
    this.#values = undefined
    this.#dictionaryIndexes = undefined
    const dictionaryBytes = this.#dictionary?.bytes.length ?? 0
    this.#budget.release(this.#reservedBytes - dictionaryBytes)
    this.#reservedBytes = dictionaryBytes
  }

  /** Calls `decode`. Rethrows any error of the decoders as FileProblem, because damaged bytes may cause any error. */
  #runDecoder(decode: () => void): void {
    try {
      decode()
    } catch (error) {
      if (error instanceof FileProblem || error instanceof NotTextError) throw error
      throw damagedFileProblem(`column "${this.leaf.path}"`, error)
    }
  }
}
