import { listOf } from '../../contract.ts'
import { defineSignature } from '../../operation-signature.ts'
import { ObjectRun, RunListQuery, RunStreamQuery } from '../run.ts'

/** The roles that may read runs. Each shows the runs and schedules of one kind of object. */
export const runReaderRoles = [
  'ROLE_SEE_DATA_PIPELINE',
  'ROLE_SEE_VIEW',
  'ROLE_SEE_DESTINATION',
  'ROLE_SEE_DATA_QUALITY_CHECK_GROUP',
  'ROLE_SEE_WORKFLOW',
] as const

export const runListSignatures = {
  list: defineSignature({
    id: 'runs.list',
    summary: 'List the runs of all objects, newest first',
    description:
      'Returns the runs of the data pipelines, views, destinations, check groups and workflows that the caller may see. The pages are not counted; follow the cursor or the `next` link.',
    method: 'get',
    path: '/runs',
    guard: runReaderRoles,
    query: RunListQuery,
    response: listOf(ObjectRun),
    paged: true,
  }),
  stream: defineSignature({
    id: 'runs.stream',
    summary: 'Stream new and changed runs',
    description:
      'Server-sent events. The stream starts with the queued and running runs. Each event `run` has an ObjectRun: a new run, or a run with a new status, message or progress. After Last-Event-ID, the runs that ended since then come first; runs that ended in the minute before it can come twice. The event `reset` means that runs are missing, because Last-Event-ID is older than a day: read the list again.',
    method: 'get',
    path: '/runs/stream',
    guard: runReaderRoles,
    query: RunStreamQuery,
    response: ObjectRun,
    events: true,
  }),
}
