import type { Connection } from 'tedious'
import type { TableFill, NewColumn, SqlType } from '../sql-warehouse/sql-dialect.ts'
import { type StreamCounts, convertCopyTuples } from '../rows/convert-copy-tuples.ts'
import { type RowContent, WarehouseProblem } from '../warehouse.ts'
import type { ClientAccess } from './tsql-settings.ts'
import { bulkCell, decimalBytes } from './bulk-cells.ts'
import { openConnection } from './session/connect.ts'
import { namesOf } from './sql-identifiers.ts'
import type { DataType, ParameterData } from 'tedious/lib/data-type.js'
import type { GrowingBuffer } from '../rows/cell-writer.ts'
import { digitsOf, isText } from './column-types.ts'

/** The byte before each row. The driver writes it before the first row of a chunk. */
const rowToken = 0xd1

/** See `SqlDialect.copyRows`. Uses one atomic bulk load. */
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
    writeValue: bulkCell(stored.dataType, type),
    writeNull: nullable ? createNullWriter(type) : undefined,
  }))
  // The driver replaces an error of the rows by its own, so the original error is stored here.
  let rowsError: unknown
  // Aborted when this function ends, so that it does not read further rows.
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
      rowsError = error
      throw error
    }
  }
  const rowBatches = rows()
  try {
    const table = namesOf(access).place(place)
    const rowsWritten = await runBulkLoad(connection, table, columns, rowBatches, signal)
    if (rowsError !== undefined) throw rowsError
    if (rowsWritten !== counts.rows)
      throw new WarehouseProblem(
        'WAREHOUSE_REFUSED',
        `The warehouse stored ${rowsWritten} rows of ${quotedPlace}, but ${counts.rows} were sent. The run is retried automatically.`,
        { retryable: true },
      )
    return counts
  } catch (error) {
    signal.throwIfAborted()
    throw rowsError ?? error
  } finally {
    ended.abort()
    connection.close()
    // After a lost connection, the driver stops reading without reporting it, so the source is closed here.
    void rowBatches.return(undefined).catch(() => {})
  }
}

/**
 * Yields the chunks of a source. After an abort, throws the signal's reason instead of yielding the next chunk. So the
 * cancellation of a slow load does not wait for a full batch.
 */
async function* stopOnAbort<Chunk>(signal: AbortSignal, chunks: AsyncIterable<Chunk>): AsyncGenerator<Chunk> {
  for await (const chunk of chunks) {
    signal.throwIfAborted()
    yield chunk
  }
}

/**
 * Runs the bulk load and returns the number of rows that the server accepted. Closes the connection if `signal` aborts.
 */
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
  // The driver ends silently after a lost connection. The code is the driver's code of connection errors.
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

/** The first byte of a type declaration in the TDS protocol. */
const typeTokens = {
  integer: 0x26,
  date: 0x28,
  datetime2: 0x2a,
  datetimeoffset: 0x2b,
  bit: 0x68,
  decimal: 0x6a,
  float: 0x6d,
  nvarchar: 0xe7,
}

/** The declarations of types without a variable size: the token, then the length in bytes or the number of decimals. */
const typeDeclarations: Record<SqlType, number[]> = {
  smallint: [typeTokens.integer, 2],
  int: [typeTokens.integer, 4],
  bigint: [typeTokens.integer, 8],
  bit: [typeTokens.bit, 1],
  real: [typeTokens.float, 4],
  float: [typeTokens.float, 8],
  date: [typeTokens.date],
  'datetime2(6)': [typeTokens.datetime2, 6],
  'datetimeoffset(6)': [typeTokens.datetimeoffset, 6],
}

/** The declared length of a text of unlimited length. */
const unlimitedLength = 0xffff
const collationBytes = 5

/** Returns the bytes that declare a column's type before the rows of a bulk load. */
function declareType({ name, type }: NewColumn, collation: ParameterData['collation']): Buffer {
  const [precision, scale] = digitsOf(type)
  if (precision !== undefined) return Buffer.from([typeTokens.decimal, decimalBytes(precision), precision, scale!])
  const declaration = typeDeclarations[type]
  if (declaration) return Buffer.from(declaration)
  if (!isText(type))
    throw new Error(
      `Column "${name}" has type ${type}, which a bulk load cannot write. Report this as a bug of Sluice.`,
    )
  // A text is declared by its token, its length in bytes (two per UTF-16 code unit) and its collation.
  const [, codeUnits] = /\((\d+)\)$/.exec(type) ?? []
  const bytes = Buffer.alloc(1 + 2 + collationBytes)
  bytes.writeUInt8(typeTokens.nvarchar, 0)
  bytes.writeUInt16LE(codeUnits === undefined ? unlimitedLength : 2 * Number(codeUnits), 1)
  collation?.toBuffer().copy(bytes, 3, 0, collationBytes)
  return bytes
}

/**
 * Returns the writer of NULL. For a text, NULL is a length with all bits set, which has 2 bytes, or 8 bytes if the
 * column's length is unlimited. For other types, NULL is a length of zero, which has one byte.
 */
function createNullWriter(type: SqlType): (out: GrowingBuffer) => void {
  if (!isText(type))
    return (out) => {
      out.bytes[out.position++] = 0
    }
  const isLimited = /\(\d+\)$/.test(type)
  const lengthBytes = isLimited ? 2 : 8
  return (out) => {
    out.bytes.fill(0xff, out.position, out.position + lengthBytes)
    out.position += lengthBytes
  }
}

const noBytes = Buffer.alloc(0)

/**
 * Returns a column in the driver's form for a bulk load. If the driver encoded the values, it would encode them one by
 * one and lose digits. So each "row" that the driver receives is a chunk of many rows that are already encoded. The
 * driver calls `generateParameterData` of each column for each row: the first column writes the chunk, and the others
 * write nothing.
 */
function bulkColumn(column: NewColumn, index: number): DataType {
  return {
    id: 0,
    type: 'BYTES',
    name: 'Bytes',
    declaration: () => column.type,
    generateTypeInfo: ({ collation }) => declareType(column, collation),
    generateParameterLength: () => noBytes,
    *generateParameterData({ value }) {
      if (index === 0) yield value as Buffer
    },
    validate: (value: unknown) => value,
  }
}
