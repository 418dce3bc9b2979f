import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type WarehouseProblem, busyProblem, isBusy } from '../../warehouse.ts'
import type { ClientAccess } from '../clickhouse-settings.ts'
import { recreateViews, retireViews, affectsViews } from '../views/dependent-views.ts'
import { executeStatement, rowsOf } from '../protocol/http.ts'
import {
  type ProposedTable,
  recordFence,
  recordPublished,
  isFenced,
  readProposal,
  findPublication,
} from '../publication-ledger.ts'
import {
  databaseOf,
  ledgerDatabase,
  formatLiteral,
  qualifyName,
  quoteIdentifier,
  runPrefix,
  quotePlace,
} from '../names.ts'
import { errorCodes, isCode } from '../problems.ts'
import { hasRows, parseTableMetadata, readShape, type ClickHouseShape } from '../table-shape.ts'

/**
 * The name of the table that represents the pending decision.
 *
 * The commit protocol is like two-phase commit. Prepare: `writeProposal` stores the tables of a publication in the
 * ledger (Sluice's table of loads). Commit point: `recordDecision` creates this table, with the publication's id as its
 * comment. ClickHouse creates a table of one name only once, even for concurrent requests, so an organisation has at
 * most one pending decision. Apply: `applyDecision` swaps the tables, marks the publication as committed and deletes
 * this table. If a worker dies in between, another process repeats that phase.
 */
const decisionTable = 'publishing'

/**
 * The prefix of a claimed staging table. Before a process swaps a staging table, it renames the table to this prefix
 * and a random suffix.
 */
const claimPrefix = 'swap_'
/** The number of tries to swap a table while other processes try the same, and the milliseconds between tries. */
const swapRetries = { tries: 40, wait: 250 }

/**
 * Makes this publication the pending decision. This is its commit point. Returns false if another decision is pending.
 */
export async function recordDecision(access: ClientAccess, publication: string): Promise<boolean> {
  try {
    const qualifiedName = qualifyName(ledgerDatabase(access.key), decisionTable)
    await executeStatement(
      access.service,
      `create table ${qualifiedName} (none UInt8) engine = Null comment ${formatLiteral(publication)}`,
    )
    return true
  } catch (error) {
    if (isCode(error, errorCodes.tableExists)) return false
    throw error
  }
}

/** Completes the pending decision, if one exists, for example after its worker died. Idempotent. */
export async function recoverPending(access: ClientAccess): Promise<void> {
  const publication = await findDecision(access)
  if (publication !== undefined) await applyDecision(access, publication)
}

/**
 * Returns the publication's id from the comment of a decision's table, or undefined if no such table exists. By
 * default reads the pending decision.
 */
async function findDecision(access: ClientAccess, name = decisionTable): Promise<string | undefined> {
  const [row] = await rowsOf<{ comment: string }>(
    access.service,
    'select comment from system.tables where database = {database:String} and name = {name:String}',
    { parameters: { database: ledgerDatabase(access.key), name } },
  )
  return row?.comment
}

/**
 * Applies a decision and deletes it. A decision to publish swaps in every table of the publication, recreates the
 * views of tables with changed columns, and marks the publication as committed in the ledger. A decision to fence
 * marks the run as fenced. Throws WAREHOUSE_BUSY if a table cannot be swapped now; the decision then stays pending.
 *
 * Returns false if the decision was abandoned, which changes no table: the run is fenced, or another run has replaced
 * one of the tables since the proposal.
 */
export async function applyDecision(access: ClientAccess, publication: string): Promise<boolean> {
  const tables = await readProposal(access, publication)
  const [firstTable] = tables
  const isFenceDecision = firstTable === undefined
  if (isFenceDecision) {
    await recordFence(access, publication)
    await deleteDecision(access, publication)
    return true
  }
  const isCommitted = (await findPublication(access, firstTable.run)) !== undefined
  // A fence cannot be decided while this decision is pending. So the fence came first, and no table has been swapped
  // yet.
  if (isCommitted || (await isFenced(access, firstTable))) {
    await deleteDecision(access, publication)
    return isCommitted
  }
  const states = await Promise.all(tables.map((proposal) => readTableState(access, proposal)))
  // Once a table is published, the others must follow, so the decision can no longer be abandoned.
  if (states.includes('OVERTAKEN') && !states.includes('PUBLISHED')) {
    await deleteDecision(access, publication)
    return false
  }
  for (const [index, proposal] of tables.entries())
    if (states[index] === 'PENDING' && affectsViews(proposal.entry.changes)) await retireViews(access, proposal)
  for (const proposal of tables) await swapTable(access, proposal)
  if (tables.some(({ entry }) => affectsViews(entry.changes))) await recreateViews(access, firstTable)
  await recordPublished(access, publication)
  await deleteDecision(access, publication)
  return true
}

