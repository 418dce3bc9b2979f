/** A run in the hands of a worker. `attempt` fences every change: one that changes no row has lost the run to another. */
export interface Claim {
  id: number
  uid: string
  client: string
  requestedAt: Date
  attempt: number
  /** Which try this is, from 1: the attempts without those that were handed back unfinished. */
  tries: number
  /** As it was when the run was asked for. */
  input: unknown
  /** Counted by an earlier attempt, if there was one. */
  rowsRejected: number
  pipeline: {
    id: number
    uid: string
    name: string
    type: string
    settings: unknown
    /** Sealed. */
    source_secrets: string | null
    /** What runs on the staging table before it is published, in this order. */
    sqlStatements: SqlStatement[]
    schema: string
    table: string
  }
}

export interface SqlStatement {
  description?: string
  statement: string
}

/** How often a run is tried before it fails. An attempt beyond that only looks whether one of them published it. */
export const mostTries = 5
