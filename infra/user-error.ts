import pc from 'picocolors'

/**
 * A failure that the user can correct. The message is one sentence that says what is wrong and what to do, and is shown
 * without a stack trace.
 */
export class Refusal extends Error {
  override name = 'Refusal'
}

/**
 * Ends a command with exit code 1. Prints the message of a Refusal, and the stack trace of any other error, which is a
 * bug. If the cleanup after an error failed too, prints both errors, which a SuppressedError does not show.
 */
export const refuse = (error: unknown): void => {
  process.exitCode = 1
  if (error instanceof SuppressedError) {
    refuse(error.suppressed)
    return refuse(error.error)
  }
  const full = error instanceof Error && 'code' in error && error.code === 'ENOSPC'
  if (full) console.error(`${pc.red('✗')} The disk is full: free some space and start again.`)
  else if (error instanceof Refusal) console.error(`${pc.red('✗')} ${error.message}`)
  else console.error(error)
}
