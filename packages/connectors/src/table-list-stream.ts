import { type Column, RowEncoder, type RowStream, type StoredType, TupleBuffer } from '@sluice/row-stream'

/** A table that a run fills. */
export interface ListedTable {
  name: string
  /** The name of the contents, such as that of a table in the source database or of a form. */
  content: string
  rowsRead: number
}

const tableListColumns: readonly Column[] = [
  { name: 'table_name', label: 'table_name', dataType: 'TEXT', primaryKey: true },
  { name: 'content', label: 'content', dataType: 'TEXT' },
  { name: 'rows_read', label: 'rows_read', dataType: 'BIGINT' },
]

/**
 * Returns the stream of the pipeline's own table if a run fills several tables. It has one row per table, even if the
 * rows of those tables are appended.
 */
export function createTableListStream(tables: readonly ListedTable[], cursor: () => unknown): RowStream {
  async function* rows(types: readonly StoredType[]) {
    const buffer = new TupleBuffer({ chunkBytes: 64 * 1024 })
    const encoder = new RowEncoder(
      types.map((type, index) => ({ label: tableListColumns[index]!.label, ...type })),
      buffer,
    )
    for (const { name, content, rowsRead } of tables) encoder.write([name, content, rowsRead])
    yield { bytes: buffer.take() }
  }
  const content = { format: 'copy-binary' as const, rows }
  return {
    table: '',
    columns: [...tableListColumns],
    content,
    replaceByColumn: 'table_name',
    listsTables: true,
    cursor,
  }
}
