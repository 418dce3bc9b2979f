import pc from 'picocolors'

/**
 * A failure that the user can correct. The message says what is wrong and what to do, and is shown without a stack
 * trace.
 */
export class UserError extends Error {
  override name = 'UserError'
}

/**
 * Ends a command with exit code 1. Prints the message of a UserError, and the stack trace of any other error, which is
 * a bug. If the cleanup after an error failed too, prints both errors, which a SuppressedError does not show.
 */
export const reportFailure = (error: unknown): void => {
  process.exitCode = 1
  if (error instanceof SuppressedError) {
    reportFailure(error.suppressed)
    return reportFailure(error.error)
  }
  const full = error instanceof Error && 'code' in error && error.code === 'ENOSPC'
  if (full) console.error(`${pc.red('✗')} The disk is full. Free some space and start again.`)
  else if (error instanceof UserError) console.error(`${pc.red('✗')} ${error.message}`)
  else console.error(error)
}
