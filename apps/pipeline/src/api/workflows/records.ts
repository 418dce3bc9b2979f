import { type Selectable, sql } from 'kysely'
import { type PipelineType, type Workflow, pipelineOperations, runTriggers } from '@sluice/contracts'
import {
  type RefinedRow,
  type SharedColumns,
  type WithoutMay,
  presentAccess,
  createRecordRepository,
  visibleTo,
} from '@sluice/records'
import type { RequestContext } from '../operation-context.ts'
import { lookUpAuthors, lastRunProperties, presentRecordFields, recordedProperties } from '../record-fields.ts'
import type { Workflows } from '../../database.ts'
import { readRunStatuses } from '../runs/run-responses.ts'
import { presentScheduleFields, formatTrigger, readClientTimeZone } from '../schedule-fields.ts'
import { type VisibleObject, findVisibleObjects, getJobType } from './job-types.ts'
import { type StoredJob, readStoredSteps } from './stored-steps.ts'

export type WorkflowRow = RefinedRow<Selectable<Workflows>, SharedColumns>

type WorkflowStep = Workflow['steps']['steps'][number]
type WorkflowJob = WorkflowStep['jobs'][number]

async function presentWorkflows(rows: WorkflowRow[], context: RequestContext): Promise<WithoutMay<Workflow>[]> {
  const { db, caller, identity, request } = context
  const ids = rows.map(({ id }) => id)
  const [findAuthors, findStatus, zone, { steps, jobs }] = await Promise.all([
    lookUpAuthors(rows, identity),
    readRunStatuses(db, rows),
    readClientTimeZone(context),
    readStoredSteps(db, ids),
  ])
  const visibleById = await findVisibleObjects(
    db,
    caller,
    jobs.map(({ object }) => object),
  )
  const stepsByWorkflow = Map.groupBy(steps, ({ workflow_id }) => workflow_id)
  const jobsByStep = Map.groupBy(jobs, ({ workflow_id, step }) => `${workflow_id} ${step}`)

  return rows.map((row) => {
    const { tags: _tags, tagString: _tagString, ...fields } = presentRecordFields({ ...row, tags: [] }, request.locales)
    return {
      ...fields,
      ...findAuthors(row),
      ...presentScheduleFields(row),
      triggerExpression: formatTrigger(row, zone),
      scheduleable: true,
      steps: {
        errorStrategy: row.error_strategy as Workflow['steps']['errorStrategy'],
        steps: (stepsByWorkflow.get(row.id) ?? []).map(
          (step): WorkflowStep => ({
            executionMode: step.execution_mode as WorkflowStep['executionMode'],
            delayAfter: step.delay_after,
            disabled: step.disabled,
            jobs: (jobsByStep.get(`${row.id} ${step.step}`) ?? []).map((job) =>
              presentJob(job, visibleById.get(job.object.id)),
            ),
          }),
        ),
      },
      status: findStatus(row.id).status,
      access: presentAccess(row),
    }
  })
}

/** Presents a job. Shows only the name of an object that the caller may not see. */
function presentJob({ uid, object }: StoredJob, visibleObject: VisibleObject | undefined): WorkflowJob {
  return {
    jobType: getJobType(object.kind),
    object: {
      uid: object.uid,
      name: object.name,
      ...(visibleObject && {
        id: object.id,
        translations: visibleObject.translations,
        created: visibleObject.created_at.toISOString(),
      }),
    },
    id: uid,
    ...(visibleObject?.type && { dataPipelineType: visibleObject.type as PipelineType }),
  }
}

export const workflowRecords = createRecordRepository<WorkflowRow, Workflow, RequestContext>({
  noun: 'workflow',
  table: 'workflows',
  path: '/workflows',
  properties: {
    ...recordedProperties,
    ...lastRunProperties,
    description: { type: 'string', column: 'r.description' },
    disabled: { type: 'boolean', column: 'r.disabled' },
    runTrigger: { type: 'enum', column: 'r.run_trigger', values: runTriggers },
    continuouslyUpdated: { type: 'boolean', column: 'r.continuously_updated' },
  },
  matches: (like) => sql`(r.name ilike ${like} or r.description ilike ${like})`,
  scope: visibleTo,
  signatures: pipelineOperations.workflows,
  present: presentWorkflows,
})
