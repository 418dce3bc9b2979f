import pg from 'pg'

/** The constraint that a write violated, by its name in the migration. */
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

/** SQLSTATEs of transient errors: deadlocks, time-outs, and a server that is stopping or short of resources. */
const transientStates = /^(40001|40P01|55P03|57014|57P0[1235]|53\d\d\d|08\d\d\d)$/

/**
 * True if the error is transient: the connection was refused or lost, or the server is busy, starting, stopping or
 * short of resources.
 */
export function isUnavailable(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: string; message?: string }
  if (error instanceof pg.DatabaseError) return transientStates.test(code ?? '')
  return (
    [
      'ECONNREFUSED',
      'ECONNRESET',
      'EPIPE',
      'ETIMEDOUT',
      'ENOTFOUND',
      'EAI_AGAIN',
      'EHOSTUNREACH',
      'ENETUNREACH',
    ].includes(code ?? '') ||
    /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/.test(
      message ?? '',
    )
  )
}
