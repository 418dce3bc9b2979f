import type { Place } from './contenders/contender.ts'
import { onDatabase } from './database.ts'

export interface Content {
  rows: string
  /** Of every value of every row as text, whatever their order. */
  checksum: string
}

export const same = (one: Content, other: Content): boolean =>
  one.rows === other.rows && one.checksum === other.checksum

export async function contentOf({ database, table, values = 't::text' }: Place): Promise<Content> {
  const sql = `select count(*)::text as rows, sum(hashtext(${values})::bigint)::text as checksum from ${table} as t`
  const { rows } = await onDatabase(database, (client) => client.query<Content>(sql))
  return rows[0]!
}
