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
import { lookUpAuthors, lastRunProperties, presentUntaggedFields, recordedProperties } from '../record-fields.ts'
import type { Workflows } from '../../database.ts'
import { readRunStatuses } from '../runs/run-responses.ts'
import { presentScheduleFields, formatTrigger, readClientTimeZone } from '../schedule-fields.ts'
import { type VisibleObject, findVisibleObjects, getJobType } from './job-types.ts'
import { type StoredJob, type StoredStep, readStoredSteps } from './read-workflow-steps.ts'

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
  const objects = jobs.map(({ object }) => object)
  const visibleObjects = await findVisibleObjects(db, caller, objects)
  const stepsByWorkflow = Map.groupBy(steps, ({ workflow_id }) => workflow_id)
  const jobsByWorkflow = Map.groupBy(jobs, ({ workflow_id }) => workflow_id)

  return rows.map((row) => {
    const jobsOfWorkflow = jobsByWorkflow.get(row.id) ?? []
    const presentedSteps = (stepsByWorkflow.get(row.id) ?? []).map((step) => {
      const jobsOfStep = jobsOfWorkflow.filter((job) => job.step === step.step)
      return presentStep(step, jobsOfStep, visibleObjects)
    })
    return {
      ...presentUntaggedFields(row, request.locales),
      ...findAuthors(row),
      ...presentScheduleFields(row),
      triggerExpression: formatTrigger(row, zone),
      scheduleable: true,
      steps: { errorStrategy: row.error_strategy as Workflow['steps']['errorStrategy'], steps: presentedSteps },
      status: findStatus(row.id).status,
      access: presentAccess(row),
    }
  })
}

const presentStep = (
  { execution_mode, delay_after, disabled }: StoredStep,
  jobs: readonly StoredJob[],
  visibleObjects: ReadonlyMap<number, VisibleObject>,
): WorkflowStep => ({
  executionMode: execution_mode as WorkflowStep['executionMode'],
  delayAfter: delay_after,
  disabled,
  jobs: jobs.map((job) => presentJob(job, visibleObjects.get(job.object.id))),
})

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
