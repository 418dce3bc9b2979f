import { setTimeout as sleep } from 'node:timers/promises'
import type { RunStreamQuery } from '@sluice/contracts'
import { EventStream, type OperationInput, type ServerSentEvent } from '@sluice/http-server'
import { listRecentRuns } from './watch-run-changes.ts'
import { type RunFilter, readRunsOfObjects } from './runs-of-objects.ts'
import { accessCheckIntervalMs, hasKeptRights, limitStreams, maxStreamMs } from './event-stream-limits.ts'
import { selectVisibleRunnables } from '../objects/shareable-object-kinds.ts'
import type { PipelineContext } from '../operation-context.ts'
import { lookUpUsernames } from '../record-fields.ts'
import { presentObjectRun } from './run-responses.ts'

type FollowRunsRequest = OperationInput<PipelineContext, '/runs/stream', RunStreamQuery, undefined>

/** Milliseconds between two checks whether the watcher has found changed runs. */
const changeCheckIntervalMs = 250
/**
 * Milliseconds after which a stream without changes sends a position, so that callers that reconnect always have a
 * recent one.
 */
const positionIntervalMs = 60_000
/** The maximum age in milliseconds of a position from which a stream can resume. */
const maxPositionAgeMs = 24 * 60 * 60_000
const runsPerQuery = 500

const runStreamLimit = limitStreams({ total: 500, perClient: 50 })

/**
 * Streams the queued and running runs, then each new and changed run. After a reconnect, starts with the runs that
 * ended during the interruption.
 */
export async function followRuns(input: FollowRunsRequest): Promise<EventStream> {
  const slot = runStreamLimit.acquire(input.caller.client)
  return new EventStream((signal) => slot.releaseAfter(streamRuns(input, signal)))
}

/**
 * Yields an event for each new or changed run, and from time to time the position from which the caller can resume.
 * Starts with the queued and running runs, and after a reconnect also with the runs that ended since the caller's
 * position. Ends after `maxStreamMs`, or when the caller has lost their rights.
 */
async function* streamRuns(input: FollowRunsRequest, signal: AbortSignal): AsyncGenerator<ServerSentEvent, void, void> {
  const { db, caller, query, runWatcher, request } = input
  const filter: RunFilter = {
    client: caller.client,
    objects: selectVisibleRunnables(caller, query),
    status: query.status,
    trigger: query.trigger,
  }
  const deadline = Date.now() + maxStreamMs
  using changes = await runWatcher.subscribe(caller.client)
  const lastReceived = parsePosition(request.stream.headers['last-event-id'])
  const isTooOld = lastReceived !== undefined && millisecondsBetween(lastReceived, changes.asOf) > maxPositionAgeMs
  if (isTooOld) yield { event: 'reset', data: {} }
  let lastSent = changes.asOf
  yield* readEvents(input, filter, await listRecentRuns(db, caller.client, isTooOld ? undefined : lastReceived))
  yield positionEvent(lastSent)

  let accessCheckedAt = Date.now()
  while (!signal.aborted && Date.now() < deadline) {
    // Read the position before the changes, so that the changes include everything up to it.
    const position = changes.asOf
    const changedRuns = changes.take()
    yield* readEvents(input, filter, changedRuns)
    if (changedRuns.length > 0 || millisecondsBetween(lastSent, position) >= positionIntervalMs) {
      lastSent = position
      yield positionEvent(position)
    }
    if (Date.now() - accessCheckedAt >= accessCheckIntervalMs) {
      if (!(await hasKeptRights(input))) return
      accessCheckedAt = Date.now()
    }
    await sleep(changeCheckIntervalMs, undefined, { signal }).catch(() => {})
  }
}

/**
 * Returns the event with a position. Send it after the runs that it covers: if the connection breaks in between, the
 * caller gets some runs twice instead of missing them.
 */
const positionEvent = (position: Date): ServerSentEvent => ({
  id: String(position.getTime()),
  event: 'position',
  data: {},
})

/** Yields an event for each of the runs with these primary keys that matches the filter. */
async function* readEvents(
  { db, identity }: FollowRunsRequest,
  filter: RunFilter,
  ids: readonly number[],
): AsyncGenerator<ServerSentEvent, void, void> {
  for (let start = 0; start < ids.length; start += runsPerQuery) {
    const runs = await readRunsOfObjects(db, filter, ids.slice(start, start + runsPerQuery))
    const findUsername = await lookUpUsernames(
      runs.map((run) => run.created_by),
      identity,
    )
    for (const run of runs) yield { event: 'run', data: presentObjectRun(run, findUsername(run.created_by)) }
  }
}

/**
 * Parses the last position that the caller received. Returns undefined if the header is missing or not a position of
 * this stream.
 */
function parsePosition(header: string | string[] | undefined): Date | undefined {
  return typeof header === 'string' && /^\d{13}$/.test(header) ? new Date(Number(header)) : undefined
}

const millisecondsBetween = (start: Date, end: Date): number => end.getTime() - start.getTime()
