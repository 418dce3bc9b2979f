import { UserError } from '../user-error.ts'
import { type Program, startProgram } from './start-program.ts'

/**
 * Runs a program until it ends, or until `stopped` aborts. Returns its standard output. Throws UserError with its last
 * output.
 */
export const runOnce = async (name: string, program: Program, stopped: AbortSignal): Promise<string> => {
  stopped.throwIfAborted()
  const { child, ended, output, lastErrorLines } = startProgram(program, true)
  const end = (): void => void child.kill('SIGTERM')
  stopped.addEventListener('abort', end)
  const failure = await ended
  stopped.removeEventListener('abort', end)
  if (failure) throw new UserError(`${name} failed (${failure}):\n${lastErrorLines() || `see ${program.log}`}`)
  return output()
}
