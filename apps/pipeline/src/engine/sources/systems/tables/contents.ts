import { TableSpool } from './table-spool.ts'

const columns = [
  { path: 'table_name', dataType: 'TEXT' as const },
  { path: 'content', dataType: 'TEXT' as const },
  { path: 'rows_read', dataType: 'BIGINT' as const },
]

/** The pipeline's own table where it fills several: which there are, and how many rows the last reading had of each. */
export function contentsOf(
  target: string,
  tables: readonly { stream: { name: string }; table: TableSpool }[],
  directory: string,
): TableSpool {
  const contents = new TableSpool(target, ['table_name'], columns, directory, 10_000_000)
  for (const { stream, table } of tables)
    contents.add(
      new Map<string, string | number>([
        ['table_name', table.name],
        ['content', stream.name],
        ['rows_read', table.rows],
      ]),
    )
  contents.flush()
  return contents
}
