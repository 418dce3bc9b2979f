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
  say: (line: string) => void
  /**
   * After an unexpected end, the service stays down until `restart` is called. Otherwise it starts again after a pause.
   */
  waitForRestart?: boolean
}

/** A service that is kept running. */
export type Service = {
  name: string
  app: string
  /** Resolves when it is ready for the first time. Throws UserError with its last output if it never gets ready. */
  ready: Promise<void>
  /** Replaces the process by a new one. Returns whether the new one is ready; if not, `say` has printed the reason. */
  restart: () => Promise<boolean>
  /** Sends SIGTERM, and SIGKILL after 25 s. */
  stop: () => Promise<void>
}

const STOP_WITHIN = 25_000
/** Milliseconds. A developer waits for the restart: running work is interrupted, and the next worker takes it over. */
const RESTART_KILLS_AFTER = 500
const FIRST_PAUSE = 1_000
const LONGEST_PAUSE = 30_000
/** Milliseconds. A service that ran longer was healthy, so the pauses between its starts are short again. */
const FINE_AFTER = 60_000

/** Starts a service. A service that was ready once is started again whenever it ends, after 1, 2, 4 … 30 s. */
export const startService = (options: ServiceOptions): Service => {
  const stopping = new AbortController()
  let running = startProgram(options.program)
  let pausing = new AbortController()
  /** Present from a call of `restart` until the next process has started. */
  let next: PromiseWithResolvers<StartedProgram> | undefined

  const keepRunning = async (): Promise<void> => {
    for (let pause = FIRST_PAUSE; !stopping.signal.aborted; ) {
      const since = Date.now()
      const how = await running.ended
      if (!next && !stopping.signal.aborted) {
        if (Date.now() - since > FINE_AFTER) pause = FIRST_PAUSE
        pausing = new AbortController()
        await pauseAfterEnd(options, running, how, pause, AbortSignal.any([stopping.signal, pausing.signal]))
        pause = Math.min(pause * 2, LONGEST_PAUSE)
      }
      if (stopping.signal.aborted) return
      running = startProgram(options.program)
      next?.resolve(running)
      next = undefined
    }
  }
  const ready = waitUntilReady(options, running, stopping.signal)
  const life = ready.then(keepRunning).catch(async () => {
    running.child.kill('SIGTERM')
    await running.ended
  })
  const restart = async (): Promise<boolean> => {
    next ??= Promise.withResolvers()
    const started = next.promise
    pausing.abort()
    const clearTimer = terminate(running, RESTART_KILLS_AFTER)
    const current = await Promise.race([started, life])
    clearTimer()
    if (!current) return false
    try {
      await waitUntilReady(options, current, stopping.signal)
      return true
    } catch (error) {
      // pauseAfterEnd has reported a process that ended by itself.
      if (isAlive(current) && !stopping.signal.aborted) options.say((error as Error).message)
      return false
    }
  }
  const stop = async (): Promise<void> => {
    stopping.abort()
    const clearTimer = terminate(running, STOP_WITHIN, () =>
      options.say(`${options.name} did not finish within ${STOP_WITHIN / 1000} s and is ended.`),
    )
    await life
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
  { name, program, say, waitForRestart }: ServiceOptions,
  running: StartedProgram,
  how = 'exit code 0',
  pause: number,
  signal: AbortSignal,
): Promise<void> => {
  const words = running.lastErrorLines()
  if (waitForRestart) {
    say(`${name} ended (${how}) and starts again when a source is saved. Its log: ${program.log}\n${words}`.trimEnd())
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    return
  }
  const why = words.split('\n').at(-1)?.slice(0, 200)
  say(
    `${name} ended (${how}${why ? `: ${why}` : ''}) and is started again in ${pause / 1000} s. Its log: ${program.log}`,
  )
  await delay(pause, undefined, { signal }).catch(() => {})
}
