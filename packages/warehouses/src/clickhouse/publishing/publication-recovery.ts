import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type WarehouseProblem, busyProblem, isBusy } from '../../warehouse.ts'
import type { ClientAccess } from '../clickhouse-settings.ts'
import { recreateViews, retireViews, affectsViews } from '../views/dependent-views.ts'
import { executeStatement, rowsOf } from '../protocol/http-client.ts'
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
} from '../sql-identifiers.ts'
import { errorCodes, isCode } from '../map-server-errors.ts'
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
    // Creating a table of an existing name fails, so at most one decision is pending.
    if (isCode(error, errorCodes.tableExists)) return false
    throw error
  }
}

/**
 * Completes the pending decision of another process, if one exists, for example after its worker died. Leaves it
 * pending if its tables are busy now.
 */
export async function completePendingPublication(access: ClientAccess): Promise<void> {
  const publication = await findDecision(access)
  if (publication !== undefined) await applyDecision(access, publication).catch(ignoreBusy)
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
  const isApplied = await executeDecision(access, publication)
  await deleteDecision(access, publication)
  return isApplied
}

/**
 * Does the work of `applyDecision`, except the deletion of the decision. Returns false if the decision is abandoned.
 */
async function executeDecision(access: ClientAccess, publication: string): Promise<boolean> {
  const tables = await readProposal(access, publication)
  const [firstTable] = tables
  const isFenceDecision = firstTable === undefined
  if (isFenceDecision) {
    await recordFence(access, publication)
    return true
  }
  const isAlreadyCommitted = (await findPublication(access, firstTable.run)) !== undefined
  if (isAlreadyCommitted) return true
  // A fence cannot be decided while this decision is pending. So the fence came first, and no table has been swapped
  // yet.
  if (await isFenced(access, firstTable)) return false
  const states = await Promise.all(tables.map((proposal) => readTableState(access, proposal)))
  // Once a table is published, the others must follow, so the decision can no longer be abandoned.
  const mustAbandon = states.includes('OVERTAKEN') && !states.includes('PUBLISHED')
  if (mustAbandon) return false
  const pendingTables = tables.filter((_, index) => states[index] === 'PENDING')
  for (const proposal of pendingTables) if (affectsViews(proposal.entry.changes)) await retireViews(access, proposal)
  for (const proposal of tables) await swapTable(access, proposal)
  if (tables.some(({ entry }) => affectsViews(entry.changes))) await recreateViews(access, firstTable)
  await recordPublished(access, publication)
  return true
}

/**
 * Returns the state of one table of a decided publication:
 *
 * - PUBLISHED: the published table already contains the load.
 * - PENDING: the published table is still the one that the proposal replaces or keeps.
 * - OVERTAKEN: another run has replaced the published table, or the staging table is gone.
 */
async function readTableState(
  access: ClientAccess,
  proposal: ProposedTable,
): Promise<'PUBLISHED' | 'PENDING' | 'OVERTAKEN'> {
  const database = databaseOf({ key: access.key, schema: proposal.schema })
  const readPublishedTable = () => readShape(access.service, database, proposal.table)
  // `base` is the uuid of the table at the time of the proposal, or empty if the table did not exist.
  const isAsProposed = (table: ClickHouseShape | undefined) => (table?.uuid ?? '') === proposal.base
  // A merge that changes no row publishes the existing table again, and needs no staging table.
  const keepsPublishedTable = proposal.base !== '' && proposal.base === proposal.entry.staged
  if (keepsPublishedTable) return isAsProposed(await readPublishedTable()) ? 'PENDING' : 'OVERTAKEN'
  // Reads the staging table first. If another process swaps the tables between the two reads, the published table
  // contains the load.
  const stagingTable = await findStagedTable(access, proposal)
  const publishedTable = await readPublishedTable()
  if (publishedTable?.metadata?.load === proposal.load) return 'PUBLISHED'
  return stagingTable && isAsProposed(publishedTable) ? 'PENDING' : 'OVERTAKEN'
}

