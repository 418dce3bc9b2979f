import { setTimeout as sleep } from 'node:timers/promises'
import type { LogStreamQuery } from '@sluice/contracts'
import {
  EventStream,
  type OperationInput,
  Problem,
  type ServerSentEvent,
  isCallerUnchanged,
  problems,
} from '@sluice/http-server'
import { type LogFilter, type LogLine, findStartKey, findRun, listLines, maxLines } from '../../runs/follow-run-logs.ts'
import type { PipelineContext } from '../operation-context.ts'
import { presentLogEntry, presentRun } from '../runs/run-responses.ts'
import { type DataPipelineRow, dataPipelines } from './records.ts'

/** Limits the open streams in total and of each client. Throws 503 at a limit. */
function limitStreams({ total, perClient }: { total: number; perClient: number }) {
  const open = new Map<string, number>()
  let all = 0

  return {
    acquire(client: string) {
      const theirs = open.get(client) ?? 0
      if (all >= total || theirs >= perClient) throw tooManyStreams()
      all++
      open.set(client, theirs + 1)
      let isReleased = false
      const release = () => {
        if (isReleased) return
        isReleased = true
        all--
        const now = open.get(client)! - 1
        if (now > 0) open.set(client, now)
        else open.delete(client)
      }
      return {
        /** Yields the events of a stream, and releases its slot when it ends. */
        async *releaseAfter<T>(stream: AsyncIterable<T>): AsyncGenerator<T, void, void> {
          try {
            yield* stream
          } finally {
            release()
          }
        },
      }
    },
  }
}

const tooManyStreams = () =>
  new Problem(503, 'busy', 'Too many streams are open.', {
    detail: 'Close unused log streams, or try again in a few seconds.',
    headers: { 'Retry-After': '5' },
  })

type FollowLogsRequest = OperationInput<PipelineContext, '/data-pipelines/:uid/logs/stream', LogStreamQuery, undefined>

/** Intervals of the queries for new lines, and for the caller's rights. */
const pollIntervalMs = 1_000
const accessCheckIntervalMs = 5_000
/** The lifetime of a stream. Its client then reconnects and is authenticated again. */
const maxStreamMs = 60 * 60_000

const logStreamLimit = limitStreams({ total: 500, perClient: 50 })

/** Streams the log and the progress of the run. After a reconnect, missed lines come first. */
export async function followLogs(input: FollowLogsRequest): Promise<EventStream> {
  const { db, caller, params, query, request } = input
  const pipeline = await dataPipelines.read(db, caller, params.uid)
  const { taskId: run, ...filter } = query
  const followed: LogFilter = { runnableId: pipeline.id, run, ...filter }
  const found = await findRun(db, followed)
  if (run && !found) throw problems.notFound('run')

  const seen = parseLastEventId(request.stream.headers['last-event-id'])
  const after = seen ?? (run ? 0 : await findStartKey(db, followed, found?.id))
  const slot = logStreamLimit.acquire(caller.client)
  return new EventStream((signal) => slot.releaseAfter(streamEvents(input, pipeline, followed, after, signal)))
}

async function* streamEvents(
  input: FollowLogsRequest,
  pipeline: DataPipelineRow,
  followed: LogFilter,
  begin: number,
  signal: AbortSignal,
): AsyncGenerator<ServerSentEvent, void, void> {
  const { db } = input
  const until = Date.now() + maxStreamMs
  let after = begin
  let checked = Date.now()
  let lastSent = ''
  while (!signal.aborted && Date.now() < until) {
    // The run is read before its log lines, so that all lines are there if the run has finished.
    const run = await findRun(db, followed)
    let lines: LogLine[]
    do {
      lines = await listLines(db, followed, after)
      for (const line of lines) {
        yield { id: String(line.id), event: 'log', data: presentLogEntry(line, pipeline) }
        after = line.id
      }
    } while (lines.length === maxLines)

    const data = run && presentRun(run)
    if (data && JSON.stringify(data) !== lastSent) {
      lastSent = JSON.stringify(data)
      yield { event: 'run', data }
    }
    if (followed.run && (!run || run.finished_at)) return
    if (Date.now() - checked >= accessCheckIntervalMs) {
      if (!(await mayStillRead(input))) return
      checked = Date.now()
    }
    await sleep(pollIntervalMs, undefined, { signal }).catch(() => {})
  }
}

async function mayStillRead({ db, caller, identity, params }: FollowLogsRequest): Promise<boolean> {
  const principal = caller.given && (await identity.findPrincipal(caller.given.credential))
  if (!principal?.client.pipelinesEnabled || !isCallerUnchanged(caller, principal)) return false
  try {
    await dataPipelines.read(db, caller, params.uid)
    return true
  } catch (error) {
    if (error instanceof Problem) return false
    throw error
  }
}

/** Parses the key of the last line that the client received; undefined for an invalid key. */
function parseLastEventId(header: string | string[] | undefined): number | undefined {
  return typeof header === 'string' && /^\d{1,15}$/.test(header) ? Number(header) : undefined
}
