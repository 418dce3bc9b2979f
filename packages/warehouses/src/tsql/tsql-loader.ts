import type { Connection } from 'tedious'
import type { TableFill, NewColumn, SqlType } from '../sql-warehouse/sql-dialect.ts'
import { type StreamCounts, convertCopyTuples } from '../rows/convert-copy-tuples.ts'
import { type RowContent, WarehouseProblem } from '../warehouse.ts'
import type { ClientAccess } from './tsql-settings.ts'
import { bulkCell, decimalBytes } from './bulk-cells.ts'
import { openConnection } from './session/connect.ts'
import { namesOf } from './names.ts'
import type { DataType, ParameterData } from 'tedious/lib/data-type.js'
import type { GrowingBuffer } from '../rows/cell-writer.ts'
import { digitsOf, isText } from './types.ts'

/** The byte before each row. The driver writes it before the first row of a chunk. */
const rowToken = 0xd1

/** See `Dialect.copyRows`. Uses one atomic bulk load. */
export async function bulkLoad(
  access: ClientAccess,
  { place, columns, quotedPlace }: TableFill,
  content: RowContent,
  signal: AbortSignal,
): Promise<{ rows: number; bytes: number }> {
  signal.throwIfAborted()
  const connection = await openConnection(access.logins.service)
  const counts: StreamCounts = { rows: 0, bytes: 0 }
  const writers = columns.map(({ label, type, nullable, stored }) => ({
    label,
    value: bulkCell(stored.dataType, type),
    writeNull: nullable ? createNullWriter(type) : undefined,
  }))
  let failure: unknown
  const ended = new AbortController()
  const stopSignal = AbortSignal.any([signal, ended.signal])
  async function* rows() {
    try {
      const tuples = stopOnAbort(stopSignal, content.rows(columns.map(({ stored }) => stored)))
      for await (const bytes of convertCopyTuples(tuples, writers, {
        qualifiedName: quotedPlace,
        counts,
        rowSeparator: rowToken,
      })) {
        yield [bytes]
      }
    } catch (error) {
      failure = error
      throw error
    }
  }
  const rowBatches = rows()
  try {
    const table = namesOf(access).place(place)
    const rowsWritten = await runBulkLoad(connection, table, columns, rowBatches, signal)
    if (failure !== undefined) throw failure
    if (rowsWritten !== counts.rows)
      throw new WarehouseProblem(
        'WAREHOUSE_REFUSED',
        `The warehouse stored ${rowsWritten} rows of ${quotedPlace}, but ${counts.rows} were sent. The run is retried automatically.`,
        { retryable: true },
      )
    return counts
  } catch (error) {
    signal.throwIfAborted()
    throw failure ?? error
  } finally {
    ended.abort()
    connection.close()
    // After a lost connection, the driver stops reading without reporting it, so the source is closed here.
    void rowBatches.return(undefined).catch(() => {})
  }
}

/**
 * Yields the chunks of a source. After an abort, throws the signal's reason instead of the next chunk. So cancelling a
 * slow load does not wait for a full batch.
 */
async function* stopOnAbort<Chunk>(signal: AbortSignal, chunks: AsyncIterable<Chunk>): AsyncGenerator<Chunk> {
  for await (const chunk of chunks) {
    signal.throwIfAborted()
    yield chunk
  }
}

/** Runs the bulk load and returns the number of rows that the server accepted. */
async function runBulkLoad(
  connection: Connection,
  table: string,
  columns: TableFill['columns'],
  rows: AsyncIterable<Buffer[]>,
  signal: AbortSignal,
): Promise<number> {
  const completion = Promise.withResolvers<number>()
  const load = connection.newBulkLoad(table, { keepNulls: true, lockTable: true }, (error, count) =>
    error ? completion.reject(error) : completion.resolve(count ?? 0),
  )
  // The driver adds the brackets, but does not escape brackets inside the name.
  for (const [index, column] of columns.entries())
    load.addColumn(column.name.replaceAll(']', ']]'), bulkColumn(column, index), { nullable: column.nullable })
  connection.on('end', () => completion.reject(Object.assign(new Error('Connection lost'), { code: 'ESOCKET' })))
  const stop = () => connection.close()
  signal.addEventListener('abort', stop, { once: true })
  try {
    connection.execBulkLoad(load, rows)
    return await completion.promise
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** The type declarations that precede the rows of a bulk load: a byte for the type, then its parameters. */
const typeDeclarations: Record<SqlType, number[]> = {
  smallint: [0x26, 2],
  int: [0x26, 4],
  bigint: [0x26, 8],
  bit: [0x68, 1],
  real: [0x6d, 4],
  float: [0x6d, 8],
  date: [0x28],
  'datetime2(6)': [0x2a, 6],
  'datetimeoffset(6)': [0x2b, 6],
}

/** Returns the bytes that declare a column's type before the rows of a bulk load. */
function typeInfo({ name, type }: NewColumn, collation: ParameterData['collation']): Buffer {
  const [precision, scale] = digitsOf(type)
  if (precision !== undefined) return Buffer.from([0x6a, decimalBytes(precision), precision, scale!])
  const fixed = typeDeclarations[type]
  if (fixed) return Buffer.from(fixed)
  if (!isText(type))
    throw new Error(
      `Column "${name}" has type ${type}, which a bulk load cannot write. Report this as a bug of Sluice.`,
    )
  const [, length] = /\((\d+)\)$/.exec(type) ?? []
  const text = Buffer.from([0xe7, 0, 0, 0, 0, 0, 0, 0])
  text.writeUInt16LE(length === undefined ? 0xffff : 2 * Number(length), 1)
  collation?.toBuffer().copy(text, 3, 0, 5)
  return text
}

/** Returns the writer of NULL: a length of zero or, for texts, a length with all bits set. */
function createNullWriter(type: SqlType): (out: GrowingBuffer) => void {
  const hasLimit = /\(\d+\)$/.test(type)
  const textBytes = hasLimit ? 2 : 8
  const bytes = isText(type) ? textBytes : 1
  return (out) => {
    out.bytes.fill(isText(type) ? 0xff : 0, out.position, out.position + bytes)
    out.position += bytes
  }
}

const noBytes = Buffer.alloc(0)

/**
 * Returns a column in the driver's form for a bulk load. The driver would encode values one by one and lose digits. So
 * the first column's value contains the bytes of many encoded rows, and the other columns have no values.
 */
function bulkColumn(column: NewColumn, index: number): DataType {
  return {
    id: 0,
    type: 'BYTES',
    name: 'Bytes',
    declaration: () => column.type,
    generateTypeInfo: ({ collation }) => typeInfo(column, collation),
    generateParameterLength: () => noBytes,
    *generateParameterData({ value }) {
      if (index === 0) yield value as Buffer
    },
    validate: (value: unknown) => value,
  }
}
