import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { WarehouseProblem } from '../warehouse.ts'
import type { ClientAccess } from './clickhouse-settings.ts'
import { recreateViews, retireViews, affectsViews } from './dependent-views.ts'
import { execute, rowsOf } from './http.ts'
import {
  type ProposedTable,
  declareClosed,
  declarePublished,
  isClosed,
  readProposal,
  findPublication,
} from './ledger.ts'
import { databaseOf, ledgerDatabase, literal, qualified, quoted, runPrefix, quotePlace } from './names.ts'
import { codes, isCode } from './problems.ts'
import { holdsRows, markIn, readShape, type ClickHouseShape } from './table-shape.ts'

/** The decision: a table whose comment names a publication. The server makes one of that name once, whoever asks. */
const decisionTable = 'publishing'

/** What a table is called that somebody has taken to swap it. */
const claimPrefix = 'swap_'
/** Milliseconds between looks at what others do to the same table, about; and how often. */
const swapRetries = { tries: 40, wait: 250 }

/** Decides for this publication. False while another one is decided on and not settled yet. */
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

/** Finishes what was decided and not finished, by us or by a worker that died. Does it twice without harm. */
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
 * Brings every table of a decided publication about and says so in the ledger. Throws WAREHOUSE_BUSY, with nothing changed, where
 * another run replaced a table meanwhile, or the run was closed.
 */
export async function recover(access: ClientAccess, publication: string): Promise<void> {
  const tables = await readProposal(access, publication)
  const [first] = tables
  if (!first) await declareClosed(access, publication)
  const before = first && (await findPublication(access, first.run))
  if (!first || before) return deleteDecision(access, publication)
  // While this is decided on nobody can close the run, so that was before, and nothing of this has begun.
  if (await isClosed(access, first)) return abandonDecision(access, first)
  const stands = await Promise.all(tables.map((one) => readTableState(access, one)))
  if (stands.includes('overtaken') && !stands.includes('done')) return abandonDecision(access, first)
  for (const [index, one] of tables.entries())
    if (stands[index] === 'due' && affectsViews(one.entry.changes)) await retireViews(access, one)
  for (const one of tables) await swapTable(access, one)
  if (tables.some(({ entry }) => affectsViews(entry.changes))) await recreateViews(access, first)
  await declarePublished(access, publication)
  await deleteDecision(access, publication)
}

async function abandonDecision(access: ClientAccess, one: ProposedTable): Promise<never> {
  await deleteDecision(access, one.publication)
  throw concurrentlyChanged(one)
}

/** Somebody else may be at it too: what is not waiting any more when it is looked for has its place by the time that is looked at. */
async function readTableState(access: ClientAccess, one: ProposedTable): Promise<'done' | 'due' | 'overtaken'> {
  const waiting = await stagedAs(access, one)
  const target = await readShape(access.service, databaseOf({ key: access.key, schema: one.schema }), one.table)
  if (target?.mark?.load === one.load) return 'done'
  return waiting && (target?.uuid ?? '') === one.base ? 'due' : 'overtaken'
}

/**
 * Swaps once, however many try. Whoever wants to swap first takes the staging table to a name that nobody else knows; a swap under the
 * old name then fails. If the table turns out to hold the old rows, somebody else has swapped.
 */
async function swapTable(access: ClientAccess, one: ProposedTable): Promise<void> {
  const target = { database: databaseOf({ key: access.key, schema: one.schema }), name: one.table }
  let others = ''
  for (let tries = 0; tries < swapRetries.tries; tries += 1) {
    if (tries > 0) await sleep(swapRetries.wait * (0.5 + Math.random()))
    if ((await readShape(access.service, target.database, target.name))?.mark?.load === one.load) return
    const staged = await stagedAs(access, one)
    if (!staged) continue
    // Somebody took it to swap it just now, and is let do so; unless it stays there, for they may be dead.
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
      // Somebody else was quicker; what there is now is looked at anew.
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

/** The client's own SQL can copy a mark, and put a view in a table's place; neither has the uuid that was decided on. */
const isDecided = (
  one: ProposedTable,
  table: Pick<ClickHouseShape, 'uuid' | 'engine'> & { load: string | undefined },
): boolean => table.load === one.load && holdsRows(table) && (one.entry.staged ?? table.uuid) === table.uuid

/** Where a load waits, whatever it is called by now. */
async function stagedAs(access: ClientAccess, one: ProposedTable): Promise<NamedTable | undefined> {
  const rows = await rowsOf<NamedTable & { comment: string; uuid: string; engine: string }>(
    access.service,
    `select database, name, comment, engine, toString(uuid) as uuid from system.tables
     where startsWith(database, {prefix:String}) and position(comment, {load:String}) > 0`,
    { parameters: { prefix: runPrefix(access.key), load: one.load } },
  )
  return rows.find((row) => isDecided(one, { ...row, load: markIn(row.comment)?.load }))
}

/** Takes the decision back, once it is carried out or void. Another one that was made meanwhile stays. */
async function deleteDecision(access: ClientAccess, publication: string): Promise<void> {
  if ((await findDecision(access)) !== publication) return
  const home = quoted(ledgerDatabase(access.key))
  const aside = `settled_${randomBytes(8).toString('hex')}`
  try {
    await execute(access.service, `rename table ${home}.${decisionTable} to ${home}.${aside}`)
    if ((await findDecision(access, aside)) !== publication)
      await execute(access.service, `rename table ${home}.${aside} to ${home}.${decisionTable}`)
    else await execute(access.service, `drop table if exists ${home}.${aside}`)
  } catch (error) {
    if (!isCode(error, codes.unknownTable)) throw error
  }
}

/** One that was overtaken has changed nothing, and is void. */
export function ignoreBusy(error: unknown): void {
  if (!(error instanceof WarehouseProblem && error.code === 'WAREHOUSE_BUSY')) throw error
}

/** What is left of decisions where somebody died while taking one back: carried out, should that be due, and dropped. */
export async function dropRevokedDecisions(access: ClientAccess): Promise<void> {
  for (const { name, comment } of await decisionsIn(access, 'settled_')) {
    await recover(access, comment).catch(ignoreBusy)
    await execute(access.service, `drop table if exists ${qualified(ledgerDatabase(access.key), name)}`)
  }
}

/** Publications that are decided on, also by a decision that somebody is taking back. */
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
  const sentence = `Another run changed ${quotePlace(schema, table)} while this one was being published. It is tried again.`
  return new WarehouseProblem('WAREHOUSE_BUSY', sentence, { retryable: true })
}
