import { Kysely, PostgresDialect, type Transaction } from 'kysely'
import pg from 'pg'
import { PreparingClient } from './prepared.ts'

export interface DatabaseConnection<DB> extends AsyncDisposable {
  db: Kysely<DB>
  pool: pg.Pool
}

interface ConnectOptions {
  /** Shown in pg_stat_activity. */
  name: string
  max?: number
  /** Milliseconds. */
  statementTimeout?: number
  /** Told of connections that break while idle, so that they never end the process. */
  onError?(error: Error): void
}

/** A pool with time-outs on everything that could hang. bigint arrives as a number: our keys and counts stay below 2^53. */
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
    // Compiling a statement takes longer than running what we ask. Where PostgreSQL thinks that one is expensive, it is wrong
    // about how much is read, and hundreds of milliseconds of compiling would come on top.
    options: '-c jit=off',
    types: { getTypeParser },
  })
  pool.on('error', onError)
  // One that breaks between two statements of a transaction is noticed by the second; unheard, it would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  const db = new Kysely<DB>({ dialect: new PostgresDialect({ pool }) })
  return { db, pool, [Symbol.asyncDispose]: () => db.destroy() }
}

const bigint = 20

const getTypeParser = ((oid: number, format: 'text') =>
  oid === bigint ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser

/** One transaction per piece of work, however deeply it is asked for. */
export function transaction<DB, T>(db: Kysely<DB>, work: (trx: Transaction<DB>) => Promise<T>): Promise<T> {
  return db.isTransaction ? work(db as Transaction<DB>) : db.transaction().execute(work)
}
