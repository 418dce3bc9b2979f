import type { ColumnChunk, FileMetaData, SchemaElement } from 'hyparquet'

/** hyparquet gives what the bytes say, of whatever type they say. Throws RangeError unless all that is used is of its own type. */
export function assertSane({ schema, row_groups: groups }: FileMetaData): void {
  for (const element of schema) assertElement(element)
  for (const { columns, num_rows: rows } of groups) {
    if (typeof rows !== 'bigint' || rows < 0n) throw new RangeError('a row group has no number of rows')
    for (const column of columns) assertChunk(column)
  }
}

function assertElement({ name, num_children, type_length, scale, precision, logical_type }: SchemaElement): void {
  const { bitWidth, scale: digits, precision: all } = { ...logical_type } as Record<string, unknown>
  const numbers = [num_children, type_length, scale, precision, bitWidth, digits, all]
  if (typeof name !== 'string' || !numbers.every((number) => number === undefined || Number.isInteger(number))) {
    throw new RangeError('a column is not described')
  }
}

function assertChunk({ meta_data: data }: ColumnChunk): void {
  // Absent where the column is encrypted or in another file.
  if (data === undefined) return
  const { num_values, total_compressed_size, data_page_offset, dictionary_page_offset = 0n } = data
  const whole = [num_values, total_compressed_size, data_page_offset, dictionary_page_offset]
  if (!whole.every((number) => typeof number === 'bigint')) throw new RangeError('a column has no place in the file')
}
