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
  /** Lists the logins of all clients. Before that, ends sessions that exceed the limits of time and number. */
  observe(): Promise<ReaderState[]>
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

/** The limits of a login's sessions. Longer transactions delay loads, which wait for the readers of a table. */
export const readerLimits = {
  connections: 10,
  /** Sessions of all readers of one client, and the share of the server's connections that all readers may have. */
  clientConnections: 40,
  serverShare: 0.5,
  statementSeconds: 1_800,
  idleInTransactionSeconds: 60,
  transactionSeconds: 3_600,
  /** Seconds by which a session may exceed the three limits above before `observe` ends it. The server's own errors are clearer. */
  graceSeconds: 10,
}
