import { Kysely, PostgresDialect, sql, type Transaction } from 'kysely'
import pg from 'pg'
import { PreparingClient } from './prepared-statements.ts'

export interface DatabaseConnection<DB> extends AsyncDisposable {
  db: Kysely<DB>
  pool: pg.Pool
}

interface ConnectOptions {
  /** The application name, shown in pg_stat_activity. */
  name: string
  max?: number
  /** The time limit of a statement, in milliseconds. */
  statementTimeout?: number
  /** Called if an idle connection breaks. By default, the error is ignored; the pool opens a new connection. */
  onError?(error: Error): void
}

/**
 * Creates a connection pool with time limits. Disposing the result closes the pool. bigint values become JavaScript
 * numbers, because keys and counts stay below 2^53.
 */
export function connect<DB>(
  connectionString: string,
  { name, max = 10, statementTimeout = 15_000, onError = () => {} }: ConnectOptions,
): DatabaseConnection<DB> {
  const pool = new pg.Pool({
    Client: PreparingClient,
    connectionString,
    application_name: name,
    max,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    statement_timeout: statementTimeout,
    lock_timeout: 10_000,
    idle_in_transaction_session_timeout: 30_000,
    // JIT compilation takes longer than these statements. If PostgreSQL overestimates the row count, it enables JIT,
    // which would add hundreds of milliseconds.
    options: '-c jit=off',
    types: { getTypeParser },
  })
  // An error event without a listener would end the process.
  pool.on('error', onError)
  // A connection can also break between two statements of a transaction. The next statement reports that error.
  pool.on('connect', (client) => client.on('error', () => {}))
  const db = new Kysely<DB>({ dialect: new PostgresDialect({ pool }) })
  return { db, pool, [Symbol.asyncDispose]: () => db.destroy() }
}

const bigintOid = 20

const getTypeParser = ((oid: number, format: 'text') =>
  oid === bigintOid ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser

/** Runs `callback` in a transaction. If `db` is a transaction already, runs it in that one. */
export function transaction<DB, T>(db: Kysely<DB>, callback: (trx: Transaction<DB>) => Promise<T>): Promise<T> {
  return db.isTransaction ? callback(db as Transaction<DB>) : db.transaction().execute(callback)
}

/**
 * An SQL expression for a SELECT list or a RETURNING clause. If a statement evaluates it, the transaction commits
 * without waiting for the disk. A crash of the server can then lose the transaction, until a later commit has waited
 * for the disk. Use it only for rows that may be lost.
 */
export const commitWithoutFlush = sql<string>`set_config('synchronous_commit', 'off', true)`
