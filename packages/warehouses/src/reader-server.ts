import { randomBytes } from 'node:crypto'
import type { WarehouseCredentials } from './warehouse.ts'

/** What a login of a client's warehouse may read. */
export interface ReaderDefinition {
  /** The name of the login, from `newReaderLogin`. It never changes. */
  login: string
  /** The schemas of the warehouse whose tables and views the login reads. */
  schemas: readonly string[]
  /** False: the login cannot connect and reads nothing. */
  active: boolean
  /** The server rejects later connections. */
  expires?: Date | undefined
}

/** A login as the server has it. */
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
 * The logins on one warehouse server, of all clients, with which other programs read schemas. No part of Sluice uses these logins.
 * Every method is safe to repeat. Errors are `WarehouseProblem`.
 */
export interface ReaderServer {
  /**
   * Creates the login, or changes it to this definition. With `password`, sets the password. Open sessions end if the login gets a
   * password, loses a schema or is inactive. The client's schemas exist.
   */
  define(client: WarehouseCredentials, reader: ReaderDefinition, password?: string): Promise<void>
  /** Ends the sessions of a login, and removes it. A missing login is not an error. */
  drop(login: string): Promise<void>
  /** Lists the logins of all clients. */
  observe(): Promise<ReaderState[]>
  /** Ends sessions that exceed the limits. Returns their number. Absent if the server enforces all limits itself. */
  limitSessions?(): Promise<number>
  /** Replaces the allowed networks of all logins, and ends sessions from other networks. Absent if Sluice cannot change the server's rules for connections. */
  setNetworks?(all: readonly ReaderNetworks[]): Promise<void>
}

/** Returns the name of a new login. The key is that of the client, and the random part makes the name unique. */
export const newReaderLogin = (key: string): string => `c_${key}_r_${randomBytes(8).toString('hex')}`

/** Matches the names of logins, in the syntax of PostgreSQL, of ClickHouse and of JavaScript. The group is the client's key. */
export const readerLoginPattern = '^c_([a-z0-9]+)_r_[0-9a-f]{16}$'

/** Returns the key of the client to which the login belongs. Throws for any other name, so that SQL text can contain the login. */
export function keyOfReader(login: string): string {
  const key = new RegExp(readerLoginPattern).exec(login)?.[1]
  if (key === undefined) throw new Error(`"${login}" is not the name of a warehouse reader.`)
  return key
}

/** Returns a new password: 43 letters, digits, "-" and "_", which no connection string has to escape. */
export const newReaderPassword = (): string => randomBytes(32).toString('base64url')

/** The limits of readers and their sessions. Longer transactions delay loads, which wait for the readers of a table. */
export const readerLimits = {
  /** Readers of one client. */
  readers: 20,
  /** Connections of one reader, and of all readers of one client together. `connectionsOf` divides them. */
  connections: 10,
  clientConnections: 40,
  /** The share of the server's connections that all readers may have. */
  serverShare: 0.5,
  statementSeconds: 1_800,
  idleInTransactionSeconds: 60,
  transactionSeconds: 3_600,
  /** Seconds by which a session may exceed the three limits above before `limitSessions` ends it. The server's own errors are clearer. */
  graceSeconds: 10,
  /** Locks of one session, of all sessions of one client, and the share of the server's lock table that all readers may have. */
  locks: 2_000,
  clientLocks: 10_000,
  lockTableShare: 0.5,
  /** The share of the server's queue of notifications, which Sluice itself hardly uses. */
  notificationQueueShare: 0.01,
  /** Niceness of the server's processes, where they run on the machine of the worker: the lowest priority. */
  niceness: 19,
}

/** Returns the connections that each of a client's active readers may have, so that they never have more together than the client may. */
export const connectionsOf = (activeReaders: number): number =>
  Math.max(1, Math.min(readerLimits.connections, Math.floor(readerLimits.clientConnections / activeReaders)))
