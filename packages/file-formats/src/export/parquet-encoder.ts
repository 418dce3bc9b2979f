import { ByteWriter, type ColumnSource, ParquetWriter, type SchemaElement } from 'hyparquet-writer'
import type { CellText, ExportedColumn, FileEncoder } from './exported-column.ts'
import {
  findFixedDecimal,
  mapCells,
  parseDays,
  parseFloatText,
  parseMicroseconds,
  parseUnscaled,
} from './typed-cells.ts'

/**
 * Encodes rows as Parquet, one row group per call of `write`. JSON, and decimals without a fixed number of digits,
 * become texts.
 */
export function parquetEncoder(columns: readonly ExportedColumn[]): FileEncoder {
  const bytes = new ByteWriter()
  const elements = columns.map(createSchemaElement)
  const writer = new ParquetWriter({
    writer: bytes,
    schema: [{ name: 'schema', num_children: columns.length }, ...elements],
    createdBy: 'sluice',
  })
  /** Returns the bytes that were written since the last call. */
  const takeBytes = (): Uint8Array[] => {
    if (bytes.index === 0) return []
    const writtenBytes = bytes.getBytes().slice()
    // `offset`, the position in the file, must continue, so only the buffer is reset.
    bytes.index = 0
    return [writtenBytes]
  }
  return {
    write(cells) {
      const columnData: ColumnSource[] = columns.map((column, index) => ({
        name: elements[index]!.name,
        data: toParquetValues(column, cells[index]!),
      }))
      const rowGroupSize = Math.max(1, cells[0]!.length)
      void writer.write({ columnData, rowGroupSize })
      return takeBytes()
    },
    end() {
      void writer.finish()
      return takeBytes()
    },
  }
}

/** Returns the Parquet type of a column. Every column may contain nulls. */
function createSchemaElement(column: ExportedColumn): SchemaElement {
  const element = { name: column.name, repetition_type: 'OPTIONAL' } as const
  switch (column.dataType) {
    case 'SMALLINT':
      return { ...element, type: 'INT32', converted_type: 'INT_16' }
    case 'INTEGER':
      return { ...element, type: 'INT32' }
    case 'BIGINT':
      return { ...element, type: 'INT64' }
    case 'FLOAT':
      return { ...element, type: 'FLOAT' }
    case 'DOUBLE':
      return { ...element, type: 'DOUBLE' }
    case 'BOOLEAN':
      return { ...element, type: 'BOOLEAN' }
    case 'DATE':
      return { ...element, type: 'INT32', converted_type: 'DATE' }
    case 'TIMESTAMP':
    case 'TIMESTAMPTZ':
      return {
        ...element,
        type: 'INT64',
        logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: column.dataType === 'TIMESTAMPTZ', unit: 'MICROS' },
      }
    default: {
      const decimal = findFixedDecimal(column)
      if (!decimal) return { ...element, type: 'BYTE_ARRAY', converted_type: 'UTF8' }
      return { ...element, type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16, converted_type: 'DECIMAL', ...decimal }
    }
  }
}

/** Converts the cells of a column to the values that the Parquet library encodes. */
function toParquetValues(column: ExportedColumn, cells: readonly CellText[]): unknown[] {
  const { name, dataType } = column
  switch (dataType) {
    case 'SMALLINT':
    case 'INTEGER':
      return mapCells(cells, Number)
    case 'BIGINT':
      return mapCells(cells, BigInt)
    case 'FLOAT':
    case 'DOUBLE':
      return mapCells(cells, parseFloatText)
    case 'BOOLEAN':
      return mapCells(cells, (text) => text === 'true')
    case 'DATE':
      return mapCells(cells, (text) => parseDays(text, name))
    case 'TIMESTAMP':
    case 'TIMESTAMPTZ':
      return mapCells(cells, (text) => parseMicroseconds(text, name))
    default: {
      const decimal = findFixedDecimal(column)
      return decimal ? mapCells(cells, (text) => parseUnscaled(text, decimal.scale, name)) : [...cells]
    }
  }
}
