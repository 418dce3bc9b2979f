import { problems } from '@sluice/http-server'
import { sql, type SelectQueryBuilder, type Transaction } from 'kysely'
import type { DB } from '../database.ts'
import { nounOf, type RunnableKind } from '../runs/runnable-kinds.ts'
import { hasActiveRun } from '../runs/read-runs.ts'
import { listUsingWorkflows } from '../workflows/workflow-run.ts'

/** Throws 409 if other objects use an object. The message is `usage` (how they use it), their names, and `advice` (what to do first). */
export function assertNotUsed(names: readonly string[], usage: string, advice: string): void {
  if (names.length === 0) return
  throw problems.conflict('/', `${usage}: ${names.map((name) => `"${name}"`).join(', ')}. ${advice}`)
}

/** The maximum number of using objects that a message names. */
export const maxNamedUsers = 5

/** Returns the first `maxNamedUsers` names in alphabetical order. */
export async function listFirstNames<Known, Table extends keyof Known>(
  query: SelectQueryBuilder<Known, Table, { name: string }>,
): Promise<string[]> {
  const found = await query.orderBy(sql.ref('name')).limit(maxNamedUsers).execute()
  return found.map(({ name }) => name)
}

/** Throws 409 if a run of the object is queued or running, or if workflows use it. Then raises the statement timeout for the deletion. */
export async function assertDeletable(
  trx: Transaction<DB>,
  { id }: { id: number },
  kind: RunnableKind,
  workflowVerb = 'run',
): Promise<void> {
  const noun = nounOf[kind]
  if (await hasActiveRun(trx, id))
    throw problems.conflict('/', `A run of this ${noun} is queued or running. Wait for its end, or cancel it.`)
  const workflows = await listUsingWorkflows(trx, id)
  assertNotUsed(workflows, `Workflows ${workflowVerb} this ${noun}`, `Remove the ${noun} from these workflows first.`)
  // The object's runs of several months are deleted with it. Each can have 20,000 log lines and rejected rows.
  await sql`set local statement_timeout = '120s'`.execute(trx)
}
