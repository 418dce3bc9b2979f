import { setTimeout as delay } from 'node:timers/promises'
import { UserError } from '../user-error.ts'
import type { Program, StartedProgram } from './start-program.ts'

const READY_TIMEOUT_MS = 60_000

/** A service that gets ready: its name for messages, its program, and the address that then returns 200. */
type Target = { name: string; program: Program; health: string }

/**
 * Resolves when the health address returns 200. Throws UserError with the last output of the program if it ends first.
 */
export const waitUntilReady = async (
  { name, program, health }: Target,
  running: StartedProgram,
  stopping: AbortSignal,
): Promise<void> => {
  let failure: string | undefined
  void running.ended.then((reason) => (failure = reason ?? 'exit code 0'))
  let lastResponse = 'nothing'
  for (const deadline = Date.now() + READY_TIMEOUT_MS; Date.now() < deadline; await delay(40)) {
    if (stopping.aborted) throw new UserError(`${name} was stopped.`)
    if (failure)
      throw new UserError(`${name} could not start (${failure}):\n${running.lastErrorLines() || `see ${program.log}`}`)
    const response = await fetch(health, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined)
    if (response?.ok) return
    if (response) lastResponse = `${response.status} ${(await response.text().catch(() => '')).slice(0, 300)}`
  }
  throw new UserError(
    `${name} was not ready within ${READY_TIMEOUT_MS / 1000} s; ${health} returned ${lastResponse}; its log: ${program.log}`,
  )
}