/**
 * Returns PUBLISHED if the target already has the load, PENDING if it must be swapped in, or OVERTAKEN if another run
 * replaced the target or the staging table is gone. If a merge changes no row, the target stays and is PENDING, because
 * no table of the run is swapped.
 *
 * Reads the staging table first. If another process swaps the table between the two reads, the target then has the load
 * and the result is correct.
 */
async function readTableState(
  access: ClientAccess,
  proposal: ProposedTable,
): Promise<'PUBLISHED' | 'PENDING' | 'OVERTAKEN'> {
  const keepsTable = proposal.base !== '' && proposal.base === proposal.entry.staged
  const stagedTable = keepsTable ? undefined : await findStagedTable(access, proposal)
  const target = await readShape(
    access.service,
    databaseOf({ key: access.key, schema: proposal.schema }),
    proposal.table,
  )
  const isTargetUnchanged = (target?.uuid ?? '') === proposal.base
  if (keepsTable) return isTargetUnchanged ? 'PENDING' : 'OVERTAKEN'
  if (target?.metadata?.load === proposal.load) return 'PUBLISHED'
  return stagedTable && isTargetUnchanged ? 'PENDING' : 'OVERTAKEN'
}

/**
 * Swaps a table in exactly once, even if several processes apply the decision concurrently. Each process first renames
 * the staging table to a random name (claims it), so that swaps by its old name fail. If the target already has the
 * load, another process has finished the swap. Throws WAREHOUSE_BUSY if the swap does not succeed within
 * `swapRetries.tries` tries.
 */
async function swapTable(access: ClientAccess, proposal: ProposedTable): Promise<void> {
  const target = { database: databaseOf({ key: access.key, schema: proposal.schema }), name: proposal.table }
  /** The name of the staging table under another process's claim, from the previous try. */
  let otherClaim = ''
  for (let tries = 0; tries < swapRetries.tries; tries += 1) {
    if (tries > 0) await sleep(swapRetries.wait * (0.5 + Math.random()))
    if ((await readShape(access.service, target.database, target.name))?.metadata?.load === proposal.load) return
    const stagedTable = await findStagedTable(access, proposal)
    if (!stagedTable) continue
    // Another process has claimed the table by renaming it. If the name is the same at the next try, that process may
    // be dead, and this process takes over.
    const isNewClaim = stagedTable.name.startsWith(claimPrefix) && stagedTable.name !== otherClaim
    if (isNewClaim) {
      otherClaim = stagedTable.name
      continue
    }
    const claim = { database: stagedTable.database, name: `${claimPrefix}${randomBytes(8).toString('hex')}` }
    try {
      await executeStatement(access.service, `rename table ${quotedName(stagedTable)} to ${quotedName(claim)}`)
      const claimedShape = await readShape(access.service, claim.database, claim.name)
      if (!claimedShape || !isProposedTable(proposal, { ...claimedShape, load: claimedShape.metadata?.load })) continue
      const existing = await readShape(access.service, target.database, target.name)
      await executeStatement(
        access.service,
        existing
          ? `exchange tables ${quotedName(claim)} and ${quotedName(target)}`
          : `rename table ${quotedName(claim)} to ${quotedName(target)}`,
      )
      return
    } catch (error) {
      // Another process renamed the table first. The next iteration reads the state again.
      if (!isCode(error, errorCodes.unknownTable) && !isCode(error, errorCodes.tableExists)) throw error
    }
  }
  throw concurrentlyChanged(proposal)
}

interface NamedTable {
  database: string
  name: string
}

