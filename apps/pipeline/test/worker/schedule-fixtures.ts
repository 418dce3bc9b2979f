import { randomUUID } from 'node:crypto'
import type { ClientSummary } from '@sluice/contracts'
import { createLogger, createMetrics, Redaction } from '@sluice/process'
import { replanChangedZones } from '../../src/schedules/replan-changed-time-zones.ts'
import { createSchedulerMetrics } from '../../src/schedules/scheduler-context.ts'
import { planRuns } from '../../src/schedules/plan-runs.ts'
import { startDueSchedules } from '../../src/schedules/start-due-schedules.ts'
import { never } from '@sluice/warehouses/testing/row-fixtures'
import type { Stack } from './worker-stack.ts'

export interface Scheduled {
  id: number
  client: string
}

/** Columns of a schedule; EVERY_HOUR where nothing else is said. */
export type Schedule = Partial<{
  type: string
  run_trigger: string
  cron_expression: string
  disabled: boolean
  continuously_updated: boolean
  continuous_update_interval: number
  full_refresh_interval: number
}>

/** A pipeline with a schedule, not planned yet. */
export async function scheduled(
  stack: Stack,
  schedule: Schedule = {},
  client: string = randomUUID(),
): Promise<Scheduled> {
  const { id } = await stack.pipeline(client)
  await stack.db
    .updateTable('data_pipelines')
    // A dataset that is not there: its runs fail, and its schedule asks for no uploaded file.
    .set({ type: 'PUBLIC_DATASET', settings: JSON.stringify({ key: 'none' }), run_trigger: 'EVERY_HOUR', ...schedule })
    .where('id', '=', id)
    .execute()
  return { id, client }
}

/** A scheduler with a settable clock, which executes one job per call. */
export function virtualScheduler({ db, queue }: Stack, begin: string) {
  let now = Date.parse(begin)
  let reachable = true
  const clients = new Map<string, Partial<ClientSummary>>()
  const parts = {
    db,
    queue,
    logger: createLogger({ name: 'test', level: 'silent', redaction: new Redaction() }),
    metrics: createSchedulerMetrics(createMetrics('test')),
    clock: async () => new Date(now),
    signal: never,
    async clients(uids: readonly string[]) {
      if (!reachable) throw new Error('The identity service is away.')
      return new Map(
        uids.map((uid) => [uid, summary(uid, clients.get(uid))]).filter((pair) => pair[1] !== undefined) as [
          string,
          ClientSummary,
        ][],
      )
    },
  }
  return {
    set: (text: string) => void (now = Date.parse(text)),
    /** The client as the identity service describes it; defaults unless the test sets other values. */
    client: (uid: string, changes: Partial<ClientSummary>) => void clients.set(uid, changes),
    identityIsThere: (there: boolean) => void (reachable = there),
    plan: () => planRuns(parts),
    start: () => startDueSchedules(parts),
    follow: () => replanChangedZones(parts),
  }
}

const summary = (id: string, changes: Partial<ClientSummary> = {}): ClientSummary => {
  return {
    id,
    code: 'c',
    name: 'Client',
    disabled: false,
    domain: 'REGULAR',
    pipelinesEnabled: true,
    timeZone: 'UTC',
    ...changes,
  }
}

/** The runs of one thing, oldest first, with what the scheduler wrote into their logs. */
export async function runsOf({ db }: Stack, { id }: { id: number }) {
  const runs = await db.selectFrom('runs').selectAll().where('runnable_id', '=', id).orderBy('id').execute()
  const lines = await db.selectFrom('run_logs').selectAll().where('runnable_id', '=', id).orderBy('id').execute()
  return runs.map(({ id: run, trigger, mode, state, scheduled_for }) => ({
    trigger,
    mode,
    state,
    tick: scheduled_for?.toISOString(),
    said: lines.filter((line) => line.run_id === run).map((line) => `${line.importance} ${line.message}`),
  }))
}

export const planned = async ({ db }: Stack, { id }: { id: number }) => {
  const row = await db.selectFrom('runnables').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  const { zone, next_run_at, next_full_run_at } = row
  return { planned: row.planned, zone, next: next_run_at?.toISOString(), full: next_full_run_at?.toISOString() }
}

/** All of its runs are over. */
export async function end({ db }: Stack, { id }: { id: number }): Promise<void> {
  await db.updateTable('runs').set({ state: 'OK', finished_at: new Date() }).where('runnable_id', '=', id).execute()
}
