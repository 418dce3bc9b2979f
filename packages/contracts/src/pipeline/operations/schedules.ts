import { listOf } from '../../contract.ts'
import { defineSignature } from '../../operation-signature.ts'
import { PlannedRun, PlannedRunQuery, SchedulePreview, SchedulePreviewBody } from '../planned-run.ts'
import { runReaderRoles } from './runs.ts'

export const scheduleSignatures = {
  list: defineSignature({
    id: 'schedules.list',
    summary: 'List planned runs by time',
    description:
      'Returns each planned run of the enabled schedules that the caller may see, in the time zone of the organisation. Runs that have started are in `GET /runs`. The pages are not counted; follow the cursor or the `next` link.',
    method: 'get',
    path: '/schedules',
    guard: runReaderRoles,
    query: PlannedRunQuery,
    response: listOf(PlannedRun),
    paged: true,
  }),
  preview: defineSignature({
    id: 'schedules.preview',
    summary: 'Describe a schedule in words, with its next five runs',
    description: 'Takes the fields of a schedule, or only a cron expression.',
    method: 'post',
    path: '/schedules/preview',
    guard: runReaderRoles,
    effect: 'read',
    body: SchedulePreviewBody,
    response: SchedulePreview,
  }),
}
