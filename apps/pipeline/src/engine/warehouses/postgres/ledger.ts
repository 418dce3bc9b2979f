import type { ClientBase } from 'pg'
import type { ColumnProfile, PublishedTable } from '../warehouse.ts'

/** The last publication into a partition: what a table's rows are, and what came with them. */
export interface LastEntry {
  run: string
  fedColumns: string[]
  /** Rows of the whole table. */
  tableRows: number
  cursor: unknown
  profile: ColumnProfile[] | null
}

export interface Entry {
  run: string
  partition: string
  published: PublishedTable
  fedColumns: readonly string[]
  mode: 'REPLACE' | 'MERGE'
  tableRows: number
  cursor: unknown
  profile: readonly ColumnProfile[] | undefined
}

export async function lastEntry(client: ClientBase, partition: string | undefined): Promise<LastEntry | undefined> {
  const { rows } = await client.query(
    `select t.run, t.fed_columns as "fedColumns", coalesce(t.table_rows, t.rows)::float8 as "tableRows", t.cursor, t.profile
     from sluice.ledger_table t where t.partition_name = $1 order by t.entered desc limit 1`,
    [partition],
  )
  return rows[0]
}

/** In the publishing transaction. */
export async function enterLedger(client: ClientBase, entry: Entry): Promise<void> {
  const { run, partition, published, fedColumns, mode, tableRows, cursor, profile } = entry
  await client.query(
    `insert into sluice.ledger_table (run, schema_name, table_name, partition_name, rows, bytes, fed_columns, changes,
       mode, table_rows, cursor, profile)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    [
      run,
      published.schema,
      published.table,
      partition,
      published.rows,
      published.bytes,
      fedColumns,
      JSON.stringify(published.changes),
      mode,
      tableRows,
      cursor === undefined ? null : JSON.stringify(cursor),
      profile ? JSON.stringify(profile) : null,
    ],
  )
}
