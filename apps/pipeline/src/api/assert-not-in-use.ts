import { problems } from '@sluice/http'
import { sql, type SelectQueryBuilder, type Transaction } from 'kysely'
import type { DB } from '../database.ts'
import { nounOf, type RunnableKind } from '../engine/runs/runnable.ts'
import { underWay } from '../engine/runs/states.ts'
import { usedByWorkflows } from '../engine/workflows/used-by-workflows.ts'

/** What else uses a thing is a conflict that names the first of them. `what` they do, and what is to be done before. */
export function assertNotUsed(users: readonly string[], what: string, before: string): void {
  if (users.length === 0) return
  throw problems.conflict('/', `${what}: ${users.map((name) => `"${name}"`).join(', ')}. ${before}`)
}

/** So many are named. */
export const mostNamed = 5

/** The names of the first of those that use a thing. */
export async function firstNames<Known, Table extends keyof Known>(
  users: SelectQueryBuilder<Known, Table, { name: string }>,
): Promise<string[]> {
  const found = await users.orderBy(sql.ref('name')).limit(mostNamed).execute()
  return found.map(({ name }) => name)
}

/** Refuses to delete what is being run, or what workflows run; then gives the deletion time for the runs that go with it. */
export async function assertIdle(
  trx: Transaction<DB>,
  { id }: { id: number },
  kind: RunnableKind,
  doesToIt = 'run',
): Promise<void> {
  const noun = nounOf[kind]
  const active = await trx
    .selectFrom('runs')
    .select('uid')
    .where('runnable_id', '=', id)
    .where('state', 'in', [...underWay])
    .executeTakeFirst()
  if (active) throw problems.conflict('/', `A run of this ${noun} is under way: cancel it or wait for its end.`)
  const workflows = await usedByWorkflows(trx, id)
  assertNotUsed(workflows, `Workflows ${doesToIt} this ${noun}`, 'Take it out of them first.')
  // Months of runs go with it, each with up to 20,000 log lines and rejected rows.
  await sql`set local statement_timeout = '120s'`.execute(trx)
}