const quotedName = ({ database, name }: NamedTable) => qualifyName(database, name)

/**
 * True if the table is the one that the proposal names. Compares UUIDs too, because an organisation's SQL can copy the
 * staging table's comment or replace the table by a view. Proposals of older versions have no UUID.
 */
function isProposedTable(
  { load, entry }: ProposedTable,
  table: Pick<ClickHouseShape, 'uuid' | 'engine'> & { load: string | undefined },
): boolean {
  const hasSameUuid = entry.staged === undefined || entry.staged === table.uuid
  return table.load === load && hasRows(table) && hasSameUuid
}

/** Finds the proposal's staging table, whatever its current name is. */
async function findStagedTable(access: ClientAccess, proposal: ProposedTable): Promise<NamedTable | undefined> {
  const rows = await rowsOf<NamedTable & { comment: string; uuid: string; engine: string }>(
    access.service,
    `select database, name, comment, engine, toString(uuid) as uuid from system.tables
     where startsWith(database, {prefix:String}) and position(comment, {load:String}) > 0`,
    { parameters: { prefix: runPrefix(access.key), load: proposal.load } },
  )
  return rows.find((row) => isProposedTable(proposal, { ...row, load: parseTableMetadata(row.comment)?.load }))
}

/**
 * The prefix of decision tables that are being deleted. It must not change: servers contain such tables of earlier
 * versions.
 */
const removedDecisionPrefix = 'settled_'

/**
 * Deletes the table that records the decision to publish a run, once it is applied or abandoned. Another decision may
 * have created its own table of this name in the meantime. So this first renames the table, then checks its comment;
 * the table of another decision gets its name back.
 */
async function deleteDecision(access: ClientAccess, publication: string): Promise<void> {
  if ((await findDecision(access)) !== publication) return
  const database = quoteIdentifier(ledgerDatabase(access.key))
  const removedTable = `${removedDecisionPrefix}${randomBytes(8).toString('hex')}`
  try {
    await executeStatement(access.service, `rename table ${database}.${decisionTable} to ${database}.${removedTable}`)
    const isOtherDecision = (await findDecision(access, removedTable)) !== publication
    await executeStatement(
      access.service,
      isOtherDecision
        ? `rename table ${database}.${removedTable} to ${database}.${decisionTable}`
        : `drop table if exists ${database}.${removedTable}`,
    )
  } catch (error) {
    if (!isCode(error, errorCodes.unknownTable)) throw error
  }
}

/**
 * Returns for a busy warehouse, and throws any other error. A decision that cannot be completed now stays pending, so
 * callers that only complete decisions of others need not fail.
 */
export function ignoreBusy(error: unknown): void {
  if (!isBusy(error)) throw error
}

/**
 * Finishes decision deletions that a dead worker left half done. First applies each decision, in case it is still
 * pending. Keeps a decision that it cannot complete now.
 */
export async function finishDecisionDeletions(access: ClientAccess): Promise<void> {
  for (const { name, comment } of await listDecisionTables(access, removedDecisionPrefix)) {
    const removedTable = qualifyName(ledgerDatabase(access.key), name)
    await applyDecision(access, comment)
      .then(() => executeStatement(access.service, `drop table if exists ${removedTable}`))
      .catch(ignoreBusy)
  }
}

/** Lists the publications with a pending decision, including decisions that a process is currently deleting. */
export async function listDecisions(access: ClientAccess): Promise<string[]> {
  const decisionTables = [
    ...(await listDecisionTables(access, decisionTable)),
    ...(await listDecisionTables(access, removedDecisionPrefix)),
  ]
  return decisionTables.map(({ comment }) => comment)
}

const listDecisionTables = (access: ClientAccess, prefix: string) =>
  rowsOf<{ name: string; comment: string }>(
    access.service,
    'select name, comment from system.tables where database = {database:String} and startsWith(name, {prefix:String})',
    { parameters: { database: ledgerDatabase(access.key), prefix } },
  )

export function concurrentlyChanged({ schema, table }: { schema: string; table: string }): WarehouseProblem {
  const sentence = `Another run changed ${quotePlace(schema, table)} during the publication of this run. The run is retried automatically.`
  return busyProblem(sentence)
}
