import { setTimeout as delay } from 'node:timers/promises'
import { type Program, type StartedProgram, startProgram } from './start-program.ts'
import { waitUntilReady } from './wait-until-ready.ts'

export type ServiceOptions = {
  name: string
  /** The folder in apps/ that contains the program. */
  app: string
  program: Program
  /** The address that returns 200 when the service is ready. */
  health: string
  /** Prints a line on the terminal. */
  printWarning: (line: string) => void
  /**
   * After an unexpected end, the service stays down until `restart` is called. Otherwise it starts again after a pause.
   */
  waitForRestart?: boolean
}

/** A service that is restarted when it ends. */
export type Service = {
  name: string
  app: string
  /** Resolves when it is ready for the first time. Throws UserError with its last output if it never gets ready. */
  ready: Promise<void>
  /**
   * Replaces the process by a new one. Returns whether the new one is ready; if not, `printWarning` has printed the
   * reason.
   */
  restart: () => Promise<boolean>
  /** Sends SIGTERM, and SIGKILL after 25 s. */
  stop: () => Promise<void>
}

const STOP_TIMEOUT_MS = 25_000
/** The developer waits for the restart, so running work is interrupted. The next worker takes it over. */
const RESTART_TIMEOUT_MS = 500
const FIRST_PAUSE_MS = 1_000
const MAX_PAUSE_MS = 30_000
/** A service that ran longer was healthy, so its next restart uses the first pause again. */
const HEALTHY_AFTER_MS = 60_000

/** Starts a service. A service that was ready once is started again whenever it ends, after 1, 2, 4 … 30 s. */
export const startService = (options: ServiceOptions): Service => {
  const stopping = new AbortController()
  let running = startProgram(options.program)
  let pausing = new AbortController()
  /** Present from a call of `restart` until the next process has started. */
  let next: PromiseWithResolvers<StartedProgram> | undefined

  const keepRunning = async (): Promise<void> => {
    for (let pause = FIRST_PAUSE_MS; !stopping.signal.aborted; ) {
      const since = Date.now()
      const reason = await running.ended
      if (!next && !stopping.signal.aborted) {
        if (Date.now() - since > HEALTHY_AFTER_MS) pause = FIRST_PAUSE_MS
        pausing = new AbortController()
        await pauseAfterEnd(options, running, reason, pause, AbortSignal.any([stopping.signal, pausing.signal]))
        pause = Math.min(pause * 2, MAX_PAUSE_MS)
      }
      if (stopping.signal.aborted) return
      running = startProgram(options.program)
      next?.resolve(running)
      next = undefined
    }
  }
  const ready = waitUntilReady(options, running, stopping.signal)
  const supervision = ready.then(keepRunning).catch(async () => {
    running.child.kill('SIGTERM')
    await running.ended
  })
  const restart = async (): Promise<boolean> => {
    next ??= Promise.withResolvers()
    const started = next.promise
    pausing.abort()
    const clearTimer = terminate(running, RESTART_TIMEOUT_MS)
    const current = await Promise.race([started, supervision])
    clearTimer()
    if (!current) return false
    try {
      await waitUntilReady(options, current, stopping.signal)
      return true
    } catch (error) {
      // pauseAfterEnd has reported a process that ended by itself.
      if (isAlive(current) && !stopping.signal.aborted) options.printWarning((error as Error).message)
      return false
    }
  }
  const stop = async (): Promise<void> => {
    stopping.abort()
    const clearTimer = terminate(running, STOP_TIMEOUT_MS, () =>
      options.printWarning(`${options.name} did not stop within ${STOP_TIMEOUT_MS / 1000} s and was killed.`),
    )
    await supervision
    clearTimer()
  }
  return { name: options.name, app: options.app, ready, restart, stop }
}

/** Sends SIGTERM now and SIGKILL after `milliseconds`. Returns a function that cancels the SIGKILL. */
const terminate = ({ child }: StartedProgram, milliseconds: number, onKill = (): void => {}): (() => void) => {
  child.kill('SIGTERM')
  const timer = setTimeout(() => {
    onKill()
    child.kill('SIGKILL')
  }, milliseconds)
  return () => clearTimeout(timer)
}

const isAlive = ({ child }: StartedProgram): boolean => child.exitCode === null && child.signalCode === null

/** Reports the end of a service. Waits until `signal` aborts, or for the pause before an automatic restart. */
const pauseAfterEnd = async (
  { name, program, printWarning, waitForRestart }: ServiceOptions,
  running: StartedProgram,
  reason = 'exit code 0',
  pause: number,
  signal: AbortSignal,
): Promise<void> => {
  const errorLines = running.lastErrorLines()
  if (waitForRestart) {
    printWarning(
      `${name} ended (${reason}) and starts again when a source is saved. Its log: ${program.log}\n${errorLines}`.trimEnd(),
    )
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    return
  }
  const lastLine = errorLines.split('\n').at(-1)?.slice(0, 200)
  printWarning(
    `${name} ended (${reason}${lastLine ? `: ${lastLine}` : ''}) and is restarted in ${pause / 1000} s. Its log: ${program.log}`,
  )
  await delay(pause, undefined, { signal }).catch(() => {})
}
