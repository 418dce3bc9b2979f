import type { IncrementRequest } from './increments/plan-increment.ts'

/** A database to read: its address, the login, and a query or tables. */
export interface DatabaseConfig {
  /**
   * The folder of the connector, such as `mysql`. Its file `<kind>-session.ts` exports `engine` and imports the driver.
   */
  kind: string
  host: string
  port: number
  database: string
  username: string
  password: string
  /** True if the connection uses TLS. */
  ssl: boolean
  /** True if the connection accepts any server certificate. */
  trustServerCertificate: boolean
  query?: string
  tables?: readonly DatabaseTable[]
  /** The settings for reading only changes of the query. Absent without `incremental` settings. */
  increment?: IncrementRequest
}

export interface DatabaseTable {
  /** The schema of the table. Default: the default schema of the login. */
  schema?: string
  name: string
  increment?: IncrementRequest
}

/** An IP address to which a host name resolves. `family` is 4 or 6. */
export interface ResolvedAddress {
  address: string
  family: number
}

/**
 * Resolves a host name to the IP addresses to which this process may connect. The caller connects to one of them
 * directly, because a second DNS lookup could return another address. Throws an error with a message for users if no
 * address is allowed; its code is ENOTFOUND if the host does not exist.
 */
export type AddressResolver = (host: string, port: number) => Promise<readonly ResolvedAddress[]>

/** Timeouts in milliseconds, and size limits. */
export interface DatabaseLimits {
  /** Maximum time for one address to accept a connection. */
  connect: number
  /** Maximum time from the connection to the first byte, for databases that send first. */
  greeting: number
  /** Maximum time from the connection to a completed login. */
  signIn: number
  /**
   * Maximum time without data from the database before the first row. It is long, because a query may sort all rows
   * first.
   */
  firstRow: number
  /** Maximum time without data from the database after the first row. */
  silence: number
  chunkBytes: number
  /** The maximum number of chunks that wait for the warehouse; above that, reading pauses. */
  chunksInFlight: number
}

export const databaseLimits: DatabaseLimits = {
  connect: 10_000,
  greeting: 10_000,
  signIn: 30_000,
  firstRow: 60 * 60_000,
  silence: 10 * 60_000,
  chunkBytes: 512 * 1024,
  chunksInFlight: 4,
}
