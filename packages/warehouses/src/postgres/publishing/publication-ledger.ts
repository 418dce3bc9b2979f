import type { WriteMode } from '@sluice/contracts'
import type { ClientBase } from 'pg'
import { tableColumns } from '../server/ledger-schema.ts'
import type { SourceShape } from '../../shape/previous-source-columns.ts'
import type { ProfileReference, PublicationDetails, PublishedTable } from '../../warehouse.ts'

/** The newest ledger row of the partition that stores the table's rows. The ledger is Sluice's own table of loads. */
export interface LastPublication {
  run: string
  suppliedColumns: string[]
  /** The number of rows in the whole table. */
  tableRows: number
  /** The size of the published load in bytes. */
  bytes: number
  cursor: unknown
  profile: unknown
  /** Null if an older version of Sluice published the rows. */
  sourceShape: SourceShape | null
}

export interface LedgerEntry {
  partition: string
  published: PublishedTable
  suppliedColumns: readonly string[]
  mode: WriteMode | 'RESTORE'
  tableRows: number
  cursor: unknown
  profile: ProfileReference | undefined
  sourceShape: SourceShape
}

/**
 * Returns the query for the newest ledger row of a partition. `partition` is a SQL expression. The query selects only
 * columns of every ledger version, because a new version of the service also reads ledgers that are not upgraded yet.
 * `moreColumns` is SQL for further columns of the row `published`.
 */
export const selectLastPublication = (partition: string, moreColumns = ''): string =>
  `select published.run, published.fed_columns as "suppliedColumns",
     coalesce(published.table_rows, published.rows)::float8 as "tableRows", published.bytes::float8, published.cursor,
     published.profile, published.feed as "sourceShape"${moreColumns}
   from sluice.ledger_table as published
   where published.partition_name = ${partition} order by published.entered desc limit 1`

/** Returns the newest ledger row of a partition, with its details. */
export async function findLastPublication(
  client: ClientBase,
  partition: string,
): Promise<(LastPublication & { details: PublicationDetails | null }) | undefined> {
  const { rows } = await client.query(selectLastPublication('$1', ', published.details'), [partition])
  return rows[0]
}

/**
 * If a worker hangs while it publishes, the server ends its transaction after this time, so that the next attempt can
 * publish.
 */
export const idleTransactionTimeout = `set local idle_in_transaction_session_timeout = '10s'`

/**
 * Inserts the run into the ledger within the publishing transaction. Returns the time of the publication, or undefined
 * if the run has already been published. `key` authorises the write, see `ledgerKey`. The run is the primary key, so a
 * concurrent publisher of the same run waits here until the first transaction ends.
 */
export async function recordPublication(
  client: ClientBase,
  key: string,
  { run, attempt }: { run: string; attempt: number },
): Promise<Date | undefined> {
  const { rows } = await client.query<{ entered: Date | null }>(
    'select sluice.enter_run($1::text, $2::text, $3::integer) as entered',
    [key, run, attempt],
  )
  return rows[0]?.entered ?? undefined
}

/**
 * Waits until no other attempt of the run is between `recordPublication` and the end of its transaction. For this,
 * inserts the run, which waits for the other transaction, and rolls back. An attempt that begins to publish later fails
 * at `isCurrentAttempt`. Throws SQLSTATE 55P03 (lock_not_available) after 30 seconds, which is longer than a swap plus
 * the idle time-out.
 */
export async function waitForPublisher(
  client: ClientBase,
  key: string,
  run: { run: string; attempt: number },
): Promise<void> {
  await client.query(`begin; set local lock_timeout = '30s'; ${idleTransactionTimeout}`)
  await recordPublication(client, key, run)
  await client.query('rollback')
}

/** Calls `sluice.enter_table` for each object of the JSON array `$3`. `$1` is the ledger key and `$2` the run. */
const enterTablesQuery = `select sluice.enter_table($1::text, $2::text, ${tableColumns.map(({ name }) => `t.${name}`).join(', ')})
  from jsonb_to_recordset($3::jsonb) as t (${tableColumns.map(({ name, type }) => `${name} ${type}`).join(', ')})`

/**
 * Stores the entries of the tables of a run, in the publishing transaction after `recordPublication`. `key` authorises
 * the write, see `ledgerKey`.
 */
export async function enterLedger(
  client: ClientBase,
  key: string,
  run: string,
  entries: readonly LedgerEntry[],
): Promise<void> {
  const rows = entries.map(
    ({ partition, published, suppliedColumns, mode, tableRows, cursor, profile, sourceShape }) => ({
      schema_name: published.schema,
      table_name: published.table,
      partition_name: partition,
      rows: published.rows,
      bytes: published.bytes,
      fed_columns: suppliedColumns,
      changes: published.changes,
      mode,
      table_rows: tableRows,
      cursor,
      profile,
      feed: sourceShape,
      details: { rowsBefore: published.rowsBefore, merged: published.merged, listsTables: published.listsTables },
    }),
  )
  await client.query(enterTablesQuery, [key, run, JSON.stringify(rows)])
}
