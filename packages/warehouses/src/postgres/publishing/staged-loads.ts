import { type ClientBase, escapeIdentifier } from 'pg'
import { type PostgresPools, withClient } from '../postgres-connections.ts'
import { idleTransactionTimeout } from './publication-ledger.ts'
import { PostgresStagedTable, readLoadShapes } from '../staged-table.ts'
import { qualifyName } from '../sql-identifiers.ts'
import { type BlockingSnapshots, listBlockingSnapshots } from '../copy/blocking-snapshots.ts'
import { warehouseProblem } from '../map-server-errors.ts'
import { sqlStateOf, sqlStates } from '../server/sql-states.ts'
import { commentOnStaging, parseStagingComment } from '../staging-table-ddl.ts'

/** The data, besides the rows, that a later attempt needs to publish a staged load. Stored as JSON. */
export interface StagedLoad
  extends Pick<
    PostgresStagedTable,
    'target' | 'planned' | 'written' | 'transformed' | 'profile' | 'columnFacts' | 'reading' | 'filledColumns'
  > {
  /** See `PostgresStagedTable.blockingSnapshots`. Stored records of staged runs contain this name. */
  older: BlockingSnapshots[]
  oid: number
  /** The file node of the staging table. It changes whenever the rows are rewritten. */
  file: number
}

/** SQLSTATEs that stop the adoption: the table is missing, or another session holds a lock on it for too long. */
const unavailableStates: ReadonlySet<string> = new Set([
  sqlStates.undefinedTable,
  sqlStates.lockNotAvailable,
  sqlStates.deadlockDetected,
])

/**
 * Returns the data that a later attempt needs to publish these staged loads without loading them again. See
 * `Loader.describeStaged`. Also stores the columns that each load wrote in `load.filledColumns`.
 */
export async function describeStaged(
  { transactions }: PostgresPools,
  loads: readonly PostgresStagedTable[],
  signal: AbortSignal,
): Promise<StagedLoad[]> {
  await withClient(transactions, signal, (client) => readLoadShapes(client, loads)).catch((error: unknown) => {
    signal.throwIfAborted()
    throw warehouseProblem(error, loads[0]!.problemContext)
  })
  return loads.map((load) => {
    const { target, planned, written, blockingSnapshots: older, transformed, profile, columnFacts, reading } = load
    const { oid, file, columns } = load.shapes!.staging
    // A publication may add columns that only the published table has. A later attempt must know which columns the load
    // itself wrote.
    const filledColumns = columns.map(({ name }) => name)
    load.filledColumns = filledColumns
    return { target, planned, written, older, transformed, profile, columnFacts, reading, oid, file, filledColumns }
  })
}

/**
 * See `Loader.adoptStaged`. Takes over the staging tables of an earlier attempt. Renames them, so that the earlier
 * attempt can no longer publish or drop them. Returns undefined, with nothing changed, if one of them cannot be used.
 */
export async function adoptStaged(
  pools: PostgresPools,
  staged: readonly StagedLoad[],
  attempt: number,
  signal: AbortSignal,
): Promise<PostgresStagedTable[] | undefined> {
  const adoptedLoads = staged.map(({ oid, file, target, planned, older, ...fieldsOfLoad }) => {
    const load = new PostgresStagedTable(pools, { ...target, attempt }, planned)
    load.blockingSnapshots = older
    Object.assign(load, fieldsOfLoad)
    return { oid, file, load }
  })
  const renameAll = async (client: ClientBase): Promise<boolean> => {
    for (const adoptedLoad of adoptedLoads) if (!(await renameForAttempt(client, adoptedLoad))) return false
    return true
  }
  try {
    return await withClient(pools.transactions, signal, async (client) => {
      // A hanging attempt may hold locks on the staging tables until `idleTransactionTimeout` ends its transaction.
      await client.query(`begin; set local lock_timeout = '30s'; ${idleTransactionTimeout}`)
      const areAllRenamed = await renameAll(client)
      await client.query(areAllRenamed ? 'commit' : 'rollback')
      return areAllRenamed ? adoptedLoads.map(({ load }) => load) : undefined
    })
  } catch (error) {
    if (unavailableStates.has(sqlStateOf(error))) return undefined
    signal.throwIfAborted()
    throw warehouseProblem(error, { qualifiedName: 'the warehouse' })
  }
}

/**
 * Locks a staging table of an earlier attempt and renames it to the name for this attempt. Returns false if the table
 * is missing, incomplete, published, kept for a restore, contains merged rows, or belongs to a later attempt. `oid` and
 * `file` identify the table and its rows at the time of `describeStaged`.
 */
async function renameForAttempt(
  client: ClientBase,
  { oid, file, load }: { oid: number; file: number; load: PostgresStagedTable },
): Promise<boolean> {
  const { rows: tablesWithOid } = await client.query<{ name: string }>(
    `select relname as name from pg_class where oid = $1::int8::oid and relnamespace = 'sluice'::regnamespace`,
    [oid],
  )
  if (!tablesWithOid[0]) return false
  const { name } = tablesWithOid[0]
  const table = qualifyName('sluice', name)
  await client.query(`lock table only ${table} in access exclusive mode`)
  // Reads the table again under the lock. No row means that the table was renamed, published or kept in the meantime.
  const { rows: lockedTables } = await client.query<{ file: number; comment: string | null }>(
    `select pg_relation_filenode(oid)::int8::float8 as file, obj_description(oid, 'pg_class') as comment from pg_class
     where oid = $1::int8::oid and relname = $2 and not relispartition
       and relname not in (select partition_name from sluice.kept_table where partition_name is not null)`,
    [oid, name],
  )
  const [lockedTable] = lockedTables
  if (!lockedTable) return false
  const { run, attempt, merged: hasMergedRows = false } = parseStagingComment(lockedTable.comment) ?? {}
  const { target, stagingTable, written } = load
  const isOfEarlierAttempt = run === target.run && attempt !== undefined && attempt < target.attempt
  if (!isOfEarlierAttempt || hasMergedRows) return false
  // After a server crash, the table may exist without the rows of its last commits.
  const { rows } = await client.query<{ count: number }>(`select count(*)::float8 as count from ${table}`)
  if (rows[0]!.count !== written?.rows) return false
  await client.query(
    `alter table ${table} rename to ${escapeIdentifier(stagingTable)}; ${commentOnStaging(stagingTable, target)}`,
  )
  // Rewritten rows are invisible to readers with older snapshots.
  const hasRewrittenRows = lockedTable.file !== file
  if (hasRewrittenRows) load.blockingSnapshots = [await listBlockingSnapshots(client)]
  return true
}
