import { setTimeout as delay } from 'node:timers/promises'
import { UserError } from '../user-error.ts'
import type { Program, StartedProgram } from './start-program.ts'

const READY_WITHIN = 60_000

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
  let end: string | undefined
  void running.ended.then((how) => (end = how ?? 'it ended by itself'))
  let answered = 'nothing'
  for (const deadline = Date.now() + READY_WITHIN; Date.now() < deadline; await delay(40)) {
    if (stopping.aborted) throw new UserError(`${name} was stopped.`)
    if (end) throw new UserError(`${name} could not start (${end}):\n${running.lastErrorLines() || `see ${program.log}`}`)
    const answer = await fetch(health, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined)
    if (answer?.ok) return
    if (answer) answered = `${answer.status} ${(await answer.text().catch(() => '')).slice(0, 300)}`
  }
  throw new UserError(
    `${name} was not ready within ${READY_WITHIN / 1000} s; ${health} answers ${answered}; its log: ${program.log}`,
  )
}
