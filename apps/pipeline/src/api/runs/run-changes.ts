import type { Logger } from '@sluice/process'
import { type Kysely, sql } from 'kysely'
import type { DB } from '../../database.ts'

/** Milliseconds between two queries. */
const queryIntervalMs = 1_000
/** Milliseconds between two changes of a run's progress. Other changes are reported at once. */
const progressIntervalMs = 5_000
/**
 * Seconds before the last query in which ended runs are searched again. `finished_at` is the start of a transaction, so the end of a run
 * becomes visible later than that; transactions on runs are shorter than this.
 */
const overlapSeconds = 60
/** The maximum number of changed runs that wait for a slow reader. */
const maxWaitingRuns = 10_000

/** Collects the ids of runs that change. Disposing it ends the subscription. */
export interface RunChanges extends Disposable {
  /** The database's time of the last query. All changes before it were reported. */
  readonly asOf: Date
  /** Returns the runs that changed since the last call. Throws if too many changed. */
  take(): number[]
}

export interface RunWatcher {
  /** Resolves when every later change of a client's runs is reported. */
  subscribe(client: string): Promise<RunChanges>
}

interface Subscription {
  client: string
  changed: Set<number>
  /** Undefined before the first query. */
  asOf: Date | undefined
  onFirstQuery(): void
}

interface KnownRun {
  status: string
  progress: string
  /** Milliseconds. */
  reportedAt: number
}

/**
 * Finds new and changed runs with one query a second for all subscribers of this process, and with none without subscribers. The query
 * reads the queued and running runs and those that ended in the last minute.
 */
export function watchRuns(db: Kysely<DB>, logger: Pick<Logger, 'warn'>): RunWatcher {
  const subscriptions = new Set<Subscription>()
  /** The runs of each subscribed client in the last query. */
  const knownRuns = new Map<string, ReadonlyMap<number, KnownRun>>()
  let lastQuery: Date | undefined
  let isRunning = false

  async function queryWhileSubscribed(): Promise<void> {
    isRunning = true
    while (subscriptions.size > 0) {
      await findChanges().catch((error: unknown) => logger.warn({ err: error }, 'changed runs cannot be read'))
      await new Promise((resolve) => setTimeout(resolve, queryIntervalMs))
    }
    knownRuns.clear()
    lastQuery = undefined
    isRunning = false
  }

  async function findChanges(): Promise<void> {
    const served = Map.groupBy(subscriptions, ({ client }) => client)
    const { now, runs } = await readRecentRuns(db, [...served.keys()], lastQuery)
    lastQuery = now
    const runsOf = Map.groupBy(runs, ({ client }) => client)
    for (const client of knownRuns.keys()) if (!served.has(client)) knownRuns.delete(client)
    for (const [client, subscribers] of served) {
      const { current, changed } = compareRuns(knownRuns.get(client), runsOf.get(client) ?? [], now.getTime())
      knownRuns.set(client, current)
      for (const subscriber of subscribers) {
        if (subscriber.asOf) for (const id of changed) subscriber.changed.add(id)
        subscriber.asOf = now
        subscriber.onFirstQuery()
      }
    }
  }

  return {
    async subscribe(client) {
      const { promise: firstQuery, resolve: onFirstQuery } = Promise.withResolvers<void>()
      const subscription: Subscription = { client, changed: new Set(), asOf: undefined, onFirstQuery }
      subscriptions.add(subscription)
      if (!isRunning) void queryWhileSubscribed()
      await firstQuery
      return {
        get asOf() {
          return subscription.asOf!
        },
        take: () => takeAll(subscription.changed),
        [Symbol.dispose]: () => void subscriptions.delete(subscription),
      }
    },
  }
}

function takeAll(changed: Set<number>): number[] {
  if (changed.size > maxWaitingRuns) throw new Error(`More than ${maxWaitingRuns} changed runs wait for a slow reader.`)
  const ids = [...changed]
  changed.clear()
  return ids
}

interface RecentRun {
  id: number
  client: string
  /** Texts that differ if the run has changed. */
  status: string
  progress: string
}

async function readRecentRuns(
  db: Kysely<DB>,
  clients: readonly string[],
  lastQuery: Date | undefined,
): Promise<{ now: Date; runs: RecentRun[] }> {
  const state = sql`r.id, r.client, concat_ws(' ', r.state, r.attempt, r.finished_at) as status,
    concat_ws(' ', r.bytes_read, r.rows_read, r.rows_rejected, r.percentage) as progress`
  const { rows } = await sql<{ now: Date } & (RecentRun | { id: null })>`
    with recent as (
      select ${state} from runs r where r.state in ('QUEUED', 'RUNNING') and r.client = any(${[...clients]}::uuid[])
      union all
      select ${state} from runs r
      where r.finished_at > coalesce(${lastQuery ?? null}::timestamptz, now()) - make_interval(secs => ${overlapSeconds})
        and r.state not in ('QUEUED', 'RUNNING') and r.client = any(${[...clients]}::uuid[])
    )
    select time.now, recent.* from (select now()::timestamptz(3) as now) time left join recent on true`.execute(db)
  return { now: rows[0]!.now, runs: rows.filter((row) => row.id !== null) }
}

/** Returns the runs to compare with the next time, and the ids of new and changed ones. The first comparison of a client finds none. */
function compareRuns(before: ReadonlyMap<number, KnownRun> | undefined, runs: readonly RecentRun[], now: number) {
  const current = new Map<number, KnownRun>()
  const changed: number[] = []
  for (const { id, status, progress } of runs) {
    const old = before?.get(id)
    const isReported =
      old?.status === status && (old.progress === progress || now - old.reportedAt < progressIntervalMs)
    if (before && !isReported) changed.push(id)
    current.set(id, isReported ? old : { status, progress, reportedAt: now })
  }
  return { current, changed }
}

/** Lists the ids of a client's queued and running runs, and of those that ended after `since`, oldest first. */
export async function listRecentRuns(db: Kysely<DB>, client: string, since: Date | undefined): Promise<number[]> {
  const ended = sql`union all
    select id from runs where client = ${client} and state not in ('QUEUED', 'RUNNING')
      and finished_at > ${since ?? null}::timestamptz - make_interval(secs => ${overlapSeconds})`
  const { rows } = await sql<{ id: number }>`
    select id from runs where client = ${client} and state in ('QUEUED', 'RUNNING') ${since ? ended : sql``}
    order by id`.execute(db)
  return rows.map(({ id }) => id)
}
