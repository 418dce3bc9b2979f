import { Type } from 'typebox'
import { ObjectAccess, AccessPart } from '../object-access.ts'
import { noUnknownFields, defineContract, type TypeOf } from '../contract.ts'
import {
  authorFields,
  defineRequestBody,
  bodyOf,
  SingleLineText,
  namedAndDescribed,
  permittedFields,
  recordFields,
  LongText,
  Timestamp,
  Uid,
  AnyNumber,
  NonNegativeInteger,
} from '../field-types.ts'
import { scheduledBody, scheduledIgnored, scheduledResponse } from '../schedule.ts'
import { pipelineTypes } from './data-pipeline/connector-types.ts'
import { RunStatus } from './run.ts'
import { jobTypes } from './workflow-run.ts'

export const errorStrategies = ['STOP', 'CONTINUE'] as const
export const executionModes = ['SERIAL', 'PARALLEL'] as const

const ErrorStrategy = Type.Enum([...errorStrategies], {
  description: 'STOP, the default, skips all jobs after a failed one. CONTINUE runs them.',
})
const ExecutionMode = Type.Enum([...executionModes], {
  description:
    'SERIAL, the default: one job after the other. PARALLEL: all jobs of the step, limited by the slots of the organisation; further jobs are QUEUED.',
})
const DelayAfter = Type.Number({
  minimum: 0,
  maximum: 604_800,
  description: 'Seconds between the end of the step and the start of the next one. Default: 0.',
})
const PipelineType = Type.Enum([...pipelineTypes])

const listLimit = { maxItems: 50 }

/**
 * The object that a job runs, identified by `uid`, or by `id` if `uid` is absent. Other fields are accepted and
 * ignored.
 */
const JobObjectBody = Object.assign(
  bodyOf(
    { uid: Type.Optional(Uid), id: Type.Optional(AnyNumber) },
    { name: SingleLineText, translations: Type.Array(Type.Unknown()), created: Timestamp },
  ),
  { title: 'JobObjectBody' },
)

const JobBody = Object.assign(
  bodyOf(
    {
      jobType: Type.Optional(
        Type.Enum([...jobTypes], { description: 'The type of job. Default: the type of the object.' }),
      ),
      object: Type.Optional(JobObjectBody),
      id: Type.Optional({
        ...SingleLineText,
        description: 'The id of the job. Without `object`, it is the id of the object that the job runs.',
      }),
    },
    { dataPipelineType: PipelineType },
  ),
  { title: 'JobBody' },
)

const StepBody = Type.Object(
  {
    executionMode: Type.Optional(ExecutionMode),
    delayAfter: Type.Optional(DelayAfter),
    disabled: Type.Optional(Type.Boolean({ description: 'Whether the jobs of the step are skipped. Default: false.' })),
    jobs: Type.Optional(Type.Array(JobBody, listLimit)),
  },
  { ...noUnknownFields, title: 'StepBody' },
)

const WorkflowStepsBody = Type.Object(
  { errorStrategy: Type.Optional(ErrorStrategy), steps: Type.Optional(Type.Array(StepBody, listLimit)) },
  { ...noUnknownFields, title: 'WorkflowStepsBody' },
)

const workflowFields = {
  ...namedAndDescribed,
  description: Type.Optional(LongText),
}

export const WorkflowBody = defineContract(
  'WorkflowBody',
  defineRequestBody(
    {
      ...workflowFields,
      ...scheduledBody,
      continuouslyUpdated: Type.Boolean({
        description: 'Whether runs between two full loads are incremental, for jobs that support it.',
      }),
      steps: WorkflowStepsBody,
      access: Type.Optional(AccessPart),
    },
    ['client', ...scheduledIgnored, 'displayDescription'],
  ),
)

export type WorkflowBody = TypeOf<typeof WorkflowBody>

const ObjectTranslations = Type.Array(
  Type.Object(
    { locale: SingleLineText, property: SingleLineText, value: LongText },
    { ...noUnknownFields, title: 'TranslationOfObject' },
  ),
  { maxItems: 500 },
)

const WorkflowJob = Type.Object(
  {
    jobType: Type.Enum([...jobTypes]),
    /** The object that a job runs. Callers who may not read the object see only its uid and name. */
    object: Type.Object(
      {
        id: Type.Optional({
          ...AnyNumber,
          description: 'The internal number of the object. Use the uid instead.',
        }),
        uid: Uid,
        name: SingleLineText,
        translations: Type.Optional(ObjectTranslations),
        created: Type.Optional(Timestamp),
      },
      { ...noUnknownFields, title: 'JobObject' },
    ),
    id: SingleLineText,
    dataPipelineType: Type.Optional(PipelineType),
  },
  { ...noUnknownFields, title: 'Job' },
)

const WorkflowStep = Type.Object(
  {
    executionMode: ExecutionMode,
    delayAfter: DelayAfter,
    disabled: Type.Boolean(),
    jobs: Type.Array(WorkflowJob, listLimit),
  },
  { ...noUnknownFields, title: 'Step' },
)

export const Workflow = defineContract(
  'Workflow',
  Type.Object(
    {
      ...recordFields,
      ...authorFields,
      ...permittedFields,
      client: SingleLineText,
      ...workflowFields,
      ...scheduledResponse,
      displayDescription: Type.Optional(LongText),
      steps: Type.Object(
        { errorStrategy: ErrorStrategy, steps: Type.Array(WorkflowStep, listLimit) },
        { ...noUnknownFields, title: 'WorkflowSteps' },
      ),
      status: RunStatus,
      access: ObjectAccess,
    },
    noUnknownFields,
  ),
)

export type Workflow = TypeOf<typeof Workflow>

export const WorkflowSearchResult = defineContract(
  'WorkflowSearchResult',
  Type.Object(
    {
      results: Type.Array(Workflow, { maxItems: 1000 }),
      pager: Type.Object(
        {
          page: NonNegativeInteger,
          pageSize: NonNegativeInteger,
          /** The total number of workflows. Absent if the request has disabled counting. */
          totalCount: Type.Optional(NonNegativeInteger),
          /** The number of items before this page. */
          offset: NonNegativeInteger,
          pageCount: Type.Optional(NonNegativeInteger),
        },
        { ...noUnknownFields, title: 'Pager' },
      ),
    },
    noUnknownFields,
  ),
)

export type WorkflowSearchResult = TypeOf<typeof WorkflowSearchResult>
