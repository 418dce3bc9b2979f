import type { DataType } from '@sluice/contracts'
import type { SourceShape } from '../shape/previous-source-columns.ts'
import type { ProfileReference, Publication, PublishedTable } from '../warehouse.ts'
import type { SqlDialect, SqlSession } from './sql-dialect.ts'
import { sqlFragment, plainSql, sql } from './sql-statement.ts'

/** The ledger's data about a managed view. The ledger is Sluice's own set of tables in the warehouse. */
export interface ViewMetadata {
  id: string
  definition: string
  materialized: boolean
  populated: boolean
  /** The tables and views that the view reads directly. */
  reads: [schema: string, name: string][]
  /** The query in the server's syntax. */
  query: string
  /** The query as the user wrote it. */
  asked: string
}

/**
 * The ledger's data about a table or view that the server's catalogue cannot store. It is keyed by the object id, which
 * a rename does not change.
 */
export interface RelationMetadata {
  /**
   * LOADED: a published table. STAGING: a table that is not published yet. VIEW: a plain or materialised view. PASSING:
   * a temporary relation.
   */
  kind: 'LOADED' | 'STAGING' | 'VIEW' | 'PASSING'
  /** The id of the run that owns the relation. */
  run?: string
  attempt?: number
  /** For a relation without a run: the time after which a sweep may drop it, as Unix milliseconds. */
  until?: number
  /** The creation time as Unix milliseconds. */
  madeAt?: number
  /** The target table of a staging table. */
  target?: [schema: string, table: string]
  labels?: Record<string, string>
  /** The data types of columns, where the server's type does not determine them. */
  dataTypes?: Record<string, DataType>
  keys?: string[]
  /** The names of the columns that the source supplied. Stored as JSON, so the names of the fields cannot change. */
  fed?: string[]
  /** The source's columns at the last load, for the comparison with the next load. */
  feed?: SourceShape
  rows?: number
  cursor?: unknown
  /** Older versions stored data of another shape in this field. */
  profile?: ProfileReference
  view?: ViewMetadata
}

/**
 * The tables of the ledger with their key columns. `marks`: metadata of relations, by object id. `runs`: publications,
 * by run. Two further tables exist with `NON_TRANSACTIONAL` publication: `decisions` stores pending decisions, and
 * `turn` has one row that serves as the publish lock; a process holds the lock by updating the row.
 */
const ledgerKeyColumns = { marks: 'id', runs: 'run', decisions: 'decision', turn: 'holder' } as const

/** The table with the publish lock. */
const lockTable = 'turn'

/** Creates the missing ledger tables and, if the warehouse needs a publish lock, its row. */
export async function ensureLedger(dialect: SqlDialect, session: SqlSession): Promise<void> {
  await ensureTable(dialect, session, 'marks')
  await ensureTable(dialect, session, 'runs')
  if (dialect.publication !== 'NON_TRANSACTIONAL') return
  await ensureTable(dialect, session, 'decisions')
  await ensureTable(dialect, session, lockTable)
  const hasLockRow = (await countEntries(dialect, session, lockTable)) > 0
  // A process takes the lock by updating the row. The row's key and content have no meaning.
  if (!hasLockRow) await writeEntry(dialect, session, lockTable, 'anybody', {})
}

/** Creates a ledger table if it does not exist. */
async function ensureTable(dialect: SqlDialect, session: SqlSession, table: LedgerTable): Promise<void> {
  const { types, names, changes } = dialect
  const countRows = () => countEntries(dialect, session, table)
  try {
    await countRows()
  } catch (error) {
    if (dialect.explain(error)?.code !== 'TABLE_MISSING') throw error
    const columns = `${ledgerKeyColumns[table]} ${types.longText} not null, part int not null, entry ${types.longText} not null`
    const createStatement = `create table ${names.ledger(table)} (${columns})${changes.ledgerOptions ?? ''}`
    // A concurrent process may have created the table first. Then counting its rows succeeds.
    await session.execute(plainSql(createStatement)).catch(countRows)
  }
}

/**
 * Returns the number of rows of a ledger table. It can exceed the number of entries: a long entry takes several rows.
 */
export async function countEntries({ names }: SqlDialect, session: SqlSession, table: LedgerTable): Promise<number> {
  const [row] = await session.rows<{ n: number | string }>(plainSql(`select count(*) as n from ${names.ledger(table)}`))
  return Number(row!.n)
}

/**
 * The maximum characters of an entry per row, because some servers limit the length of texts. A longer entry takes
 * several rows.
 */
const partLength = 16_000

interface EntryRow {
  entry_key: string
  part: number
  entry: string
}

type LedgerTable = keyof typeof ledgerKeyColumns

