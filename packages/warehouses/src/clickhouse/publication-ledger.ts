import type { SourceShape } from '../shape/previous-source-columns.ts'
import type {
  PreviousRows,
  ProfileReference,
  Publication,
  PublicationDetails,
  PublishedTable,
  TableChange,
} from '../warehouse.ts'
import type { ClientAccess } from './clickhouse-settings.ts'
import { executeStatement, rowsOf } from './protocol/http-client.ts'
import { ledgerDatabase, formatLiteral, quoteIdentifier } from './sql-identifiers.ts'

/** The ledger entry of one table in a publication. */
export interface LedgerEntry extends PublicationDetails {
  rows: number
  bytes: number
  changes: TableChange[]
  /** The names of the columns that the source supplied. Stored as JSON, so the names of the fields cannot change. */
  fedColumns: string[]
  /** The uuid of the table to publish. A client's SQL can change the table's name and comment, but not its uuid. */
  staged?: string
  /** The number of rows in the whole table after the publication. */
  tableRows: number
  cursor?: unknown
  /** Older versions stored data of another shape in this field. */
  profile?: ProfileReference
  /** The source's columns at the last load, for the comparison with the next load. */
  feed?: SourceShape
}

/** One table in a proposed publication. */
export interface ProposedTable {
  publication: string
  run: string
  attempt: number
  schema: string
  table: string
  /** The id of the load. The comment of the loaded table contains it too. */
  load: string
  /**
   * The uuid of the table that the load replaces. Empty if the load creates the table. If a merge changes no row, the
   * table stays, and this is `staged`.
   */
  base: string
  entry: LedgerEntry
}

/**
 * The SQL condition that the entry's publication wrote the table, rather than leaving it as it was because a merge
 * changed no row. `base` is the uuid of the table that the publication replaced, and `staged` that of the table that it
 * published.
 */
export const hasWrittenTable = `(base = '' or base != JSONExtractString(entry, 'staged'))`

const ledgerColumns = 'publication, run, attempt, schema, table, load, base, entry'
export const ledgerTable = ({ key }: ClientAccess): string => `${quoteIdentifier(ledgerDatabase(key))}.ledger`

/** Settings for synchronous inserts without deduplication, so that the next read sees the inserted rows. */
const synchronousInsert = { async_insert: 0, insert_deduplicate: 0 }

/**
 * Writes the proposal of a publication to the ledger (Sluice's table of loads). One insert writes the entries of all
 * tables, so either all or none exist. Publishes nothing yet.
 */
export async function writeProposal(access: ClientAccess, tables: readonly ProposedTable[]): Promise<void> {
  const rows = tables.map(({ publication, run, attempt, schema, table, load, base, entry }) => {
    const texts = [schema, table, load, base, JSON.stringify(entry)].map(formatLiteral).join(', ')
    return `(${formatLiteral(publication)}, ${formatLiteral(run)}, ${attempt}, ${texts}, 'PROPOSED')`
  })
  await executeStatement(
    access.service,
    `insert into ${ledgerTable(access)} (${ledgerColumns}, state) values ${rows.join(', ')}`,
    {
      settings: synchronousInsert,
    },
  )
}

/**
 * Marks the publication as committed. Every process that completes the publication calls this function, so the ledger
 * may contain duplicate rows.
 */
export async function recordPublished(access: ClientAccess, publication: string): Promise<void> {
  await executeStatement(
    access.service,
    `insert into ${ledgerTable(access)} (${ledgerColumns}, state) select ${ledgerColumns}, 'PUBLISHED' from ${ledgerTable(access)}
     where publication = {publication:String} and state = 'PROPOSED'`,
    { parameters: { publication }, settings: synchronousInsert },
  )
}

/**
 * Proposes to fence a run: writes a ledger entry with the state CLOSING. If this proposal wins, neither this attempt
 * nor an earlier one may publish the run.
 */
export async function proposeFence(
  access: ClientAccess,
  publication: string,
  { run, attempt }: Pick<ProposedTable, 'run' | 'attempt'>,
): Promise<void> {
  await executeStatement(
    access.service,
    `insert into ${ledgerTable(access)} (publication, run, attempt, state)
     values (${formatLiteral(publication)}, ${formatLiteral(run)}, ${attempt}, 'CLOSING')`,
    { settings: synchronousInsert },
  )
}

/** Returns the ids of publications that this attempt and earlier attempts of the run have proposed. */
export async function listProposals(
  access: ClientAccess,
  { run, attempt }: Pick<ProposedTable, 'run' | 'attempt'>,
): Promise<string[]> {
  const rows = await rowsOf<{ publication: string }>(
    access.service,
    `select distinct publication from ${ledgerTable(access)}
     where run = {run:String} and state = 'PROPOSED' and attempt <= {attempt:Int32}`,
    { parameters: { run, attempt: String(attempt) } },
  )
  return rows.map(({ publication }) => publication)
}

/**
 * Records that the run is fenced (CLOSED) if the publication id belongs to a proposal to fence (CLOSING). Otherwise
 * does nothing.
 */
export async function recordFence(access: ClientAccess, publication: string): Promise<void> {
  await executeStatement(
    access.service,
    `insert into ${ledgerTable(access)} (publication, run, attempt, state) select publication, run, attempt, 'CLOSED' from ${ledgerTable(access)}
     where publication = {publication:String} and state = 'CLOSING'`,
    { parameters: { publication }, settings: synchronousInsert },
  )
}

