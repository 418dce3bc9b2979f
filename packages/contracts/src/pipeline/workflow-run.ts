import { Type } from 'typebox'
import { noUnknownFields, defineContract, type TypeOf } from '../contract.ts'
import { SingleLineText, Timestamp, Uid, NonNegativeInteger } from '../field-types.ts'

export const jobTypes = [
  'DATA_PIPELINE_LOAD',
  'VIEW_REFRESH',
  'DATA_QUALITY_CHECK_GROUP_RUN',
  'DESTINATION_PUSH',
] as const
export type JobType = (typeof jobTypes)[number]

export const maxJobs = 200

export const workflowJobStates = [
  'WAITING',
  'QUEUED',
  'RUNNING',
  'OK',
  'WARNING',
  'FAILED',
  'CANCELLED',
  'SKIPPED',
] as const

/** A job in a workflow's run, as the workflow defined it when the run started. */
export const WorkflowRunJob = defineContract(
  'WorkflowRunJob',
  Type.Object(
    {
      /** The numbers of the step and of the job within it, both from 1. */
      step: NonNegativeInteger,
      job: NonNegativeInteger,
      jobType: Type.Enum([...jobTypes]),
      name: SingleLineText,
      uid: Type.Optional({ ...Uid, description: 'The object that the job runs; absent after its deletion.' }),
      status: Type.Enum([...workflowJobStates], {
        description: 'SKIPPED: the job is disabled, or an earlier job failed.',
      }),
      taskId: Type.Optional({ ...Uid, description: 'The run that the job started or waits for.' }),
      started: Type.Optional(Timestamp),
      finished: Type.Optional(Timestamp),
    },
    noUnknownFields,
  ),
)

export type WorkflowRunJob = TypeOf<typeof WorkflowRunJob>
