import { sql, type Kysely } from 'kysely'

/** Names of the workflows that run this, five at most, in their order. What they name cannot be deleted. */
export async function usedByWorkflows(db: Kysely<any>, runnableId: number): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select name from workflows
    where id in (select workflow_id from workflow_jobs where runnable_id = ${runnableId})
    order by name limit 5`.execute(db)
  return rows.map(({ name }) => name)
}
