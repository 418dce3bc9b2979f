import pg from 'pg'

/** The constraint that a write violated. `constraint` is its name; for a NOT NULL constraint, the column's name. */
export interface BrokenConstraint {
  kind: 'unique' | 'foreign-key' | 'check' | 'not-null'
  constraint: string
}

const constraintKinds: Record<string, BrokenConstraint['kind']> = {
  23505: 'unique',
  23503: 'foreign-key',
  23514: 'check',
  23502: 'not-null',
}

/** Returns the constraint that a write violated, or undefined for any other error. */
export function brokenConstraint(error: unknown): BrokenConstraint | undefined {
  if (!(error instanceof pg.DatabaseError)) return undefined
  const kind = constraintKinds[error.code ?? '']
  return kind && { kind, constraint: error.constraint ?? error.column ?? '' }
}

/**
 * SQLSTATEs of transient errors: serialization failures, deadlocks, time-outs of locks and statements, lost
 * connections, and a server that is starting, stopping or short of resources.
 */
const transientStates = /^(40001|40P01|55P03|57014|57P0[1235]|53\d\d\d|08\d\d\d)$/

const networkErrorCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
])

/** Messages of node-postgres for lost connections. These errors have no code. */
const lostConnectionMessage =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/

/**
 * Returns whether the error is transient: a network error, a lost connection, or an error with one of
 * `transientStates`.
 */
export function isUnavailable(error: unknown): boolean {
  const { code = '', message = '' } = (error ?? {}) as { code?: string; message?: string }
  if (error instanceof pg.DatabaseError) return transientStates.test(code)
  return networkErrorCodes.has(code) || lostConnectionMessage.test(message)
}
