import type { Kysely } from 'kysely'
import type { DB } from '../../database.ts'

export interface StoredStep {
  workflow_id: number
  step: number
  execution_mode: string
  delay_after: number
  disabled: boolean
}

export interface StoredJob {
  workflow_id: number
  step: number
  job: number
  uid: string
  object: { id: number; uid: string; kind: string; name: string }
}

/** Returns the steps and the jobs of these workflows, in their order within each workflow. */
export async function readStoredSteps(
  db: Kysely<DB>,
  workflows: readonly number[],
): Promise<{ steps: StoredStep[]; jobs: StoredJob[] }> {
  // No workflow has the key 0. It is there because SQL does not allow an empty list.
  const ids = [0, ...workflows]
  const steps = await db
    .selectFrom('workflow_steps')
    .selectAll()
    .where('workflow_id', 'in', ids)
    .orderBy('step')
    .execute()
  const jobs = await db
    .selectFrom('workflow_jobs as j')
    .innerJoin('runnables as o', 'o.id', 'j.runnable_id')
    .select([
      'j.workflow_id',
      'j.step',
      'j.job',
      'j.uid',
      'o.id as object_id',
      'o.uid as object_uid',
      'o.kind',
      'o.name',
    ])
    .where('j.workflow_id', 'in', ids)
    .orderBy('j.step')
    .orderBy('j.job')
    .execute()
  return {
    steps,
    jobs: jobs.map(({ object_id, object_uid, kind, name, ...job }) => ({
      ...job,
      object: { id: object_id, uid: object_uid, kind, name },
    })),
  }
}
