import {
  bool,
  Column,
  columnFromArray,
  type DataType as ArrowType,
  dateDay,
  decimal128,
  float32,
  float64,
  int16,
  int32,
  int64,
  tableFromColumns,
  tableToIPC,
  TimeUnit,
  timestamp,
  utf8,
} from '@uwdata/flechette'
import type { CellText, ExportedColumn, FileEncoder } from './exported-column.ts'
import {
  findFixedDecimal,
  mapCells,
  dayMilliseconds,
  parseDays,
  parseFloatText,
  parseMicroseconds,
  parseUnscaled,
} from './typed-cells.ts'

/** The bytes of a marker and a length. They start each message and, with length 0, end the stream. */
const frameBytes = 8

/**
 * Encodes rows as an Arrow IPC stream, one record batch per call of `write`. The library encodes only whole streams, so
 * each batch is encoded as a stream, and the schema and end marker are removed. Format:
 * https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format
 */
export function arrowEncoder(columns: readonly ExportedColumn[]): FileEncoder {
  const encodeStream = (cells: readonly (readonly CellText[])[]): Uint8Array => {
    const table = tableFromColumns(
      columns.map((column, index) => [column.name, createArrowColumn(column, cells[index]!)]),
    )
    return tableToIPC(table, { format: 'stream' })!
  }
  const streamWithoutRows = encodeStream(columns.map(() => []))
  const schema = streamWithoutRows.subarray(0, streamWithoutRows.length - frameBytes)
  const endMarker = streamWithoutRows.subarray(schema.length)
  let isSchemaWritten = false
  /** Returns the schema the first time, and nothing afterwards. */
  const schemaOnce = (): Uint8Array[] => {
    if (isSchemaWritten) return []
    isSchemaWritten = true
    return [schema]
  }
  return {
    write(cells) {
      const stream = encodeStream(cells)
      const recordBatch = stream.subarray(schema.length, stream.length - frameBytes)
      return [...schemaOnce(), recordBatch]
    },
    end: () => [...schemaOnce(), endMarker],
  }
}

/** Returns the cells of a column as Arrow values. JSON, and decimals without a fixed number of digits, become texts. */
function createArrowColumn(column: ExportedColumn, cells: readonly CellText[]): Column<unknown> {
  const { name, dataType } = column
  const from = (values: unknown[], type: ArrowType) => columnFromArray(values, type) as Column<unknown>
  switch (dataType) {
    case 'SMALLINT':
      return from(mapCells(cells, Number), int16())
    case 'INTEGER':
      return from(mapCells(cells, Number), int32())
    case 'BIGINT':
      return from(mapCells(cells, BigInt), int64())
    case 'FLOAT':
      return from(mapCells(cells, parseFloatText), float32())
    case 'DOUBLE':
      return from(mapCells(cells, parseFloatText), float64())
    case 'BOOLEAN':
      return from(
        mapCells(cells, (text) => text === 'true'),
        bool(),
      )
    case 'DATE':
      return from(
        mapCells(cells, (text) => parseDays(text, name) * dayMilliseconds),
        dateDay(),
      )
    case 'TIMESTAMP':
    case 'TIMESTAMPTZ': {
      // The library would convert timestamps from milliseconds and round them, so they are made from integers.
      const integers = from(
        mapCells(cells, (text) => parseMicroseconds(text, name)),
        int64(),
      )
      return new Column([...integers.data], timestamp(TimeUnit.MICROSECOND, dataType === 'TIMESTAMPTZ' ? 'UTC' : null))
    }
    default: {
      const decimal = findFixedDecimal(column)
      if (!decimal) return from([...cells], utf8())
      return from(
        mapCells(cells, (text) => parseUnscaled(text, decimal.scale, name)),
        decimal128(decimal.precision, decimal.scale),
      )
    }
  }
}
