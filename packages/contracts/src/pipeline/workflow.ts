import { Type } from 'typebox'
import { Access, AccessPart } from '../object-access.ts'
import { closed, contract, type TypeOf } from '../contract.ts'
import {
  authored,
  body,
  bodyOf,
  Line,
  namedAndDescribed,
  recorded,
  Text,
  Timestamp,
  Uid,
  AnyNumber,
  Count,
} from '../field-types.ts'
import { scheduled, scheduledIgnored, scheduledResponse } from '../schedule.ts'
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
  description: 'Seconds between the end of the step and the start of the next one; 0 when absent.',
})
const PipelineType = Type.Enum([...pipelineTypes])

const few = { maxItems: 50 }

/** The object that a job runs: identified by `uid`, or by `id` if `uid` is absent. Other fields are accepted and ignored. */
const JobObjectBody = Object.assign(
  bodyOf(
    { uid: Type.Optional(Uid), id: Type.Optional(AnyNumber) },
    { name: Line, translations: Type.Array(Type.Unknown()), created: Timestamp },
  ),
  { title: 'JobObjectBody' },
)

const JobBody = Object.assign(
  bodyOf(
    {
      jobType: Type.Optional(
        Type.Enum([...jobTypes], { description: 'The type of job; when absent, the type of the object.' }),
      ),
      object: Type.Optional(JobObjectBody),
      id: Type.Optional({
        ...Line,
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
    disabled: Type.Optional(Type.Boolean({ description: 'Whether its jobs are skipped; false when absent.' })),
    jobs: Type.Optional(Type.Array(JobBody, few)),
  },
  { ...closed, title: 'StepBody' },
)

const WorkflowStepsBody = Type.Object(
  { errorStrategy: Type.Optional(ErrorStrategy), steps: Type.Optional(Type.Array(StepBody, few)) },
  { ...closed, title: 'WorkflowStepsBody' },
)

const workflowFields = {
  ...namedAndDescribed,
  description: Type.Optional(Text),
}

export const WorkflowBody = contract(
  'WorkflowBody',
  body(
    {
      ...workflowFields,
      ...scheduled,
      continuouslyUpdated: Type.Boolean({
        description: 'Whether runs in between are incremental for jobs that support it.',
      }),
      steps: WorkflowStepsBody,
      access: Type.Optional(AccessPart),
    },
    ['client', ...scheduledIgnored, 'displayDescription'],
  ),
)
export type WorkflowBody = TypeOf<typeof WorkflowBody>

const Translations = Type.Array(
  Type.Object({ locale: Line, property: Line, value: Text }, { ...closed, title: 'TranslationOfObject' }),
  { maxItems: 500 },
)

const Job = Type.Object(
  {
    jobType: Type.Enum([...jobTypes]),
    /** The object that a job runs. Callers who may not read the object only see its uid and name. */
    object: Type.Object(
      {
        id: Type.Optional({
          ...AnyNumber,
          description: 'The internal number of the object. Use the uid instead.',
        }),
        uid: Uid,
        name: Line,
        translations: Type.Optional(Translations),
        created: Type.Optional(Timestamp),
      },
      { ...closed, title: 'JobObject' },
    ),
    id: Line,
    dataPipelineType: Type.Optional(PipelineType),
  },
  { ...closed, title: 'Job' },
)

const Step = Type.Object(
  { executionMode: ExecutionMode, delayAfter: DelayAfter, disabled: Type.Boolean(), jobs: Type.Array(Job, few) },
  { ...closed, title: 'Step' },
)

export const Workflow = contract(
  'Workflow',
  Type.Object(
    {
      ...recorded,
      ...authored,
      client: Line,
      ...workflowFields,
      ...scheduledResponse,
      displayDescription: Type.Optional(Text),
      steps: Type.Object(
        { errorStrategy: ErrorStrategy, steps: Type.Array(Step, few) },
        { ...closed, title: 'WorkflowSteps' },
      ),
      status: RunStatus,
      access: Access,
    },
    closed,
  ),
)
export type Workflow = TypeOf<typeof Workflow>

export const WorkflowSearchResult = contract(
  'WorkflowSearchResult',
  Type.Object(
    {
      results: Type.Array(Workflow, { maxItems: 1000 }),
      pager: Type.Object(
        {
          page: Count,
          pageSize: Count,
          /** The total number of workflows. Absent if the request has disabled counting. */
          totalCount: Type.Optional(Count),
          /** Number of items before this page. */
          offset: Count,
          pageCount: Type.Optional(Count),
        },
        { ...closed, title: 'Pager' },
      ),
    },
    closed,
  ),
)
export type WorkflowSearchResult = TypeOf<typeof WorkflowSearchResult>