/** Returns whether `fenceRun` has fenced this attempt or a later one (CLOSED), so the attempt may not publish. */
export async function isFenced(
  access: ClientAccess,
  { run, attempt }: Pick<ProposedTable, 'run' | 'attempt'>,
): Promise<boolean> {
  const [row] = await rowsOf<{ closed: number }>(
    access.service,
    `select count() as closed from ${ledgerTable(access)}
     where run = {run:String} and state = 'CLOSED' and attempt >= {attempt:Int32}`,
    { parameters: { run, attempt: String(attempt) } },
  )
  return row!.closed > 0
}

interface LedgerRow extends Omit<ProposedTable, 'entry'> {
  entry: string
  at: string
}

const parseLedgerRow = ({ entry, ...row }: LedgerRow) => ({ ...row, entry: JSON.parse(entry) as LedgerEntry })

/**
 * Returns the proposed tables of a publication, ordered by schema and name. Empty if the proposal fences a run instead.
 */
export async function readProposal(access: ClientAccess, publication: string): Promise<ProposedTable[]> {
  const rows = await rowsOf<LedgerRow>(
    access.service,
    `select ${ledgerColumns}, at from ${ledgerTable(access)} where publication = {publication:String} and state = 'PROPOSED'
     order by schema, table`,
    { parameters: { publication } },
  )
  return rows.map(parseLedgerRow)
}

/**
 * Returns the committed publication of a run. The ledger may contain duplicate rows, so this reads only the first
 * row of each table.
 */
export async function findPublication(access: ClientAccess, run: string): Promise<Publication | undefined> {
  const rows = await rowsOf<LedgerRow>(
    access.service,
    `select ${ledgerColumns}, at from ${ledgerTable(access)} where run = {run:String} and state = 'PUBLISHED'
     order by at, publication, schema, table limit 1 by schema, table`,
    { parameters: { run } },
  )
  const [firstRow] = rows
  if (!firstRow) return undefined
  const tables = rows.map(parseLedgerRow).map(
    ({ schema, table, entry }): PublishedTable => ({
      schema,
      table,
      rows: entry.rows,
      bytes: entry.bytes,
      changes: entry.changes,
      ...(entry.rowsBefore !== undefined && { rowsBefore: entry.rowsBefore }),
      ...(entry.merged && { merged: entry.merged }),
      ...(entry.listsTables && { listsTables: true as const }),
    }),
  )
  return {
    run,
    attempt: firstRow.attempt,
    rows: tables.reduce((sum, { rows }) => sum + rows, 0),
    bytes: tables.reduce((sum, { bytes }) => sum + bytes, 0),
    publishedAt: parseServerTime(firstRow.at),
    tables,
  }
}

/** A table of a committed publication, with the time of the commit. */
export interface PublishedRow extends Omit<ProposedTable, 'entry'> {
  at: Date
}

/**
 * Returns all tables of the latest publication that wrote this load; an empty list if the load is unknown. Skips
 * publications that left the load's table as it was, because a merge changed no row.
 */
export async function listLastPublication(access: ClientAccess, load: string | undefined): Promise<PublishedRow[]> {
  if (load === undefined) return []
  // The ledger may contain duplicate rows, so this reads only the first row of each table.
  const rows = await rowsOf<Omit<LedgerRow, 'entry'>>(
    access.service,
    `with last_publication as (
       select publication from ${ledgerTable(access)}
       where load = {load:String} and state = 'PUBLISHED' and ${hasWrittenTable}
       order by at desc limit 1)
     select publication, run, attempt, schema, table, load, base, at from ${ledgerTable(access)}
     where state = 'PUBLISHED' and publication in (select publication from last_publication)
     order by schema, table, at limit 1 by schema, table`,
    { parameters: { load } },
  )
  return rows.map(({ at, ...row }) => ({ ...row, at: parseServerTime(at) }))
}

/** Returns the run that first published the load, with the time. Returns undefined if no run has published it. */
export async function findFirstPublication(access: ClientAccess, load: string): Promise<PreviousRows | undefined> {
  const [row] = await rowsOf<{ run: string; at: string }>(
    access.service,
    `select run, at from ${ledgerTable(access)} where load = {load:String} and state = 'PUBLISHED' order by at limit 1`,
    { parameters: { load } },
  )
  return row && { run: row.run, publishedAt: parseServerTime(row.at) }
}

const parseServerTime = (at: string): Date => new Date(`${at.replace(' ', 'T')}Z`)

/**
 * Returns the ledger entry of the latest publication of this load: each later run that changed no row has published it
 * again. If the load is proposed but not published yet, returns the entry of the proposal.
 */
export async function findLedgerEntry(
  access: ClientAccess,
  load: string | undefined,
): Promise<LedgerEntry | undefined> {
  if (load === undefined) return undefined
  const [row] = await rowsOf<LedgerRow>(
    access.service,
    `select ${ledgerColumns}, at from ${ledgerTable(access)} where load = {load:String}
     order by state = 'PUBLISHED' desc, at desc limit 1`,
    { parameters: { load } },
  )
  return row && parseLedgerRow(row).entry
}
