export type DatabaseKind = 'postgres' | 'redshift' | 'mysql' | 'sql-server' | 'oracle'

/** A database to read from: where it is, who asks, and what is read. Either a query or tables. */
export interface DatabaseConfig {
  kind: DatabaseKind
  host: string
  port: number
  database: string
  username: string
  password: string
  /** Whether the connection is encrypted; and if so, whether any certificate will do. */
  ssl: boolean
  trustServerCertificate: boolean
  query?: string
  tables?: readonly DatabaseTable[]
}

export interface DatabaseTable {
  /** The login's own where it is absent. */
  schema?: string
  name: string
}

/** An address of a host, as it is connected to. */
export interface ResolvedAddress {
  address: string
  family: number
}

/**
 * The addresses that a host may be connected to at, checked. Throws an error whose message says for people why there are
 * none; with the code ENOTFOUND when there is no such host. What is connected to is one of them: no name is looked up again.
 */
export type ConnectableAddress = (host: string, port: number) => Promise<readonly ResolvedAddress[]>

/** How long things may take, in milliseconds, and how large they may be. */
export interface DatabaseLimits {
  /** For one address to answer at all. */
  connect: number
  /** From an open connection to the first byte, of a server that speaks first. */
  greeting: number
  /** From an open connection to being signed in. */
  signIn: number
  /** Without anything from the database before the first row: a query may have much to sort. */
  firstRow: number
  /** Without anything from the database after that. */
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
