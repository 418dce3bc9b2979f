/** A database to read from: its address, the login, and either a query or tables. */
export interface DatabaseConfig {
  /** Folder of the connector. Its `<kind>-session.ts` exports `engine` and imports the driver. */
  kind: string
  host: string
  port: number
  database: string
  username: string
  password: string
  /** Whether the connection is encrypted; the next setting accepts any certificate. */
  ssl: boolean
  trustServerCertificate: boolean
  query?: string
  tables?: readonly DatabaseTable[]
}

export interface DatabaseTable {
  /** The login's default schema if absent. */
  schema?: string
  name: string
}

/** A resolved address of a host. */
export interface ResolvedAddress {
  address: string
  family: number
}

/**
 * Returns the checked addresses that a host may be connected to. Throws an error with a message for users if no address is allowed; its
 * code is ENOTFOUND if the host does not exist. The caller connects to one of these addresses without a further DNS lookup.
 */
export type ConnectableAddress = (host: string, port: number) => Promise<readonly ResolvedAddress[]>

/** Timeouts in milliseconds, and size limits. */
export interface DatabaseLimits {
  /** For one address to respond at all. */
  connect: number
  /** From an open connection to the first byte, for a server that speaks first. */
  greeting: number
  /** From an open connection to a completed sign-in. */
  signIn: number
  /** Without data from the database before the first row: a query may need a long sort. */
  firstRow: number
  /** Without data from the database after the first row. */
  silence: number
  chunkBytes: number
  /** Chunks that may wait for the warehouse before reading pauses. */
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
