import type { FeedMemory } from '../shape/feed-memory.ts'
import type { ColumnProfile, Publication, PublishedTable, TableChange } from '../warehouse.ts'
import type { ClientAccess } from './clickhouse-settings.ts'
import { execute, rowsOf } from './protocol/http.ts'
import { ledgerDatabase, literal, quoted } from './names.ts'

/** The ledger's entry for one table of a publication. */
export interface LedgerEntry {
  rows: number
  bytes: number
  changes: TableChange[]
  fedColumns: string[]
  /** The uuid of the staging table: the client's own SQL can write its name and its mark, but not its uuid. */
  staged?: string
  /** Rows of the whole table. */
  tableRows: number
  cursor?: unknown
  profile?: ColumnProfile[] | undefined
  feed?: FeedMemory
}

/** One table of a decided publication: this load replaces the table with uuid `base`, or is new. */
export interface ProposedTable {
  publication: string
  run: string
  attempt: number
  schema: string
  table: string
  load: string
  base: string
  entry: LedgerEntry
}

const columns = 'publication, run, attempt, schema, table, load, base, entry'
export const ledgerOf = ({ key }: ClientAccess): string => `${quoted(ledgerDatabase(key))}.ledger`

/** Inserts are synchronous and not deduplicated, so that the next read sees them. */
const synchronousInsert = { async_insert: 0, insert_deduplicate: 0 }

/** Writes all tables in one block, so the insert is atomic. The entries do not yet count as published. */
export async function propose(access: ClientAccess, decided: readonly ProposedTable[]): Promise<void> {
  const rows = decided.map(
    (one) =>
      `(${[one.publication, one.run].map(literal).join(', ')}, ${one.attempt}, ${[one.schema, one.table, one.load, one.base, JSON.stringify(one.entry)].map(literal).join(', ')}, 'PROPOSED')`,
  )
  await execute(access.service, `insert into ${ledgerOf(access)} (${columns}, state) values ${rows.join(', ')}`, {
    settings: synchronousInsert,
  })
}

/** Each process that finishes the publication writes this, so the ledger may contain it more than once. */
export async function declarePublished(access: ClientAccess, publication: string): Promise<void> {
  await execute(
    access.service,
    `insert into ${ledgerOf(access)} (${columns}, state) select ${columns}, 'PUBLISHED' from ${ledgerOf(access)}
     where publication = {publication:String} and state = 'PROPOSED'`,
    { parameters: { publication }, settings: synchronousInsert },
  )
}

/** The decision of an attempt that no further publication of its run is allowed, neither its own nor one of an earlier attempt. */
export async function proposeClosing(
  access: ClientAccess,
  publication: string,
  { run, attempt }: Pick<ProposedTable, 'run' | 'attempt'>,
): Promise<void> {
  await execute(
    access.service,
    `insert into ${ledgerOf(access)} (publication, run, attempt, state)
     values (${literal(publication)}, ${literal(run)}, ${attempt}, 'CLOSING')`,
    { settings: synchronousInsert },
  )
}

/** The publications that this attempt of a run, and earlier ones, have proposed. */
export async function proposalsOf(
  access: ClientAccess,
  { run, attempt }: Pick<ProposedTable, 'run' | 'attempt'>,
): Promise<string[]> {
  const rows = await rowsOf<{ publication: string }>(
    access.service,
    `select distinct publication from ${ledgerOf(access)}
     where run = {run:String} and state = 'PROPOSED' and attempt <= {attempt:Int32}`,
    { parameters: { run, attempt: String(attempt) } },
  )
  return rows.map(({ publication }) => publication)
}

/** Records the closing of the run if that was the decision; otherwise does nothing. */
export async function declareClosed(access: ClientAccess, publication: string): Promise<void> {
  await execute(
    access.service,
    `insert into ${ledgerOf(access)} (publication, run, attempt, state) select publication, run, attempt, 'CLOSED' from ${ledgerOf(access)}
     where publication = {publication:String} and state = 'CLOSING'`,
    { parameters: { publication }, settings: synchronousInsert },
  )
}

