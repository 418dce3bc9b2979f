import type { JobType, Role } from '@sluice/contracts'
import type { RunnableKind } from '../../engine/runs/runnable.ts'

interface JobKind {
  jobType?: JobType
  /** Where its objects are, all of which are shared in the same way. */
  table: string
  noun: string
  see: Role
  manage: Role
}

/** What can be named in a workflow, and what a job does with it. Workflows are known, and refused. */
export const jobKinds: Readonly<Record<RunnableKind, JobKind>> = {
  DATA_PIPELINE: {
    jobType: 'DATA_PIPELINE_LOAD',
    table: 'data_pipelines',
    noun: 'data pipeline',
    see: 'ROLE_SEE_DATA_PIPELINE',
    manage: 'ROLE_MANAGE_DATA_PIPELINE',
  },
  VIEW: {
    jobType: 'VIEW_REFRESH',
    table: 'views',
    noun: 'view',
    see: 'ROLE_SEE_VIEW',
    manage: 'ROLE_MANAGE_VIEW',
  },
  DATA_QUALITY_CHECK_GROUP: {
    jobType: 'DATA_QUALITY_CHECK_GROUP_RUN',
    table: 'data_quality_check_groups',
    noun: 'data quality check group',
    see: 'ROLE_SEE_DATA_QUALITY_CHECK_GROUP',
    manage: 'ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP',
  },
  DESTINATION: {
    jobType: 'DESTINATION_PUSH',
    table: 'destinations',
    noun: 'destination',
    see: 'ROLE_SEE_DESTINATION',
    manage: 'ROLE_MANAGE_DESTINATION',
  },
  WORKFLOW: {
    table: 'workflows',
    noun: 'workflow',
    see: 'ROLE_SEE_WORKFLOW',
    manage: 'ROLE_MANAGE_WORKFLOW',
  },
}

export const kindOfJob = (jobType: JobType): JobKind =>
  Object.values(jobKinds).find((kind) => kind.jobType === jobType)!

export const jobTypeOf = (kind: string): JobType => jobKinds[kind as RunnableKind].jobType!
