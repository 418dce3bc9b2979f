import type { IncrementRequest } from './increments/plan-increment.ts'

/** A database to read: its address, the login, and a query or tables. */
export interface DatabaseConfig {
  /** The folder of the connector, such as `mysql`. Its file `<kind>-session.ts` exports `engine` and imports the driver. */
  kind: string
  host: string
  port: number
  database: string
  username: string
  password: string
  /** Whether the connection uses TLS. */
  ssl: boolean
  /** Whether any certificate of the server is accepted. */
  trustServerCertificate: boolean
  query?: string
  tables?: readonly DatabaseTable[]
  /** The increments of the query. Absent for a read without `incremental` settings. */
  increment?: IncrementRequest
}

export interface DatabaseTable {
  /** The default is the default schema of the login. */
  schema?: string
  name: string
  increment?: IncrementRequest
}

/** An IP address of a host; `family` is 4 or 6. */
export interface ResolvedAddress {
  address: string
  family: number
}

/**
 * Resolves a host to the IP addresses that this process may connect to. The caller connects to one of these without a second DNS lookup, which could
 * return another address. Throws an error with a message for users if no address is allowed; its code is ENOTFOUND if the host does not exist.
 */
export type AddressResolver = (host: string, port: number) => Promise<readonly ResolvedAddress[]>

/** Timeouts in milliseconds, and size limits. */
export interface DatabaseLimits {
  /** Time for one address to accept a connection. */
  connect: number
  /** Time from the connection to the first byte, for servers that send first. */
  greeting: number
  /** Time from the connection to a completed sign-in. */
  signIn: number
  /** Time without data from the database before the first row. It is long, because a query may sort first. */
  firstRow: number
  /** Time without data from the database after the first row. */
  silence: number
  chunkBytes: number
  /** Maximum number of chunks that wait for the warehouse before reading pauses. */
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
