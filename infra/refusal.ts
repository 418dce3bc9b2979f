import pc from 'picocolors'

/** A failure that a person can mend: its message is one sentence saying what is wrong and what to do; no stack is shown. */
export class Refusal extends Error {
  override name = 'Refusal'
}

/** Ends a command: a refusal as its sentence, anything else with its stack (that is a bug of ours). Exit code 1. */
export const refuse = (error: unknown): void => {
  process.exitCode = 1
  const full = error instanceof Error && 'code' in error && error.code === 'ENOSPC'
  if (full) console.error(`${pc.red('✗')} The disk is full: free some space and start again.`)
  else if (error instanceof Refusal) console.error(`${pc.red('✗')} ${error.message}`)
  else console.error(error)
}
