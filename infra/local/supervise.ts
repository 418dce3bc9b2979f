import { setTimeout as delay } from 'node:timers/promises'
import { Refusal } from '../refusal.ts'
import { type Program, type Running, startProgram } from './program.ts'

export type ServiceOptions = {
  name: string
  program: Program
  /** Address that answers 200 when it is ready. */
  health: string
  /** Tells the person at the terminal. */
  say: (line: string) => void
}

/** A service that is kept running. */
export type Service = {
  /** Settles when it is ready for the first time; throws Refusal with what it printed last when it does not get there. */
  ready: Promise<void>
  /** SIGTERM, and SIGKILL when that did not help within 25 s. */
  stop: () => Promise<void>
}

const READY_WITHIN = 60_000
const STOP_WITHIN = 25_000
const LONGEST_PAUSE = 30_000
/** A service that ran this long was fine: the pauses between its starts begin short again. */
const FINE_AFTER = 60_000

/** Starts a service. One that was ready once is started again whenever it ends, after 1, 2, 4 … 30 s. */
export const startService = (options: ServiceOptions): Service => {
  const stopping = new AbortController()
  let running = startProgram(options.program)
  const ready = untilReady(options, running, stopping.signal)
  const life = ready
    .then(() =>
      keepRunning(
        options,
        () => running,
        (next) => (running = next),
        stopping.signal,
      ),
    )
    .catch(() => {
      running.child.kill('SIGTERM')
      return running.ended
    })
  const stop = async (): Promise<void> => {
    stopping.abort()
    running.child.kill('SIGTERM')
    const hard = setTimeout(() => {
      options.say(`${options.name} did not finish within ${STOP_WITHIN / 1000} s and is ended.`)
      running.child.kill('SIGKILL')
    }, STOP_WITHIN)
    await life
    clearTimeout(hard)
  }
  return { ready, stop }
}

const untilReady = async (
  { name, program, health }: ServiceOptions,
  running: Running,
  stopping: AbortSignal,
): Promise<void> => {
  let end: string | undefined
  void running.ended.then((how) => (end = how ?? 'it ended by itself'))
  let said = 'nothing'
  for (const patience = Date.now() + READY_WITHIN; Date.now() < patience; await delay(40)) {
    if (stopping.aborted) throw new Refusal(`${name} was stopped.`)
    if (end) throw new Refusal(`${name} could not start (${end}):\n${running.lastWords() || `see ${program.log}`}`)
    const answer = await fetch(health, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined)
    if (answer?.ok) return
    if (answer) said = `${answer.status} ${(await answer.text().catch(() => '')).slice(0, 300)}`
  }
  throw new Refusal(
    `${name} was not ready within ${READY_WITHIN / 1000} s; ${health} answers ${said}; its log: ${program.log}`,
  )
}

const keepRunning = async (
  { name, program, say }: ServiceOptions,
  current: () => Running,
  replace: (next: Running) => void,
  stopping: AbortSignal,
): Promise<void> => {
  for (let pause = 1_000; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
    const since = Date.now()
    const how = (await current().ended) ?? 'exit code 0'
    if (stopping.aborted) return
    if (Date.now() - since > FINE_AFTER) pause = 1_000
    const why = current().lastWords().split('\n').at(-1)?.slice(0, 200)
    say(
      `${name} ended (${how}${why ? `: ${why}` : ''}) and is started again in ${pause / 1000} s. Its log: ${program.log}`,
    )
    await delay(pause, undefined, { signal: stopping }).catch(() => {})
    if (stopping.aborted) return
    replace(startProgram(program))
  }
}
