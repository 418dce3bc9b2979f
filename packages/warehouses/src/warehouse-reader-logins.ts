import { randomBytes } from 'node:crypto'
import type { WarehouseCredentials } from './warehouse.ts'

/** A reader: a login of an organisation's warehouse, for BI tools and other programs, and what it may read. */
export interface ReaderDefinition {
  /** The name of the login, from `newReaderLogin`. It never changes. */
  login: string
  /** The schemas with the tables and views that the login may read. */
  schemas: readonly string[]
  /** False if the login must not connect or read anything. */
  active: boolean
  /** After this time, the server rejects connections of the login. */
  expires?: Date | undefined
}

/** A login's state at the server. */
export interface ReaderState {
  login: string
  active: boolean
  /** The number of open sessions, or of running queries if the server has no sessions. */
  sessions: number
}

/** The networks from which a login may connect, as CIDR blocks. An empty list allows all networks. */
export interface ReaderNetworks {
  login: string
  networks: readonly string[]
}

/**
 * Manages the readers' logins of all organisations on one warehouse server. Other programs use these logins to read
 * schemas; Sluice itself does not. Every method is idempotent. Errors are `WarehouseProblem`.
 */
export interface ReaderServer {
  /**
   * Creates the login or changes it to this definition. With `password`, also sets the password. Open sessions end if
   * the login gets a password, loses a schema or becomes inactive. The schemas must exist.
   */
  define(client: WarehouseCredentials, reader: ReaderDefinition, password?: string): Promise<void>
  /** Ends the sessions of a login and removes it. A missing login is not an error. */
  drop(login: string): Promise<void>
  /** Lists the logins of all organisations. */
  observe(): Promise<ReaderState[]>
  /** Ends sessions that exceed the limits and returns their number. Absent if the server enforces all limits itself. */
  limitSessions?(): Promise<number>
  /**
   * Replaces the allowed networks of all logins and ends sessions from other networks. Absent if Sluice cannot change
   * the server's connection rules.
   */
  setNetworks?(all: readonly ReaderNetworks[]): Promise<void>
}

/**
 * Returns the name of a new login. `key` is the organisation's short name in the warehouse; a random part makes the
 * login unique.
 */
export const newReaderLogin = (key: string): string => `c_${key}_r_${randomBytes(8).toString('hex')}`

/**
 * Matches names of readers' logins. The syntax works in PostgreSQL, ClickHouse and JavaScript. The group captures the
 * organisation's key.
 */
export const readerLoginPattern = '^c_([a-z0-9]+)_r_[0-9a-f]{16}$'

/** Throws unless the login has the name of a reader. Such a name is safe in SQL text. */
export const assertReaderLogin = (login: string): void => void keyOfReader(login)

/** Returns the organisation's key from the name of a reader's login. Throws for any other name. */
export function keyOfReader(login: string): string {
  const [, key] = new RegExp(readerLoginPattern).exec(login) ?? []
  if (key === undefined) throw new Error(`"${login}" is not the name of a warehouse reader.`)
  return key
}

/**
 * Returns a random password of 43 letters, digits, "-" and "_". None of these must be escaped in a connection string.
 */
export const newReaderPassword = (): string => randomBytes(32).toString('base64url')

/**
 * The limits of readers and their sessions. Loads wait for the readers of a table, so longer transactions would delay
 * loads.
 */
export const readerLimits = {
  /** The maximum number of readers of one organisation. */
  readers: 20,
  /**
   * The maximum connections of one reader, and of all readers of one organisation together. `connectionsOf` divides the
   * latter.
   */
  connections: 10,
  clientConnections: 40,
  /** The share of the server's connections that all readers together may use. */
  serverShare: 0.5,
  statementSeconds: 1_800,
  idleInTransactionSeconds: 60,
  transactionSeconds: 3_600,
  /**
   * Seconds by which a session may exceed the three time limits above before `limitSessions` ends it. Within them, the
   * server's own, clearer error can arrive first.
   */
  graceSeconds: 10,
  /**
   * The maximum locks of one session and of all sessions of one organisation, and the share of the server's lock table
   * that all readers together may use.
   */
  locks: 2_000,
  clientLocks: 10_000,
  lockTableShare: 0.5,
  /** The share of the server's notification queue that readers may fill. Sluice itself hardly uses this queue. */
  notificationQueueShare: 0.01,
  /** The niceness of readers' server processes, if they run on the worker's machine: the lowest CPU priority. */
  niceness: 19,
}

/**
 * Returns the maximum connections for each of an organisation's active readers, so that all of them together stay
 * within the organisation's limit.
 */
export const connectionsOf = (activeReaders: number): number =>
  Math.max(1, Math.min(readerLimits.connections, Math.floor(readerLimits.clientConnections / activeReaders)))
