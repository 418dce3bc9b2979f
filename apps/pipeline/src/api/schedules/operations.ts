import {
  type PlannedRun,
  type PlannedRunQuery,
  type SchedulePreview,
  type SchedulePreviewBody,
  pipelineOperations,
} from '@sluice/contracts'
import { JsonResponse, type OperationInput, problems } from '@sluice/http-server'
import { buildPageHeaders, readCursor, serializeCursor } from '@sluice/records'
import type { RunnableKind } from '../../runs/runnable-kinds.ts'
import { describeSchedule, needsId } from '../../schedules/describe-schedule.ts'
import { type ObjectPlan, type PlannedTime, listNextTimes, listPlannedRuns } from '../../schedules/planned-runs.ts'
import { formatInZone, isKnownZone } from '../../schedules/wall-clock.ts'
import { selectVisibleRunnables } from '../objects/shareable-object-kinds.ts'
import { type PipelineContext, definePipelineOperation } from '../operation-context.ts'
import { assertSchedule, formatTrigger, readClientTimeZone, toScheduleColumns } from '../schedule-fields.ts'

type ListPlansRequest = OperationInput<PipelineContext, '/schedules', PlannedRunQuery, undefined>
type PreviewRequest = OperationInput<PipelineContext, '/schedules/preview', undefined, SchedulePreviewBody>

const dayMs = 86_400_000
const defaultWindowDays = 7
const maxWindowDays = 366
const defaultPageSize = 50

/** Lists the planned runs of all schedules that the caller may see, earliest first. */
async function listPlans(input: ListPlansRequest): Promise<JsonResponse<PlannedRun[]>> {
  const { db, caller, query, request } = input
  const { pageSize = defaultPageSize, after, from, to, ...filter } = query
  const listId = JSON.stringify(['/schedules', from, to, filter])
  const cursor = readPlanCursor(listId, after)
  // The first page sets the end of the time window, and the cursor carries it, so that all pages have the same end.
  const end = cursor?.windowEnd ?? readWindowEnd(query)
  const objectPlans = await listPlannedRuns(db, {
    client: caller.client,
    objects: selectVisibleRunnables(caller, filter),
    from: from === undefined ? undefined : Date.parse(from),
    to: end,
    after: cursor?.lastRun,
    limit: pageSize + 1,
    zone: (await readClientTimeZone(input)) ?? 'UTC',
  })
  const plans = objectPlans.slice(0, pageSize)
  const lastPlan = plans.at(-1)
  const page = cursor?.page ?? 1
  const nextCursor =
    lastPlan &&
    serializeCursor(listId, { page: page + 1, keys: [String(end), String(lastPlan.at), lastPlan.object.uid] })
  const headers = buildPageHeaders(
    { page, pageSize, more: objectPlans.length > pageSize, cursor: nextCursor, onlyCursors: true },
    request.url,
  )
  return new JsonResponse(plans.map(presentPlan), headers)
}

/**
 * Parses the cursor of a page. It has the end of the time window, and the time and the object of the last run of the
 * previous page. Returns undefined for the first page, which has no cursor.
 */
function readPlanCursor(listId: string, text: string | undefined) {
  const cursor = readCursor(listId, text, [/^\d{1,13}$/, /^\d{1,13}$/, /^[0-9a-f-]{36}$/])
  if (!cursor) return undefined
  const [windowEnd, at, uid] = cursor.keys
  return { page: cursor.page, windowEnd: Number(windowEnd), lastRun: { at: Number(at), uid: uid! } }
}

/** Returns the end of the time window in milliseconds. Throws 422 if it ends before it starts or is too long. */
function readWindowEnd({ from, to }: PlannedRunQuery): number {
  const start = from === undefined ? Date.now() : Date.parse(from)
  const end = to === undefined ? start + defaultWindowDays * dayMs : Date.parse(to)
  if (end <= start)
    throw problems.refused('/to', 'The end of the window must be after its start, which is now without `from`.')
  if (end - start > maxWindowDays * dayMs)
    throw problems.refused('/to', `The window can have at most ${maxWindowDays} days. Choose an earlier end.`)
  return end
}

const presentTime = ({ at, isFull }: PlannedTime, zone: string) => ({
  at: formatInZone(zone, at),
  mode: isFull ? ('FULL' as const) : ('INCREMENTAL' as const),
})

const presentPlan = ({ object, zone, isLate, ...time }: ObjectPlan): PlannedRun => ({
  ...presentTime(time, zone),
  timeZone: zone,
  late: isLate,
  object: { kind: object.kind as RunnableKind, id: object.uid, name: object.name },
})

/** The number of runs in the preview of a schedule. */
const previewedRuns = 5

/** Describes a schedule, even if it is not saved yet. */
async function previewSchedule({ body, caller, identity }: PreviewRequest): Promise<SchedulePreview> {
  const { id, after, ...rule } = body
  const hasSchedule = rule.runTrigger !== undefined || rule.cronExpression !== undefined || rule.continuouslyUpdated
  if (!hasSchedule)
    throw problems.refused(
      '/runTrigger',
      'The body has no schedule. Send runTrigger, cronExpression or continuouslyUpdated.',
    )
  const runTrigger = rule.runTrigger ?? (rule.cronExpression === undefined ? 'NEVER' : 'CUSTOM')
  const schedule = { ...rule, runTrigger, disabled: false }
  assertSchedule(schedule)
  const client = await identity.client(caller.client)
  const zone = client?.timeZone !== undefined && isKnownZone(client.timeZone) ? client.timeZone : 'UTC'
  const scheduleFields = {
    runTrigger,
    cronExpression: rule.cronExpression ?? null,
    continuouslyUpdated: rule.continuouslyUpdated ?? false,
    continuousUpdateInterval: rule.continuousUpdateInterval ?? null,
    fullRefreshInterval: rule.fullRefreshInterval ?? null,
  }
  const uid = id?.toLowerCase()
  const description = describeSchedule({ ...scheduleFields, uid })
  // The times of some schedules depend on the id of their object. Without it, they are unknown.
  if (needsId({ ...scheduleFields, uid })) return { description, timeZone: zone, next: [] }
  const uidIfNeeded = uid ?? ''
  const start = after === undefined ? Date.now() : Date.parse(after)
  const times = listNextTimes({ ...scheduleFields, uid: uidIfNeeded, disabled: false }, zone, start, previewedRuns)
  return {
    description,
    triggerExpression: formatTrigger({ ...toScheduleColumns(schedule), uid: uidIfNeeded }, zone),
    timeZone: zone,
    next: times.map((time) => presentTime(time, zone)),
  }
}

const { schedules: signatures } = pipelineOperations

export const scheduleOperations = {
  list: definePipelineOperation(signatures.list, listPlans),
  preview: definePipelineOperation(signatures.preview, previewSchedule),
}
