import { SettingsProblem } from './environment-settings.ts'

/** An error at the start of a process. The message says what is wrong and what to do. */
export class StartProblem extends Error {
  override readonly name: string = 'StartProblem'
}

/** Runs a process's main function. Prints errors that a user can fix as a sentence, and others with their stack. */
export async function main(callback: () => Promise<void>): Promise<void> {
  // A program that reads the output, such as `head`, may close it early. The process continues.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
  try {
    await callback()
  } catch (error) {
    process.stderr.write(`${startErrorMessage(error)}\n`)
    process.exit(1)
  }
}

// Error codes of PostgreSQL.
const cannotConnectNow = '57P03'
const invalidPassword = '28P01'
const invalidAuthorization = '28000'

/** Returns what to print for an error: a sentence if a user can fix it, otherwise its stack. */
function startErrorMessage(error: unknown): string {
  if (error instanceof SettingsProblem || error instanceof StartProblem) return error.message
  const { code, port, address, message } = error as NodeJS.ErrnoException & { port?: number; address?: string }
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} on ${address} is in use: stop what listens there, or choose another port.`
    case 'ENOSPC':
      return 'The disk is full: free some space and start again.'
    case 'ECONNREFUSED':
    case 'ENOTFOUND':
    case cannotConnectNow:
      return `The database cannot be reached (${message || code}): start it, or correct the address in the settings.`
    case invalidPassword:
    case invalidAuthorization:
      return `The database refuses the user or password: ${message}.`
    default:
      return error instanceof Error ? (error.stack ?? error.message) : String(error)
  }
}
