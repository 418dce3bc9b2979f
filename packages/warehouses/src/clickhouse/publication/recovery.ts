import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { WarehouseProblem } from '../../warehouse.ts'
import type { ClientAccess } from '../clickhouse-settings.ts'
import { recreateViews, retireViews, affectsViews } from '../views/dependent-views.ts'
import { execute, rowsOf } from '../protocol/http.ts'
import {
  type ProposedTable,
  declareClosed,
  declarePublished,
  isClosed,
  readProposal,
  findPublication,
} from '../ledger.ts'
import { databaseOf, ledgerDatabase, literal, qualified, quoted, runPrefix, quotePlace } from '../names.ts'
import { codes, isCode } from '../problems.ts'
import { hasRows, markIn, readShape, type ClickHouseShape } from '../table-shape.ts'

/**
 * The decision is a table whose comment names a publication. The server creates a table of this name only once, even with
 * concurrent requests.
 */
const decisionTable = 'publishing'

/** Prefix of a staging table that a process has claimed in order to swap it. */
const claimPrefix = 'swap_'
/** The approximate milliseconds between checks of concurrent changes to the same table, and the number of checks. */
const swapRetries = { tries: 40, wait: 250 }

/** Records the decision for this publication. Returns false while another decision is unfinished. */
export async function recordDecision(access: ClientAccess, publication: string): Promise<boolean> {
  try {
    const place = qualified(ledgerDatabase(access.key), decisionTable)
    await execute(access.service, `create table ${place} (none UInt8) engine = Null comment ${literal(publication)}`)
    return true
  } catch (error) {
    if (isCode(error, codes.tableExists)) return false
    throw error
  }
}

/** Finishes publications that this process, or one that died, decided and did not finish. Idempotent. */
export async function recoverPending(access: ClientAccess): Promise<void> {
  const publication = await findDecision(access)
  if (publication !== undefined) await recover(access, publication)
}

async function findDecision(access: ClientAccess, name = decisionTable): Promise<string | undefined> {
  const [row] = await rowsOf<{ comment: string }>(
    access.service,
    'select comment from system.tables where database = {database:String} and name = {name:String}',
    { parameters: { database: ledgerDatabase(access.key), name } },
  )
  return row?.comment
}

/**
 * Publishes every table of a decided publication and records it in the ledger. Throws WAREHOUSE_BUSY, with nothing changed, if
 * another run has replaced a table since the decision, or if the run is closed.
 */
export async function recover(access: ClientAccess, publication: string): Promise<void> {
  const tables = await readProposal(access, publication)
  const [first] = tables
  if (!first) await declareClosed(access, publication)
  const before = first && (await findPublication(access, first.run))
  if (!first || before) return deleteDecision(access, publication)
  // A pending decision prevents closing the run. So the run was closed before the decision, and no table is swapped yet.
  if (await isClosed(access, first)) return abandonDecision(access, first)
  const states = await Promise.all(tables.map((one) => readTableState(access, one)))
  if (states.includes('overtaken') && !states.includes('done')) return abandonDecision(access, first)
  for (const [index, one] of tables.entries())
    if (states[index] === 'due' && affectsViews(one.entry.changes)) await retireViews(access, one)
  for (const one of tables) await swapTable(access, one)
  if (tables.some(({ entry }) => affectsViews(entry.changes))) await recreateViews(access, first)
  await declarePublished(access, publication)
  await deleteDecision(access, publication)
}

async function abandonDecision(access: ClientAccess, one: ProposedTable): Promise<never> {
  await deleteDecision(access, one.publication)
  throw concurrentlyChanged(one)
}

/**
 * Another process may recover at the same time: a table that is gone from staging at the first look is in its place at the second look.
 */
async function readTableState(access: ClientAccess, one: ProposedTable): Promise<'done' | 'due' | 'overtaken'> {
  const staged = await stagedAs(access, one)
  const target = await readShape(access.service, databaseOf({ key: access.key, schema: one.schema }), one.table)
  if (target?.mark?.load === one.load) return 'done'
  return staged && (target?.uuid ?? '') === one.base ? 'due' : 'overtaken'
}

/**
 * Swaps once, even with concurrent callers. A caller first renames the staging table to a name that only it knows; a swap under
 * the old name then fails. If the table turns out to hold the old rows, another process has already swapped.
 */
