import type { PipelineType, Workflow } from '@sluice/contracts'
import { accessOf } from '@sluice/records'
import { authorsOf } from '../authors.ts'
import type { Asked } from '../operation.ts'
import { recordedFields } from '../recorded.ts'
import { runStatusesOf } from '../runs/run-status.ts'
import { scheduleFields } from '../schedules/schedule-columns.ts'
import { triggerExpressionOf, zoneOfClient } from '../schedules/trigger-expression.ts'
import { jobTypeOf } from './job-kinds.ts'
import type { WorkflowRow } from './row.ts'
import { seenObjects, type SeenObject } from './seen-objects.ts'
import { storedSteps, type StoredJob } from './stored-steps.ts'

type Step = Workflow['steps']['steps'][number]
type Job = Step['jobs'][number]

export async function presentWorkflows(rows: WorkflowRow[], context: Asked): Promise<Workflow[]> {
  const { db, caller, identity, request } = context
  const ids = rows.map(({ id }) => id)
  const [authors, statusOf, zone, { steps, jobs }] = await Promise.all([
    authorsOf(rows, identity),
    runStatusesOf(db, rows),
    zoneOfClient(context),
    storedSteps(db, ids),
  ])
  const seen = await seenObjects(
    db,
    caller,
    jobs.map(({ object }) => object),
  )
  const stepsOf = Map.groupBy(steps, ({ workflow_id }) => workflow_id)
  const jobsOf = Map.groupBy(jobs, ({ workflow_id, step }) => `${workflow_id} ${step}`)

  return rows.map((row) => {
    const { tags: _tags, tagString: _tagString, ...fields } = recordedFields({ ...row, tags: [] }, request.locales)
    return {
      ...fields,
      ...authors(row),
      ...scheduleFields(row),
      triggerExpression: triggerExpressionOf(row, zone),
      scheduleable: true,
      steps: {
        errorStrategy: row.error_strategy as Workflow['steps']['errorStrategy'],
        steps: (stepsOf.get(row.id) ?? []).map(
          (step): Step => ({
            executionMode: step.execution_mode as Step['executionMode'],
            delayAfter: step.delay_after,
            disabled: step.disabled,
            jobs: (jobsOf.get(`${row.id} ${step.step}`) ?? []).map((job) => presentJob(job, seen.get(job.object.id))),
          }),
        ),
      },
      status: statusOf(row.id).status,
      access: accessOf(row),
    }
  })
}

/** To see a workflow is not to see all of what it runs. */
function presentJob({ uid, object }: StoredJob, seen: SeenObject | undefined): Job {
  return {
    jobType: jobTypeOf(object.kind),
    object: {
      uid: object.uid,
      name: object.name,
      ...(seen && { id: object.id, translations: seen.translations, created: seen.created_at.toISOString() }),
    },
    id: uid,
    ...(seen?.type && { dataPipelineType: seen.type as PipelineType }),
  }
}
