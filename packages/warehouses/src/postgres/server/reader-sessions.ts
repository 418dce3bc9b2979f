import { isLoopback } from '@sluice/process'
import { Pool } from 'pg'
import type { readerLimits } from '../../warehouse-reader-logins.ts'
import { readerLoginPattern, type ReaderState } from '../../warehouse-reader-logins.ts'
import { warehouseProblem } from '../map-server-errors.ts'
import { applyNiceness } from '../postgres-connections.ts'
import { adminSettings } from './prepare-server.ts'

/** The open sessions of all readers of a server. */
export interface ReaderSessions {
  /** Lists the readers' logins with their number of sessions. */
  observe(): Promise<ReaderState[]>
  /**
   * Lowers the CPU priority of readers' sessions and ends those that exceed the limits. Returns the number of ended
   * sessions.
   */
  limit(): Promise<number>
}

/**
 * Returns functions that list and limit the sessions of all readers. They use one connection, which stays open if it is
 * used at least once a minute. So readers that occupy all connections of the server cannot prevent this process from
 * ending their sessions.
 */
export function readerSessions(adminUrl: string, limits: typeof readerLimits): ReaderSessions {
  const pool = new Pool({ ...adminSettings(adminUrl), max: 1, idleTimeoutMillis: 60_000, allowExitOnIdle: true })
  // The pool replaces a broken idle connection at the next use. Without a listener, its error event would end this
  // process.
  pool.on('error', () => {})
  const translateErrors = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      throw warehouseProblem(error, { qualifiedName: 'the warehouse' })
    }
  }
  return {
    observe: () => translateErrors(() => listReaders(pool)),
    limit: () =>
      translateErrors(async () => {
        const endedCount = await endSessionsBeyondLimits(pool, limits)
        await lowerPriority(pool, new URL(adminUrl).hostname, limits)
        return endedCount + (await freeNotificationQueue(pool, limits))
      }),
  }
}

async function listReaders(pool: Pool): Promise<ReaderState[]> {
  const { rows } = await pool.query<ReaderState>(
    `select reader.rolname as login, reader.rolcanlogin as active, count(session.pid)::int as sessions
     from pg_roles as reader
     left join pg_stat_activity as session
       on session.usesysid = reader.oid and session.backend_type = 'client backend'
     where reader.rolname ~ $1 group by reader.rolname, reader.rolcanlogin`,
    [readerLoginPattern],
  )
  return rows
}

/** Selects the readers' sessions that this process can end. `$1` is the pattern of their login names. */
const selectEndableSessions = `
  select session.*, split_part(reader.rolname, '_', 2) as client
  from pg_stat_activity as session join pg_roles as reader on reader.oid = session.usesysid
  where reader.rolname ~ $1 and session.backend_type = 'client backend' and pg_has_role(reader.oid, 'usage')`

/**
 * Ends the sessions that exceed the limits. Session time-outs alone do not suffice, because users can raise them. If
 * the server has too many sessions or locks in total, the organisations with the most sessions lose theirs first: each
 * organisation's sessions are numbered, and those with the highest numbers end.
 *
 * - `counted` numbers the sessions of each organisation and sums up their locks, so that the limits per organisation
 *   apply to the newest sessions and to those with the most locks.
 * - `ranked` does the same for all sessions of the server, in the order of these numbers.
 *
 * `endSessionsBeyondLimits` names the limits `$2` to `$9`.
 */
const endSessionsBeyondLimitsQuery = `
  with sessions as (
    select s.*, coalesce(l.count, 0) as locks from (${selectEndableSessions}) s
    left join (select pid, count(*) from pg_locks group by pid) l using (pid)
  ), counted as (
    select *, row_number() over (partition by client order by backend_start, pid) as of_client,
      sum(locks) over (partition by client order by locks, pid) as locks_of_client
    from sessions
  ), ranked as (
    select *, row_number() over (order by of_client, backend_start, pid) as of_server,
      sum(locks) over (order by locks_of_client, pid) as locks_of_server
    from counted
  )
  select pg_terminate_backend(pid) from ranked
  where of_client > $2 or of_server > current_setting('max_connections')::int * $3::float8
    or state = 'active' and query_start < clock_timestamp() - make_interval(secs => $4)
    or state like 'idle in transaction%' and state_change < clock_timestamp() - make_interval(secs => $5)
    or xact_start < clock_timestamp() - make_interval(secs => $6)
    or locks > $7 or locks_of_client > $8
    or locks_of_server > $9::float8 * current_setting('max_locks_per_transaction')::int * current_setting('max_connections')::int`

/** Ends the sessions that exceed the limits. Returns their number. */
async function endSessionsBeyondLimits(pool: Pool, limits: typeof readerLimits): Promise<number> {
  const { rowCount } = await pool.query(endSessionsBeyondLimitsQuery, [
    readerLoginPattern,
    limits.clientConnections,
    limits.serverShare,
    limits.statementSeconds + limits.graceSeconds,
    limits.idleInTransactionSeconds + limits.graceSeconds,
    limits.transactionSeconds + limits.graceSeconds,
    limits.locks,
    limits.clientLocks,
    limits.lockTableShare,
  ])
  return rowCount ?? 0
}

/**
 * Lowers the CPU priority of readers' sessions below the already low priority of loads. Does nothing if the server runs
 * on another machine.
 */
async function lowerPriority(pool: Pool, host: string, { niceness }: typeof readerLimits): Promise<void> {
  if (!isLoopback(host)) return
  const { rows } = await pool.query<{ pid: number }>(`select pid from (${selectEndableSessions}) s`, [
    readerLoginPattern,
  ])
  for (const { pid } of rows) applyNiceness({ host, niceness }, { processID: pid })
}

/**
 * If PostgreSQL's notification queue is too full, ends sessions one by one until it shrinks. Returns the number of
 * ended sessions. All databases of the server share the queue, and NOTIFY needs no privilege, even in a read-only
 * transaction. When the queue is full, every commit with NOTIFY fails.
 *
 * The queue keeps all notifications since the oldest transaction of a listening session, and the server does not show
 * which sessions listen. So this function first ends sessions with LISTEN or NOTIFY as their last statement, and then
 * those with the oldest transaction.
 */
async function freeNotificationQueue(pool: Pool, limits: typeof readerLimits): Promise<number> {
  for (let endedCount = 0; ; endedCount += 1) {
    // `pg_notification_queue_usage` also removes notifications that all listeners have read.
    const { rows } = await pool.query<{ usage: number }>('select pg_notification_queue_usage() as usage')
    if (rows[0]!.usage <= limits.notificationQueueShare) return endedCount
    const { rowCount } = await pool.query(
      `with next_session as (
         select pid from (${selectEndableSessions}) as session where xact_start is not null
         order by query ~* 'listen|notify' desc, xact_start limit 1)
       select pg_terminate_backend(pid, 2000) from next_session`,
      [readerLoginPattern],
    )
    const hasNoSessionLeft = rowCount === 0
    if (hasNoSessionLeft) return endedCount
  }
}
