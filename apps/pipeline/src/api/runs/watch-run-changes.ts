import type { Logger } from '@sluice/process'
import { type Kysely, sql } from 'kysely'
import type { DB } from '../../database.ts'

/** Milliseconds between two queries for changed runs. */
const queryIntervalMs = 1_000
/** Milliseconds between two reports of a run's progress. Other changes of a run are reported immediately. */
const progressIntervalMs = 5_000
/**
 * Each query also finds runs that ended up to this many seconds before the last query. `finished_at` is the start of
 * the transaction that ends a run, so a run becomes visible later than its `finished_at`. These transactions take less
 * than this time.
 */
const overlapSeconds = 60
/** The maximum number of changed runs that wait for a slow subscriber. */
const maxWaitingRuns = 10_000

/** A subscription that collects the ids of changed runs. Dispose of it to end the subscription. */
export interface RunChanges extends Disposable {
  /** The time of the last query by the clock of the database. All changes before it are reported. */
  readonly asOf: Date
  /** Returns the ids of the runs that changed since the last call. Throws if too many have changed. */
  take(): number[]
}

export interface RunWatcher {
  /** Subscribes to the runs of an organisation. Resolves when every later change will be reported. */
  subscribe(client: string): Promise<RunChanges>
}

interface Subscription {
  client: string
  changed: Set<number>
  /** The time of the last query; undefined before the first one. */
  asOf: Date | undefined
  onFirstQuery(): void
}

interface KnownRun {
  status: string
  progress: string
  /** The time of the last report, in milliseconds. */
  reportedAt: number
}

/**
 * Finds new and changed runs. Runs one query per second for all subscribers of this process, and no query without
 * subscribers. The query reads queued and running runs, and those that ended in the last minute.
 */
export function watchRuns(db: Kysely<DB>, logger: Pick<Logger, 'warn'>): RunWatcher {
  const subscriptions = new Set<Subscription>()
  /** The runs of each subscribed organisation at the last query. */
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
  /** Strings that change whenever the run's status or progress changes. */
  status: string
  progress: string
}

/**
 * Returns the queued and running runs of these organisations, and the runs that finished since the last query. `now` is
 * the time of the database.
 */
async function readRecentRuns(
  db: Kysely<DB>,
  clients: readonly string[],
  lastQuery: Date | undefined,
): Promise<{ now: Date; runs: RecentRun[] }> {
  const comparedColumns = sql`id, client, concat_ws(' ', state, attempt, finished_at) as status,
    concat_ws(' ', bytes_read, rows_read, rows_rejected, percentage) as progress`
  const isOfClients = sql`client = any(${[...clients]}::uuid[])`
  // The left join returns the time even when `recent_runs` is empty. The columns of the run are then null.
  const { rows } = await sql<{ now: Date } & (RecentRun | { id: null })>`
    with recent_runs as (
      select ${comparedColumns} from runs where state in ('QUEUED', 'RUNNING') and ${isOfClients}
      union all
      select ${comparedColumns} from runs
      where finished_at > coalesce(${lastQuery ?? null}::timestamptz, now()) - make_interval(secs => ${overlapSeconds})
        and state not in ('QUEUED', 'RUNNING') and ${isOfClients}
    )
    select time.now, recent_runs.* from (select now()::timestamptz(3) as now) time left join recent_runs on true`.execute(
    db,
  )
  return { now: rows[0]!.now, runs: rows.filter((row) => row.id !== null) }
}

/**
 * Compares the runs with those of the last query. Returns the runs for the next comparison, and the ids of new and
 * changed ones. The first comparison of an organisation finds no changes.
 */
function compareRuns(before: ReadonlyMap<number, KnownRun> | undefined, runs: readonly RecentRun[], now: number) {
  const current = new Map<number, KnownRun>()
  const changed: number[] = []
  for (const { id, status, progress } of runs) {
    const known = before?.get(id)
    const isStatusReported = known?.status === status
    const isProgressReported = known?.progress === progress
    // Progress changes often, so it is reported only once per interval.
    const isProgressReportDue = !isProgressReported && now - (known?.reportedAt ?? 0) >= progressIntervalMs
    if (known && isStatusReported && !isProgressReportDue) {
      current.set(id, known)
      continue
    }
    if (before) changed.push(id)
    current.set(id, { status, progress, reportedAt: now })
  }
  return { current, changed }
}

/** Lists the ids of an organisation's queued and running runs, and of runs that ended after `since`, oldest first. */
export async function listRecentRuns(db: Kysely<DB>, client: string, since: Date | undefined): Promise<number[]> {
  const ended = sql`union all
    select id from runs where client = ${client} and state not in ('QUEUED', 'RUNNING')
      and finished_at > ${since ?? null}::timestamptz - make_interval(secs => ${overlapSeconds})`
  const { rows } = await sql<{ id: number }>`
    select id from runs where client = ${client} and state in ('QUEUED', 'RUNNING') ${since ? ended : sql``}
    order by id`.execute(db)
  return rows.map(({ id }) => id)
}
