import pg from 'pg'

/** Which rule of the database a write broke, by the name that its migration gave the constraint. */
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

/** Undefined for anything that is not a broken constraint. */
export function brokenConstraint(error: unknown): BrokenConstraint | undefined {
  if (!(error instanceof pg.DatabaseError)) return undefined
  const kind = constraintKinds[error.code ?? '']
  return kind && { kind, constraint: error.constraint ?? error.column ?? '' }
}

/** SQLSTATEs after which the same may work in a moment: deadlocks, waits that took too long, a server short of something or stopping. */
const transientStates = /^(40001|40P01|55P03|57014|57P0[1235]|53\d\d\d|08\d\d\d)$/

/** Connection refused or lost, or the server busy, starting, stopping or out of something: trying again later may help. */
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
