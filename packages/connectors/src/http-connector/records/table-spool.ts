import type { FileHandle } from 'node:fs/promises'
import { openSpoolFile, writeSpool } from '@sluice/file-formats/spool/spool-file'
import { tooLargeProblem } from '@sluice/file-formats/spool/spool-writer'
import { SourceProblem } from '@sluice/row-stream'
import { type FlattenedRow, TEXT_VALUE } from './flatten-record.ts'
import type { KnownColumn } from '../declared-column.ts'

/** The rows of a table on disk: a line of JSON for each row. It is plain data, so that a thread can send it. */
export interface SpooledTable {
  name: string
  key: readonly string[]
  /** Declared columns by path, whether or not records contain them. */
  declaredColumns: ReadonlyMap<string, KnownColumn>
  /**
   * The kinds of values in each column, as bit flags such as TEXT_VALUE, by the column's path. The columns are in the
   * order of their first occurrence.
   */
  valueKinds: Map<string, number>
  rowCount: number
  size: number
  /** An unnamed file. Its owner must close it. Absent if the table has no rows. */
  file?: FileHandle | undefined
}

/** True if all values of a column are texts. */
export const isTextColumn = ({ valueKinds }: SpooledTable, path: string): boolean => valueKinds.get(path) === TEXT_VALUE

/** Closes the file of a table, which frees its disk space. */
export async function closeTable(table: SpooledTable): Promise<void> {
  const { file } = table
  table.file = undefined
  await file?.close()
}

const bufferBytes = 64 * 1024
const emptyBuffer = Buffer.alloc(0)
// Character codes.
const lineFeedByte = 0x0a
const commaByte = 0x2c
const openObject = 0x7b
const closeObject = 0x7d
/** Bytes of a line besides its fields: braces, comma and line feed. */
const lineBytes = 4
const maxColumnsPerTable = 1_600

/** Writes the rows of a table to disk. */
export class TableSpool {
  readonly spooled: SpooledTable
  readonly #maxBytes: number
  #buffer = emptyBuffer
  #buffered = 0

  constructor(name: string, key: readonly string[], knownColumns: readonly KnownColumn[], maxBytes: number) {
    const declaredColumns = new Map(knownColumns.map((column) => [column.path, column]))
    this.spooled = { name, key, declaredColumns, valueKinds: new Map(), rowCount: 0, size: 0 }
    this.#maxBytes = maxBytes
  }

  /** True if the table has rows but no file yet. */
  get needsFile(): boolean {
    return this.spooled.rowCount > 0 && !this.spooled.file
  }

  /** Creates the file. Rows stay in memory until then. */
  async openFile(directory: string): Promise<void> {
    this.spooled.file = await openSpoolFile(directory)
  }

  /**
   * Adds a row. Its fields are the bytes between `from` and `to`. The first row also has the columns that are always
   * created.
   */
  add(bytes: Buffer, { from, to, newKinds }: FlattenedRow): void {
    const emptyFields = this.spooled.rowCount === 0 ? Buffer.from(this.#addEmptyColumns()) : emptyBuffer
    for (const { column, kind } of newKinds) {
      this.#addKind(column.path, kind)
      column.kinds |= kind
    }
    this.spooled.rowCount += 1
    this.#reserve(emptyFields.length + to - from + lineBytes)
    const buffer = this.#buffer
    let position = this.#buffered
    buffer[position++] = openObject
    if (emptyFields.length > 0) {
      position += emptyFields.copy(buffer, position)
      if (to > from) buffer[position++] = commaByte
    }
    position += bytes.copy(buffer, position, from, to)
    buffer[position++] = closeObject
    buffer[position++] = lineFeedByte
    this.#buffered = position
  }

  /** Makes space in the buffer. Rows stay in memory until the table has a file. */
  #reserve(count: number): void {
    if (this.spooled.file && this.#buffered + count > this.#buffer.length) this.flush()
    if (this.#buffered + count <= this.#buffer.length) return
    const largerBuffer = Buffer.allocUnsafeSlow(Math.max(bufferBytes, this.#buffered + 2 * count))
    this.#buffer.copy(largerBuffer, 0, 0, this.#buffered)
    this.#buffer = largerBuffer
  }

  /** Writes the rows in memory to the file. */
  flush(): void {
    if (this.#buffered === 0) return
    const { name, file, size } = this.spooled
    const bytes = this.#buffer.subarray(0, this.#buffered)
    this.#buffered = 0
    // The memory of large rows is freed.
    if (this.#buffer.length > bufferBytes) this.#buffer = emptyBuffer
    if (size + bytes.length > this.#maxBytes) throw tooLargeProblem(name, this.#maxBytes)
    writeSpool(file!.fd, bytes, size)
    this.spooled.size += bytes.length
  }

  /** Adds the columns that are always created. Returns them as fields of a JSON object with the value null. */
  #addEmptyColumns(): string {
    const columns = [...this.spooled.declaredColumns.values()].filter(({ isAlwaysCreated }) => isAlwaysCreated)
    const paths = columns.map(({ path }) => path)
    for (const path of paths) this.#addKind(path, 0)
    return paths.map((path) => `${JSON.stringify(path)}:null`).join()
  }

  /** Adds a kind of values to a column. Adds the column if it is new. Throws TOO_MANY_COLUMNS. */
  #addKind(path: string, kind: number): void {
    const kinds = this.spooled.valueKinds.get(path)
    if (kinds === undefined && this.spooled.valueKinds.size === maxColumnsPerTable)
      throw new SourceProblem(
        'TOO_MANY_COLUMNS',
        `The records of ${this.spooled.name} have more than ${maxColumnsPerTable} different fields, the maximum of a table. Select fewer fields, or load them with several pipelines.`,
      )
    this.spooled.valueKinds.set(path, (kinds ?? 0) | kind)
  }
}
