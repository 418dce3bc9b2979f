import pg from 'pg'
import type { Contender } from './contenders/contender.ts'

export interface Content {
  rows: string
  /** Of every value of every row as text, whatever their order. */
  checksum: string
}

export const same = (one: Content, other: Content): boolean =>
  one.rows === other.rows && one.checksum === other.checksum

export async function contentOf(contender: Contender): Promise<Content> {
  const { database, table } = contender.table()
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  const { rows } = await client.query<Content>(
    `select count(*)::text as rows, sum(hashtext(t::text)::bigint)::text as checksum from ${table} as t`,
  )
  await client.end()
  return rows[0]!
}
