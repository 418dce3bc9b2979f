import type { TableLocation } from './loaders/loader.ts'
import { withConnection } from './database.ts'

export interface TableContent {
  rows: string
  /** Checksum over the text of all values of all rows, independent of their order. */
  checksum: string
}

export const isSameContent = (one: TableContent, other: TableContent): boolean =>
  one.rows === other.rows && one.checksum === other.checksum

export async function readContent({ database, table, values = 't::text' }: TableLocation): Promise<TableContent> {
  const sql = `select count(*)::text as rows, sum(hashtext(${values})::bigint)::text as checksum from ${table} as t`
  const { rows } = await withConnection(database, (client) => client.query<TableContent>(sql))
  return rows[0]!
}
