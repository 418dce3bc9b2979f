import type { ClientBase } from 'pg'
import { tableParameters } from '../server/ledger-schema.ts'
import type { FeedMemory } from '../../shape/feed-memory.ts'
import type { ColumnProfile, PublishedTable } from '../../warehouse.ts'

/** The last publication into a partition: the metadata of the table's rows, and the data stored with them. */
export interface LastEntry {
  run: string
  fedColumns: string[]
  /** Rows of the whole table. */
  tableRows: number
  /** Bytes of the load that the publication contained. */
  bytes: number
  cursor: unknown
  profile: ColumnProfile[] | null
  /** Null if an older version published it. */
  feed: FeedMemory | null
}

export interface LedgerEntry {
  run: string
  partition: string
  published: PublishedTable
  fedColumns: readonly string[]
  mode: 'REPLACE' | 'MERGE' | 'RESTORE'
  tableRows: number
  cursor: unknown
  profile: readonly ColumnProfile[] | undefined
  feed: FeedMemory
}

export async function findLastEntry(client: ClientBase, partition: string | undefined): Promise<LastEntry | undefined> {
  const { rows } = await client.query(
    `select t.run, t.fed_columns as "fedColumns", coalesce(t.table_rows, t.rows)::float8 as "tableRows",
       t.bytes::float8, t.cursor, t.profile, t.feed
     from sluice.ledger_table t where t.partition_name = $1 order by t.entered desc limit 1`,
    [partition],
  )
  return rows[0]
}

/**
 * If a worker is stopped while it enters its run, its transaction ends after this time, so that the run's next attempt can continue.
 */
export const idleTransactionTimeout = `set local idle_in_transaction_session_timeout = '10s'`

/**
 * Runs in the publishing transaction. Returns undefined if the run already exists; waits for a concurrent transaction that inserts it.
 */
export async function enterRun(
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
 * Waits until no attempt is between its entry and its end. A later attempt finds `isCurrentAttempt` false. Throws 55P03 if this takes
 * longer than the idle time-out of a stopped transaction plus a swap.
 */
export async function waitForPublisher(
  client: ClientBase,
  key: string,
  entering: { run: string; attempt: number },
): Promise<void> {
  await client.query(`begin; set local lock_timeout = '30s'; ${idleTransactionTimeout}`)
  await enterRun(client, key, entering)
  await client.query('rollback')
}

const enterTable = `select sluice.enter_table(${tableParameters.map((type, index) => `$${index + 1}::${type}`).join(', ')})`

/** Runs in the publishing transaction, after `enterRun`. */
export async function enterLedger(client: ClientBase, key: string, entry: LedgerEntry): Promise<void> {
  const { run, partition, published, fedColumns, mode, tableRows, cursor, profile, feed } = entry
  await client.query(enterTable, [
    key,
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
    JSON.stringify(feed),
  ])
}