/** Returns whether the run is closed for this attempt, so that the attempt's decision came too late. */
export async function isClosed(
  access: ClientAccess,
  { run, attempt }: Pick<ProposedTable, 'run' | 'attempt'>,
): Promise<boolean> {
  const [row] = await rowsOf<{ closed: number }>(
    access.service,
    `select count() as closed from ${ledgerOf(access)} where run = {run:String} and state = 'CLOSED' and attempt >= {attempt:Int32}`,
    { parameters: { run, attempt: String(attempt) } },
  )
  return row!.closed > 0
}

interface LedgerRow extends Omit<ProposedTable, 'entry'> {
  entry: string
  at: string
}

const parseLedgerRow = ({ entry, ...row }: LedgerRow) => ({ ...row, entry: JSON.parse(entry) as LedgerEntry })

export async function readProposal(access: ClientAccess, publication: string): Promise<ProposedTable[]> {
  const rows = await rowsOf<LedgerRow>(
    access.service,
    `select ${columns}, at from ${ledgerOf(access)} where publication = {publication:String} and state = 'PROPOSED'
     order by schema, table`,
    { parameters: { publication } },
  )
  return rows.map(parseLedgerRow)
}

export async function findPublication(access: ClientAccess, run: string): Promise<Publication | undefined> {
  const rows = await rowsOf<LedgerRow>(
    access.service,
    `select ${columns}, at from ${ledgerOf(access)} where run = {run:String} and state = 'PUBLISHED'
     order by at, publication, schema, table limit 1 by schema, table`,
    { parameters: { run } },
  )
  const [first] = rows
  if (!first) return undefined
  const tables = rows.map(parseLedgerRow).map(
    ({ schema, table, entry }): PublishedTable => ({
      schema,
      table,
      rows: entry.rows,
      bytes: entry.bytes,
      changes: entry.changes,
    }),
  )
  return {
    run,
    attempt: first.attempt,
    rows: tables.reduce((sum, { rows }) => sum + rows, 0),
    bytes: tables.reduce((sum, { bytes }) => sum + bytes, 0),
    publishedAt: timeOf(first.at),
    tables,
  }
}

/** A table of a finished publication, and its time. */
export interface PublishedRow extends Omit<ProposedTable, 'entry'> {
  at: Date
}

/** Returns all tables of the last publication of the load's rows; empty if the load is unknown. */
export async function publicationOf(access: ClientAccess, ofLoad: string | undefined): Promise<PublishedRow[]> {
  if (ofLoad === undefined) return []
  const rows = await rowsOf<LedgerRow>(
    access.service,
    `select ${columns}, at from ${ledgerOf(access)} where state = 'PUBLISHED' and publication = (
       select publication from ${ledgerOf(access)} where load = {load:String} and state = 'PUBLISHED' order by at desc limit 1)
     order by schema, table, at limit 1 by schema, table`,
    { parameters: { load: ofLoad } },
  )
  return rows.map(({ publication, run, attempt, schema, table, load, base, at }) => ({
    publication,
    run,
    attempt,
    schema,
    table,
    load,
    base,
    at: timeOf(at),
  }))
}

/** Returns the time of the first publication of the load's rows. */
export async function findFirstPublicationTime(
  access: ClientAccess,
  load: string | undefined,
): Promise<Date | undefined> {
  const [row] = await rowsOf<{ at: string }>(
    access.service,
    `select at from ${ledgerOf(access)} where load = {load:String} and state = 'PUBLISHED' order by at limit 1`,
    { parameters: { load: load ?? '' } },
  )
  return row && timeOf(row.at)
}

const timeOf = (at: string): Date => new Date(`${at.replace(' ', 'T')}Z`)

/** Returns the ledger's entry for the load that the table's rows belong to. */
export async function entryOf(access: ClientAccess, load: string | undefined): Promise<LedgerEntry | undefined> {
  if (load === undefined) return undefined
  const [row] = await rowsOf<LedgerRow>(
    access.service,
    `select ${columns}, at from ${ledgerOf(access)} where load = {load:String} order by at desc limit 1`,
    { parameters: { load } },
  )
  return row && parseLedgerRow(row).entry
}
