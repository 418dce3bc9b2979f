import { sql } from 'kysely'
import type { Client } from 'pg'
import type { Failpoint } from '@sluice/process'
import { count, finished, publications, stagingTables } from '../worker/large-load.ts'
import type { Pipeline, Stack } from '../worker/worker-stack.ts'
import { spawnWorker, type WorkerProcess } from '../worker/worker-process.ts'
import { until } from '@sluice/testing/wait-until'

type Run = Awaited<ReturnType<Stack['run']>>

/** A pipeline whose table holds the rows of run 1. */
export interface Loaded {
  pipeline: Pipeline
  /** The superuser in its warehouse. */
  client: Client & AsyncDisposable
}

/** A file of so many rows that all carry the number of their run. */
export function numbered(run: number, rows = 20_000): string {
  return `run,row,name\n${Array.from({ length: rows }, (_, row) => `${run},${row},name ${row}\n`).join('')}`
}

/** Pipelines of one client whose tables hold two rows of run 1 each, loaded by a worker that has gone again. */
export async function loadedPipelines(stack: Stack, many: number): Promise<Loaded[]> {
  await using _worker = await spawnWorker({ ...stack.environment, CLIENT_CONCURRENCY: '8', WORKER_CONCURRENCY: '4' })
  const first = await stack.pipeline()
  const others = Array.from({ length: many - 1 }, () => stack.pipeline(first.client))
  const pipelines = [first, ...(await Promise.all(others))]
  const runs = await Promise.all(pipelines.map((pipeline) => ask(stack, pipeline, numbered(1, 2))))
  for (const run of runs) await finished(stack, run)
  return Promise.all(pipelines.map(async (pipeline) => ({ pipeline, client: await stack.inside(pipeline.client) })))
}

export async function ask(stack: Stack, pipeline: Pipeline, content: string): Promise<Run> {
  return stack.run(pipeline, await stack.upload(pipeline, content))
}

/** A worker that takes one run at a time and falls into these traps; its log says which runs it took. */
export function trapped(stack: Stack, traps: string, more: Record<string, string> = {}): Promise<WorkerProcess> {
  const one = { WORKER_CONCURRENCY: '1', CLIENT_CONCURRENCY: '64', LOG_LEVEL: 'debug' }
  return spawnWorker({ ...stack.environment, ...one, FAILPOINTS: traps, ...more })
}

/** Waits until a worker has fallen into its trap. */
export async function sprung(worker: WorkerProcess, point: Failpoint): Promise<void> {
  const [, action] = await until(() => new RegExp(`failpoint ${point}: (\\w+)`).exec(worker.output()))
  // It says so a moment before; a SIGCONT in that moment would be lost, and the worker stand still for good.
  if (action === 'stop') await worker.stopped()
}

/** The uids of the runs that a worker took up. */
export function takenBy(worker: WorkerProcess): string[] {
  return [...worker.output().matchAll(/"run":"([^"]+)","attempt":\d+,"msg":"a run was claimed"/g)].map(
    ([, run]) => run!,
  )
}

/**
 * The state that has to be consistent after a crash. `holds` is the run that published the rows of the table; `jobs`
 * are those of the queue.
 */
export async function seen(stack: Stack, { pipeline, client }: Loaded, run: { id: number; uid: string }) {
  const { state, attempt, rows_written, error_code, handed_back } = await stack.state(run)
  return {
    state,
    attempt,
    rows_written,
    error_code,
    handed_back,
    holds: await holds(client, pipeline),
    rows: await count(client, pipeline),
    publications: await publications(client, run),
    staging: await stagingTables(client, run),
    jobs: await jobs(stack, run),
  }
}

async function holds(client: Client, { schema, table }: Pipeline): Promise<number[]> {
  const { rows } = await client.query(`select distinct run::int from ${schema}.${table}`)
  return rows.map(({ run }) => run)
}

export async function jobs({ db }: Stack, { uid }: { uid: string }): Promise<number> {
  const { rows } = await sql`select from pgboss.job where state < 'completed' and data ->> 'run' = ${uid}`.execute(db)
  return rows.length
}

/** To the queue, the worker of this run is silent from now on: it has not been heard of for five minutes. */
export async function silentForLong(stack: Stack, { uid }: { uid: string }): Promise<void> {
  await lastHeartbeat(stack, uid, '-5 minutes')
}

/** Sets the last heartbeat of the run's worker to now. */
export async function heardNow(stack: Stack, uid: string): Promise<void> {
  await lastHeartbeat(stack, uid, '0 seconds')
}

/** To the queue, the worker of this run is alive for the next hour, also when it stands still. */
export async function neverSilent(stack: Stack, uid: string): Promise<void> {
  await lastHeartbeat(stack, uid, '1 hour')
}

async function lastHeartbeat({ db }: Stack, uid: string, fromNow: string): Promise<void> {
  await sql`
    update pgboss.job set heartbeat_on = now() + ${fromNow}::interval
    where state = 'active' and data ->> 'run' = ${uid}`.execute(db)
}

/** The run's log, oldest line first. */
export async function logOf(stack: Stack, { id }: { id: number }): Promise<string> {
  const lines = await stack.db.selectFrom('run_logs').select('message').where('run_id', '=', id).orderBy('id').execute()
  return lines.map(({ message }) => message).join('\n')
}
