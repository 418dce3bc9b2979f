import { setTimeout as sleep } from 'node:timers/promises'
import type { LogStreamQuery } from '@sluice/contracts'
import { EventStream, type OperationInput, Problem, type ServerSentEvent, problems } from '@sluice/http-server'
import { type LogFilter, findStartKey, findRun, listLines, maxLines } from '../../runs/follow-run-logs.ts'
import { accessCheckIntervalMs, hasKeptRights, limitStreams, maxStreamMs } from '../runs/event-stream-limits.ts'
import type { PipelineContext } from '../operation-context.ts'
import { presentLogEntry, presentRun } from '../runs/run-responses.ts'
import { type DataPipelineRow, dataPipelines } from './records.ts'

type FollowLogsRequest = OperationInput<PipelineContext, '/data-pipelines/:uid/logs/stream', LogStreamQuery, undefined>

/** Milliseconds between two queries for new log lines. */
const pollIntervalMs = 1_000

const logStreamLimit = limitStreams({ total: 500, perClient: 50 })

/**
 * Streams the log and the progress of a run as server-sent events. After a reconnect, starts with the lines that the
 * caller missed.
 */
export async function followLogs(input: FollowLogsRequest): Promise<EventStream> {
  const { db, caller, params, query, request } = input
  const pipeline = await dataPipelines.read(db, caller, params.uid)
  const { taskId: run, ...filter } = query
  const logFilter: LogFilter = { runnableId: pipeline.id, run, ...filter }
  const followedRun = await findRun(db, logFilter)
  if (run && !followedRun) throw problems.notFound('run')

  const findStart = async () => (run ? beforeFirstLine : findStartKey(db, logFilter, followedRun?.id))
  const startAfter = parseLastEventId(request.stream.headers['last-event-id']) ?? (await findStart())
  const slot = logStreamLimit.acquire(caller.client)
  return new EventStream((signal) => slot.releaseAfter(streamEvents(input, pipeline, logFilter, startAfter, signal)))
}

/** A key lower than that of any log line. */
const beforeFirstLine = 0

/**
 * Yields new log lines and changes of the run. Ends when the requested run has ended, after `maxStreamMs`, or when the
 * caller may no longer see the pipeline.
 */
async function* streamEvents(
  input: FollowLogsRequest,
  pipeline: DataPipelineRow,
  logFilter: LogFilter,
  startAfter: number,
  signal: AbortSignal,
): AsyncGenerator<ServerSentEvent, void, void> {
  const { db } = input
  const deadline = Date.now() + maxStreamMs
  let lastLineKey = startAfter
  let accessCheckedAt = Date.now()
  let lastSentRunJson = ''
  while (!signal.aborted && Date.now() < deadline) {
    // Read the run before its log lines: if it has ended, these are then all its lines.
    const run = await findRun(db, logFilter)
    lastLineKey = yield* streamNewLines(db, pipeline, logFilter, lastLineKey)

    const data = run && presentRun(run)
    const runJson = JSON.stringify(data)
    if (data && runJson !== lastSentRunJson) {
      lastSentRunJson = runJson
      yield { event: 'run', data }
    }
    const followsOneRun = logFilter.run !== undefined
    const hasRunEnded = !run || run.finished_at !== null
    if (followsOneRun && hasRunEnded) return
    if (Date.now() - accessCheckedAt >= accessCheckIntervalMs) {
      if (!(await mayStillRead(input))) return
      accessCheckedAt = Date.now()
    }
    await sleep(pollIntervalMs, undefined, { signal }).catch(() => {})
  }
}

/** Yields the log lines after the line with the key `after`. Returns the key of the last line. */
async function* streamNewLines(
  db: PipelineContext['db'],
  pipeline: DataPipelineRow,
  logFilter: LogFilter,
  after: number,
): AsyncGenerator<ServerSentEvent, number, void> {
  let lastLineKey = after
  for (;;) {
    const lines = await listLines(db, logFilter, lastLineKey)
    for (const line of lines) {
      yield { id: String(line.id), event: 'log', data: presentLogEntry(line, pipeline) }
      lastLineKey = line.id
    }
    const hasMoreLines = lines.length === maxLines
    if (!hasMoreLines) return lastLineKey
  }
}

/** Returns whether the caller may still see the pipeline. Access rights can change while the stream is open. */
async function mayStillRead(input: FollowLogsRequest): Promise<boolean> {
  if (!(await hasKeptRights(input))) return false
  try {
    await dataPipelines.read(input.db, input.caller, input.params.uid)
    return true
  } catch (error) {
    if (error instanceof Problem) return false
    throw error
  }
}

/** Parses the header Last-Event-ID, the id of the last line that the caller received; undefined if it is invalid. */
function parseLastEventId(header: string | string[] | undefined): number | undefined {
  return typeof header === 'string' && /^\d{1,15}$/.test(header) ? Number(header) : undefined
}