async function swapTable(access: ClientAccess, one: ProposedTable): Promise<void> {
  const target = { database: databaseOf({ key: access.key, schema: one.schema }), name: one.table }
  let others = ''
  for (let tries = 0; tries < swapRetries.tries; tries += 1) {
    if (tries > 0) await sleep(swapRetries.wait * (0.5 + Math.random()))
    if ((await readShape(access.service, target.database, target.name))?.mark?.load === one.load) return
    const staged = await stagedAs(access, one)
    if (!staged) continue
    // Another process has just claimed the table and may swap it. If the table keeps this name, that process may be dead.
    if (staged.name.startsWith(claimPrefix) && staged.name !== others) {
      others = staged.name
      continue
    }
    const claim = { database: staged.database, name: `${claimPrefix}${randomBytes(8).toString('hex')}` }
    try {
      await execute(access.service, `rename table ${place(staged)} to ${place(claim)}`)
      const taken = await readShape(access.service, claim.database, claim.name)
      if (!taken || !isDecided(one, { ...taken, load: taken.mark?.load })) continue
      const there = await readShape(access.service, target.database, target.name)
      if (there) await execute(access.service, `exchange tables ${place(claim)} and ${place(target)}`)
      else await execute(access.service, `rename table ${place(claim)} to ${place(target)}`)
      return
    } catch (error) {
      // Another process was faster; the loop reads the current state again.
      if (!isCode(error, codes.unknownTable) && !isCode(error, codes.tableExists)) throw error
    }
  }
  throw concurrentlyChanged(one)
}

interface NamedTable {
  database: string
  name: string
}

const place = ({ database, name }: NamedTable) => qualified(database, name)

/** The client's own SQL can copy a mark, and replace a table by a view; neither has the decided uuid. */
const isDecided = (
  one: ProposedTable,
  table: Pick<ClickHouseShape, 'uuid' | 'engine'> & { load: string | undefined },
): boolean => table.load === one.load && hasRows(table) && (one.entry.staged ?? table.uuid) === table.uuid

/** Returns the current place of the staged load under any name. */
async function stagedAs(access: ClientAccess, one: ProposedTable): Promise<NamedTable | undefined> {
  const rows = await rowsOf<NamedTable & { comment: string; uuid: string; engine: string }>(
    access.service,
    `select database, name, comment, engine, toString(uuid) as uuid from system.tables
     where startsWith(database, {prefix:String}) and position(comment, {load:String}) > 0`,
    { parameters: { prefix: runPrefix(access.key), load: one.load } },
  )
  return rows.find((row) => isDecided(one, { ...row, load: markIn(row.comment)?.load }))
}

/** Deletes the decision after it is carried out or void. A newer decision stays. */
async function deleteDecision(access: ClientAccess, publication: string): Promise<void> {
  if ((await findDecision(access)) !== publication) return
  const database = quoted(ledgerDatabase(access.key))
  const aside = `settled_${randomBytes(8).toString('hex')}`
  try {
    await execute(access.service, `rename table ${database}.${decisionTable} to ${database}.${aside}`)
    if ((await findDecision(access, aside)) !== publication)
      await execute(access.service, `rename table ${database}.${aside} to ${database}.${decisionTable}`)
    else await execute(access.service, `drop table if exists ${database}.${aside}`)
  } catch (error) {
    if (!isCode(error, codes.unknownTable)) throw error
  }
}

/** A publication that another one overtook has changed nothing and is void. */
export function ignoreBusy(error: unknown): void {
  if (!(error instanceof WarehouseProblem && error.code === 'WAREHOUSE_BUSY')) throw error
}

/** Handles decisions whose worker died while it deleted them: carries them out if they are still due, then drops them. */
export async function dropRevokedDecisions(access: ClientAccess): Promise<void> {
  for (const { name, comment } of await decisionsIn(access, 'settled_')) {
    await recover(access, comment).catch(ignoreBusy)
    await execute(access.service, `drop table if exists ${qualified(ledgerDatabase(access.key), name)}`)
  }
}

/** Returns the decided publications, including those whose decision a process is currently deleting. */
export async function listDecisions(access: ClientAccess): Promise<string[]> {
  const found = [...(await decisionsIn(access, decisionTable)), ...(await decisionsIn(access, 'settled_'))]
  return found.map(({ comment }) => comment)
}

const decisionsIn = (access: ClientAccess, prefix: string) =>
  rowsOf<{ name: string; comment: string }>(
    access.service,
    'select name, comment from system.tables where database = {database:String} and startsWith(name, {prefix:String})',
    { parameters: { database: ledgerDatabase(access.key), prefix } },
  )

export function concurrentlyChanged({ schema, table }: { schema: string; table: string }): WarehouseProblem {
  const sentence = `Another run changed ${quotePlace(schema, table)} while this one was being published. The run is retried.`
  return new WarehouseProblem('WAREHOUSE_BUSY', sentence, { retryable: true })
}
