import { problems } from '@sluice/http-server'
import { sql, type SelectQueryBuilder, type Transaction } from 'kysely'
import type { DB } from '../database.ts'
import { nounOf, type RunnableKind } from '../runs/runnable.ts'
import { hasActiveRun } from '../runs/read-runs.ts'
import { listUsingWorkflows } from '../workflows/workflow-run.ts'

/** Throws 409 with the names of the users of an object. `what` says how they use it, and `before` what to do first. */
export function assertNotUsed(users: readonly string[], what: string, before: string): void {
  if (users.length === 0) return
  throw problems.conflict('/', `${what}: ${users.map((name) => `"${name}"`).join(', ')}. ${before}`)
}

/** The number of users that a message names. */
export const maxNamedUsers = 5

/** Returns the names of the first users. */
export async function firstNames<Known, Table extends keyof Known>(
  users: SelectQueryBuilder<Known, Table, { name: string }>,
): Promise<string[]> {
  const found = await users.orderBy(sql.ref('name')).limit(maxNamedUsers).execute()
  return found.map(({ name }) => name)
}

/** Throws 409 for an object that is running or used by workflows. Then raises the statement timeout, because its runs are deleted, too. */
export async function assertIdle(
  trx: Transaction<DB>,
  { id }: { id: number },
  kind: RunnableKind,
  doesToIt = 'run',
): Promise<void> {
  const noun = nounOf[kind]
  if (await hasActiveRun(trx, id))
    throw problems.conflict('/', `A run of this ${noun} is under way: cancel it or wait for its end.`)
  const workflows = await listUsingWorkflows(trx, id)
  assertNotUsed(workflows, `Workflows ${doesToIt} this ${noun}`, 'Take it out of them first.')
  // The deletion includes months of runs, each with up to 20,000 log lines and rejected rows.
  await sql`set local statement_timeout = '120s'`.execute(trx)
}
