import type { Transaction } from 'kysely'
import { maxJobs, type WorkflowBody } from '@sluice/contracts'
import { problems } from '@sluice/http-server'
import type { RecordWriter } from '@sluice/records'
import type { DB } from '../../database.ts'
import { prepareDeletion } from '../assert-not-in-use.ts'
import type { PipelineContext } from '../operation-context.ts'
import { assertSchedule, toScheduleColumns } from '../schedule-fields.ts'
import { toAccessColumnsWithDefault, assertSharingTargets } from '../object-access.ts'
import { type ResolvedJob, resolveJobs } from './resolve-jobs.ts'
import { type WorkflowRow, workflowRecords } from './records.ts'
import { readStoredSteps } from './read-workflow-steps.ts'
import type { BulkSaveDefinition } from '../bulk-saves/save-by-name.ts'

export const workflowWriting: RecordWriter<PipelineContext, WorkflowRow, WorkflowBody> = {
  async check(body, input) {
    const jobs = (body.steps.steps ?? []).reduce((sum, step) => sum + (step.jobs ?? []).length, 0)
    if (jobs > maxJobs)
      throw problems.refused(
        '/steps/steps',
        `A workflow can have at most ${maxJobs} jobs, and this one has ${jobs}. Split it into several workflows.`,
      )
    assertSchedule(body)
    await assertSharingTargets(body.access, input)
  },

  async columns(trx, body, current, { caller }) {
    return {
      ...(current ? {} : { client: caller.client }),
      name: body.name,
      translations: JSON.stringify(body.translations ?? []),
      description: body.description ?? null,
      ...toScheduleColumns(body),
      error_strategy: body.steps.errorStrategy ?? 'STOP',
      ...(await toAccessColumnsWithDefault(trx, body.access, current, caller.client)),
    }
  },

  async writeRelatedRows(trx: Transaction<DB>, row, body, current, { caller }) {
    const { jobs } = current ? await readStoredSteps(trx, [current.id]) : { jobs: [] }
    await writeSteps(trx, row, body, await resolveJobs(trx, body, jobs, caller))
    return { steps: body.steps }
  },

  beforeDelete: (trx, { id, client }, { caller }) => prepareDeletion(trx, caller, { kind: 'WORKFLOW', id, client }),

  async afterDelete() {},
}

export const workflowBulkSave: BulkSaveDefinition<WorkflowRow, WorkflowBody> = {
  records: workflowRecords,
  writing: workflowWriting,
}

/** Replaces the steps of a workflow. A run that is running keeps the previous steps. */
async function writeSteps(
  trx: Transaction<DB>,
  { id }: { id: number },
  { steps: { steps = [] } }: WorkflowBody,
  jobsByStep: readonly ResolvedJob[][],
): Promise<void> {
  await trx.deleteFrom('workflow_steps').where('workflow_id', '=', id).execute()
  if (steps.length === 0) return
  const rows = steps.map(({ executionMode = 'SERIAL', delayAfter = 0, disabled = false }, index) => ({
    workflow_id: id,
    step: index + 1,
    execution_mode: executionMode,
    delay_after: delayAfter,
    disabled,
  }))
  await trx.insertInto('workflow_steps').values(rows).execute()
  const jobs = jobsByStep.flatMap((jobsOfStep, index) =>
    jobsOfStep.map(({ uid, runnableId }, position) => ({
      workflow_id: id,
      step: index + 1,
      job: position + 1,
      runnable_id: runnableId,
      ...(uid && { uid }),
    })),
  )
  if (jobs.length > 0) await trx.insertInto('workflow_jobs').values(jobs).execute()
}

/** Throws 422 if the enabled steps of a workflow have no jobs. */
export async function assertHasJobs(trx: Transaction<DB>, { id }: WorkflowRow): Promise<void> {
  const { steps, jobs } = await readStoredSteps(trx, [id])
  const enabled = new Set(steps.filter(({ disabled }) => !disabled).map(({ step }) => step))
  if (!jobs.some(({ step }) => enabled.has(step)))
    throw problems.refused('/steps/steps', 'The workflow has no jobs to run. Add a job, or enable a step.')
}
