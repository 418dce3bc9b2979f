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
import { type Followed, type LogLine, beforeRun, followedRun, linesAfter, mostLines } from '../../runs/follow-run.ts'
import type { PipelineContext } from '../operation.ts'
import { presentLogEntry, presentRun } from '../runs/present.ts'
import { type DataPipelineRow, dataPipelines } from './records.ts'

/** The maximum numbers of open streams, of all clients together and of each one. More get a 503. */
function countedStreams({ ofAll, ofClient }: { ofAll: number; ofClient: number }) {
  const open = new Map<string, number>()
  let all = 0

  return {
    take(client: string) {
      const theirs = open.get(client) ?? 0
      if (all >= ofAll || theirs >= ofClient) throw tooMany()
      all++
      open.set(client, theirs + 1)
      let left = false
      const leave = () => {
        if (left) return
        left = true
        all--
        const now = open.get(client)! - 1
        if (now > 0) open.set(client, now)
        else open.delete(client)
      }
      return {
        /** Yields the events of a stream, and releases its slot when it ends. */
        async *during<T>(stream: AsyncIterable<T>): AsyncGenerator<T, void, void> {
          try {
            yield* stream
          } finally {
            leave()
          }
        },
      }
    },
  }
}

const tooMany = () =>
  new Problem(503, 'busy', 'Too many streams are open.', {
    detail: 'Close unused ones, or try again in a few seconds.',
    headers: { 'Retry-After': '5' },
  })

type FollowLogsRequest = OperationInput<PipelineContext, '/data-pipelines/:uid/logs/stream', LogStreamQuery, undefined>

/** Milliseconds between two queries for new lines and for the rights of the caller. */
const looking = 1_000
const checking = 5_000
/** The lifetime of a stream in milliseconds. Clients reconnect, and are authenticated again. */
const longest = 60 * 60_000

const streams = countedStreams({ ofAll: 500, ofClient: 50 })

/** Streams the log and the progress of the run. After a reconnect, missed lines come first. */
export async function followLogs(input: FollowLogsRequest): Promise<EventStream> {
  const { db, caller, params, query, request } = input
  const pipeline = await dataPipelines.read(db, caller, params.uid)
  const { taskId: run, ...filter } = query
  const followed: Followed = { runnableId: pipeline.id, run, ...filter }
  const found = await followedRun(db, followed)
  if (run && !found) throw problems.notFound('run')

  const seen = lastSeen(request.stream.headers['last-event-id'])
  const after = seen ?? (run ? 0 : await beforeRun(db, followed, found?.id))
  const place = streams.take(caller.client)
  return new EventStream((signal) => place.during(follow(input, pipeline, followed, after, signal)))
}

async function* follow(
  input: FollowLogsRequest,
  pipeline: DataPipelineRow,
  followed: Followed,
  begin: number,
  signal: AbortSignal,
): AsyncGenerator<ServerSentEvent, void, void> {
  const { db } = input
  const until = Date.now() + longest
  let after = begin
  let checked = Date.now()
  let lastSent = ''
  while (!signal.aborted && Date.now() < until) {
    // Reads the run before its lines, so that a finished run has all of them.
    const run = await followedRun(db, followed)
    let lines: LogLine[]
    do {
      lines = await linesAfter(db, followed, after)
      for (const line of lines) {
        yield { id: String(line.id), event: 'log', data: presentLogEntry(line, pipeline) }
        after = line.id
      }
    } while (lines.length === mostLines)

    const data = run && presentRun(run)
    if (data && JSON.stringify(data) !== lastSent) {
      lastSent = JSON.stringify(data)
      yield { event: 'run', data }
    }
    if (followed.run && (!run || run.finished_at)) return
    if (Date.now() - checked >= checking) {
      if (!(await maySee(input))) return
      checked = Date.now()
    }
    await sleep(looking, undefined, { signal }).catch(() => {})
  }
}

/** False once the caller is signed out or lost the right to read the pipeline. */
async function maySee({ db, caller, identity, params }: FollowLogsRequest): Promise<boolean> {
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

/** Parses the key of the last line that a client has; undefined for an invalid key. */
function lastSeen(header: string | string[] | undefined): number | undefined {
  return typeof header === 'string' && /^\d{1,15}$/.test(header) ? Number(header) : undefined
}
