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
  fixedDecimalOf,
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
  const encode = (cells: readonly (readonly CellText[])[]): Uint8Array =>
    tableToIPC(tableFromColumns(columns.map((column, index) => [column.name, arrowColumn(column, cells[index]!)])), {
      format: 'stream',
    })!
  const withoutRows = encode(columns.map(() => []))
  const schema = withoutRows.subarray(0, withoutRows.length - frameBytes)
  const endOfStream = withoutRows.subarray(schema.length)
  let hasSchema = false
  const beginStream = (): Uint8Array[] => {
    if (hasSchema) return []
    hasSchema = true
    return [schema]
  }
  return {
    write(cells) {
      const encoded = encode(cells)
      return [...beginStream(), encoded.subarray(schema.length, encoded.length - frameBytes)]
    },
    end: () => [...beginStream(), endOfStream],
  }
}

function arrowColumn(column: ExportedColumn, cells: readonly CellText[]): Column<unknown> {
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
      // Built from integers, because the library's own conversion from milliseconds rounds.
      const integers = from(
        mapCells(cells, (text) => parseMicroseconds(text, name)),
        int64(),
      )
      return new Column([...integers.data], timestamp(TimeUnit.MICROSECOND, dataType === 'TIMESTAMPTZ' ? 'UTC' : null))
    }
    default: {
      const decimal = fixedDecimalOf(column)
      if (!decimal) return from([...cells], utf8())
      return from(
        mapCells(cells, (text) => parseUnscaled(text, decimal.scale, name)),
        decimal128(decimal.precision, decimal.scale),
      )
    }
  }
}