/** Returns the entries of a ledger table by key, either all of them or only the entry with the key `entryKey`. */
export async function readEntries(
  { names }: SqlDialect,
  session: SqlSession,
  table: LedgerTable,
  entryKey?: string,
): Promise<Map<string, unknown>> {
  const key = sqlFragment(ledgerKeyColumns[table])
  const place = sqlFragment(names.ledger(table))
  const rows = await session.rows<EntryRow>(
    entryKey === undefined
      ? sql`select ${key} as entry_key, part, entry from ${place}`
      : sql`select ${key} as entry_key, part, entry from ${place} where ${key} = ${entryKey}`,
  )
  const rowsByKey = Map.groupBy(rows, (row) => row.entry_key)
  return new Map(
    [...rowsByKey].map(([entryName, entryRows]) => {
      const rowsInOrder = entryRows.toSorted((one, other) => one.part - other.part)
      return [entryName, JSON.parse(rowsInOrder.map(({ entry }) => entry).join(''))]
    }),
  )
}

/** Inserts an entry as JSON, in as many rows as it needs. */
export async function writeEntry(
  { names }: SqlDialect,
  session: SqlSession,
  table: LedgerTable,
  entryKey: string,
  entry: unknown,
): Promise<void> {
  const key = sqlFragment(ledgerKeyColumns[table])
  const place = sqlFragment(names.ledger(table))
  const text = asciiJson(entry)
  for (let part = 0; part * partLength < text.length; part += 1) {
    const partText = text.slice(part * partLength, (part + 1) * partLength)
    await session.execute(sql`insert into ${place} (${key}, part, entry) values (${entryKey}, ${part}, ${partText})`)
  }
}

/** Serializes JSON as ASCII, so that splitting it by length cannot cut a character. */
const asciiJson = (entry: unknown): string =>
  JSON.stringify(entry).replaceAll(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

export async function deleteEntry(
  { names }: SqlDialect,
  session: SqlSession,
  table: LedgerTable,
  entryKey: string,
): Promise<void> {
  await session.execute(
    sql`delete from ${sqlFragment(names.ledger(table))} where ${sqlFragment(ledgerKeyColumns[table])} = ${entryKey}`,
  )
}

/**
 * Takes the publish lock until the session's transaction ends. Meanwhile no other process can publish or pass the fence
 * check (whether the attempt still owns the run).
 */
export async function lockLedger({ changes }: SqlDialect, session: SqlSession): Promise<void> {
  for (const statement of changes.lockLedger()) await session.execute(statement)
}

/** Returns the metadata of all the organisation's relations by object id, or only of the relation with this id. */
export async function readMetadata(
  dialect: SqlDialect,
  session: SqlSession,
  id?: string,
): Promise<Map<string, RelationMetadata>> {
  return (await readEntries(dialect, session, 'marks', id)) as Map<string, RelationMetadata>
}

/**
 * Stores the metadata of a relation instead of the earlier one, if any. If the server has transactional DDL, call it in
 * the transaction that changes the relation.
 */
export async function setMetadata(
  dialect: SqlDialect,
  session: SqlSession,
  id: string,
  metadata: RelationMetadata,
): Promise<void> {
  await deleteMetadata(dialect, session, id)
  await writeEntry(dialect, session, 'marks', id, metadata)
}

export async function deleteMetadata(dialect: SqlDialect, session: SqlSession, id: string): Promise<void> {
  await deleteEntry(dialect, session, 'marks', id)
}

interface RunEntry {
  attempt: number
  at: string
  tables: PublishedTable[]
}

/** Returns the publication of a run, or undefined if the run was not published. */
export async function findPublication(
  dialect: SqlDialect,
  session: SqlSession,
  run: string,
): Promise<Publication | undefined> {
  const entry = (await readEntries(dialect, session, 'runs', run)).get(run) as RunEntry | undefined
  if (!entry) return undefined
  const { attempt, at, tables: published } = entry
  return {
    run,
    attempt,
    rows: published.reduce((sum, { rows }) => sum + rows, 0),
    bytes: published.reduce((sum, { bytes }) => sum + bytes, 0),
    publishedAt: new Date(at),
    tables: published,
  }
}

/** Records in the ledger that a run was published. */
export async function recordPublication(
  dialect: SqlDialect,
  session: SqlSession,
  run: string,
  entry: Pick<RunEntry, 'attempt' | 'tables'>,
): Promise<void> {
  const timedEntry: RunEntry = { ...entry, at: new Date().toISOString() }
  await writeEntry(dialect, session, 'runs', run, timedEntry)
}

const millisecondsOfDay = 86_400_000

/**
 * Deletes the entries of publications that are older than `days` days, unless a table still has rows of them. Returns
 * the number of deleted entries.
 */
export async function pruneRuns(dialect: SqlDialect, session: SqlSession, days: number): Promise<number> {
  const retainedRuns = new Set([...(await readMetadata(dialect, session)).values()].map(({ run }) => run))
  const earliestTime = Date.now() - days * millisecondsOfDay
  let deletedCount = 0
  for (const [run, entry] of await readEntries(dialect, session, 'runs')) {
    const isRecent = Date.parse((entry as RunEntry).at) >= earliestTime
    if (isRecent || retainedRuns.has(run)) continue
    await deleteEntry(dialect, session, 'runs', run)
    deletedCount += 1
  }
  return deletedCount
}
