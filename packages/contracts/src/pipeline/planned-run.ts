import { Type } from 'typebox'
import { noUnknownFields, defineContract, type TypeOf } from '../contract.ts'
import { ComparedTime, SingleLineText, Timestamp, Uid } from '../field-types.ts'
import { scheduleRuleFields } from '../schedule.ts'
import { cursorPageFields, RunnableObject, runnableKinds } from './run.ts'

const plannedTimeFields = {
  at: {
    ...Timestamp,
    description: 'The planned time, with the offset of the time zone at that time.',
    examples: ['2026-03-29T03:30:00.000+02:00'],
  },
  mode: Type.Enum(['FULL', 'INCREMENTAL']),
}

export const PlannedRun = defineContract(
  'PlannedRun',
  Type.Object(
    {
      ...plannedTimeFields,
      timeZone: SingleLineText,
      late: Type.Boolean({ description: 'Whether the planned time has passed and the run has not started yet.' }),
      object: RunnableObject,
    },
    noUnknownFields,
  ),
)

export type PlannedRun = TypeOf<typeof PlannedRun>

export const PlannedRunQuery = defineContract(
  'PlannedRunQuery',
  Type.Object(
    {
      from: Type.Optional({
        ...ComparedTime,
        description: 'The earliest planned time. Default: now; then late runs come first.',
      }),
      to: Type.Optional({
        ...ComparedTime,
        description: 'Planned times before this time. Default: 7 days after `from`; at most 366 days after it.',
      }),
      kind: Type.Optional(
        Type.Array(Type.Enum([...runnableKinds]), {
          maxItems: 10,
          description: 'Kinds of objects. Repeat the parameter for several kinds.',
        }),
      ),
      schema: Type.Optional({ ...Uid, description: 'Only the data pipelines and views of this schema.' }),
      ...cursorPageFields,
    },
    noUnknownFields,
  ),
)

export type PlannedRunQuery = TypeOf<typeof PlannedRunQuery>

export const SchedulePreviewBody = defineContract(
  'SchedulePreviewBody',
  Type.Object(
    {
      ...scheduleRuleFields,
      runTrigger: Type.Optional({
        ...scheduleRuleFields.runTrigger,
        description: 'Default: CUSTOM with a cron expression, otherwise NEVER.',
      }),
      continuouslyUpdated: Type.Optional(Type.Boolean()),
      id: Type.Optional({
        ...Uid,
        description:
          'The object of the schedule. Random triggers and continuous updates derive their minute from its id.',
      }),
      after: Type.Optional({ ...ComparedTime, description: 'Return the runs after this time. Default: now.' }),
    },
    noUnknownFields,
  ),
)

export type SchedulePreviewBody = TypeOf<typeof SchedulePreviewBody>

export const SchedulePreview = defineContract(
  'SchedulePreview',
  Type.Object(
    {
      description: Type.String({ maxLength: 2000, examples: ['At 6:00 from Monday to Friday.'] }),
      triggerExpression: Type.Optional(Type.String({ maxLength: 200 })),
      timeZone: SingleLineText,
      next: Type.Array(Type.Object(plannedTimeFields, { ...noUnknownFields, title: 'PlannedTime' }), {
        maxItems: 5,
        description: 'The next five runs. Empty if the times depend on the id of the object and the request has no id.',
      }),
    },
    noUnknownFields,
  ),
)

export type SchedulePreview = TypeOf<typeof SchedulePreview>