/**
 * Swaps a table in exactly once, even if several processes apply the decision concurrently. Each process first claims
 * the staging table: it renames the table to a random name, so that the other processes can no longer swap it. Throws
 * WAREHOUSE_BUSY if the swap does not succeed within `swapRetries.tries` tries.
 */
async function swapTable(access: ClientAccess, proposal: ProposedTable): Promise<void> {
  const target = { database: databaseOf({ key: access.key, schema: proposal.schema }), name: proposal.table }
  const isPublished = async () =>
    (await readShape(access.service, target.database, target.name))?.metadata?.load === proposal.load
  /** The name of a staging table that another process had claimed at an earlier try. */
  let otherClaim: string | undefined
  for (let tries = 0; tries < swapRetries.tries; tries += 1) {
    if (tries > 0) await sleep(swapRetries.wait * (0.5 + Math.random()))
    // Another process may have finished the swap.
    if (await isPublished()) return
    const stagingTable = await findStagedTable(access, proposal)
    if (!stagingTable) continue
    // The other process gets one more try to finish. If the name is the same then, that process may be dead, and this
    // one takes over.
    const isNewClaimOfOther = stagingTable.name.startsWith(claimPrefix) && stagingTable.name !== otherClaim
    if (isNewClaimOfOther) otherClaim = stagingTable.name
    else if (await tryToClaimAndSwap(access, proposal, stagingTable, target)) return
  }
  throw concurrentlyChanged(proposal)
}

/**
 * Renames the staging table to a new name with `claimPrefix`, then exchanges it with the published table, or gives it
 * the target's name if none is published. Returns false if another process renamed one of the tables first.
 */
async function tryToClaimAndSwap(
  access: ClientAccess,
  proposal: ProposedTable,
  stagingTable: NamedTable,
  target: NamedTable,
): Promise<boolean> {
  const { service } = access
  const claim = { database: stagingTable.database, name: `${claimPrefix}${randomBytes(8).toString('hex')}` }
  try {
    await executeStatement(service, `rename table ${quotedName(stagingTable)} to ${quotedName(claim)}`)
    const claimedShape = await readShape(service, claim.database, claim.name)
    const isClaimed = claimedShape && isProposedTable(proposal, { ...claimedShape, load: claimedShape.metadata?.load })
    if (!isClaimed) return false
    const publishedTable = await readShape(service, target.database, target.name)
    await executeStatement(
      service,
      publishedTable
        ? `exchange tables ${quotedName(claim)} and ${quotedName(target)}`
        : `rename table ${quotedName(claim)} to ${quotedName(target)}`,
    )
    return true
  } catch (error) {
    const isRenamedByOther = isCode(error, errorCodes.unknownTable) || isCode(error, errorCodes.tableExists)
    if (isRenamedByOther) return false
    throw error
  }
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
 * Deletes the table that records the decision to publish a run, once it is applied or abandoned. Another process may
 * delete it too and record the next decision in a table of the same name. So this function renames the table before it
 * checks which decision it records, and gives the table of another decision its name back.
 */
async function deleteDecision(access: ClientAccess, publication: string): Promise<void> {
  if ((await findDecision(access)) !== publication) return
  const database = quoteIdentifier(ledgerDatabase(access.key))
  const renamedTable = `${removedDecisionPrefix}${randomBytes(8).toString('hex')}`
  try {
    await executeStatement(access.service, `rename table ${database}.${decisionTable} to ${database}.${renamedTable}`)
    const isOtherDecision = (await findDecision(access, renamedTable)) !== publication
    await executeStatement(
      access.service,
      isOtherDecision
        ? `rename table ${database}.${renamedTable} to ${database}.${decisionTable}`
        : `drop table if exists ${database}.${renamedTable}`,
    )
  } catch (error) {
    // Another process has deleted the decision.
    if (!isCode(error, errorCodes.unknownTable)) throw error
  }
}

/**
 * Returns for a busy warehouse, and throws any other error. A decision that cannot be completed now stays pending, so
 * callers that only complete decisions of others need not fail.
 */
function ignoreBusy(error: unknown): void {
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
