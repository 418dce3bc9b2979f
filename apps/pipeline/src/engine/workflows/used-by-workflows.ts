import type { Kysely } from 'kysely'
import type { DB } from '../../database.ts'

/** Names of the workflows that run this, five at most, in their order. What they name cannot be deleted. */
export async function usedByWorkflows(db: Kysely<DB>, runnableId: number): Promise<string[]> {
  const users = await db
    .selectFrom('workflows as w')
    .select('w.name')
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('workflow_jobs as j')
          .select('j.job')
          .whereRef('j.workflow_id', '=', 'w.id')
          .where('j.runnable_id', '=', runnableId),
      ),
    )
    .orderBy('w.name')
    .limit(5)
    .execute()
  return users.map(({ name }) => name)
}
