import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** The points at which tests can interrupt a worker, in the order in which a run passes them. */
export const failpointNames = [
  'schedule-planned',
  'schedule-locked',
  'schedule-started',
  'schedule-committed',
  'claimed',
  'staging-made',
  'reading',
  'in-copy',
  'copied',
  'rows-staged',
  'at-gate',
  'before-swap',
  'in-publication',
  'published',
  'view-made',
  'view-filled',
  'before-status',
  'workflow-advanced',
  'status-written',
  'giving-back',
  'lost',
] as const

export type Failpoint = (typeof failpointNames)[number]

const trapActions = ['exit', 'stop', 'hang', 'throw', 'sleep'] as const

/** An action at a failpoint. */
export interface Trap {
  point: Failpoint
  /** exit: like kill -9. stop: like SIGSTOP, until SIGCONT. hang: the run stops there, but the process lives. */
  action: (typeof trapActions)[number]
  /** The passage of the point at which the action happens, from 1. Without it, the action happens at every passage. */
  passage?: number
  /** Duration of `sleep`. */
  milliseconds?: number
}

const trapsByFailpoint = new Map<Failpoint, Trap[]>()
const passageCounts = new Map<Failpoint, number>()

/** Sets the actions of failpoints. Only the worker's program calls this, with its setting FAILPOINTS. */
export function armFailpoints(armed: readonly Trap[]): void {
  for (const trap of armed) trapsByFailpoint.set(trap.point, [...(trapsByFailpoint.get(trap.point) ?? []), trap])
}

/** Executes the actions of a failpoint, if there are any. Without actions it costs one lookup in an empty map. */
export function failpoint(point: Failpoint): Promise<void> | undefined {
  const traps = trapsByFailpoint.get(point)
  return traps && executeTraps(point, traps)
}

async function executeTraps(point: Failpoint, traps: readonly Trap[]): Promise<void> {
  const passage = (passageCounts.get(point) ?? 0) + 1
  passageCounts.set(point, passage)
  for (const trap of traps) {
    if (trap.passage !== undefined && trap.passage !== passage) continue
    if (trap.action === 'sleep') {
      await sleep(trap.milliseconds)
      continue
    }
    // Write synchronously without the logger, because the process may end before the next turn of its event loop.
    writeSync(1, `failpoint ${point}: ${trap.action}\n`)
    if (trap.action === 'exit') process.kill(process.pid, 'SIGKILL')
    if (trap.action === 'stop') process.kill(process.pid, 'SIGSTOP')
    if (trap.action === 'throw') throw new Error(`failpoint ${point}`)
    if (trap.action === 'exit' || trap.action === 'hang') await new Promise(() => {})
  }
}

/**
 * Parses a setting such as `in-copy:exit@3, before-swap:sleep:500`: point, action, the milliseconds of sleep, and the passage
 * after @. Throws an error with the rest of a sentence.
 */
export function parseFailpoints(text: string): Trap[] {
  return text.split(',').map((entry) => {
    const [, point, action, milliseconds, passage] = /^\s*([\w-]+):([a-z]+)(?::(\d+))?(?:@(\d+))?\s*$/.exec(entry) ?? []
    const trap = {
      point: failpointNames.find((name) => name === point),
      action: trapActions.find((name) => name === action),
    }
    // Only `sleep` takes milliseconds, and it needs them.
    const hasRightDuration = (trap.action === 'sleep') === (milliseconds !== undefined)
    if (!trap.point || !trap.action || !hasRightDuration)
      throw new Error(`has "${entry.trim()}", which is not a failpoint`)
    return {
      ...(trap as Pick<Trap, 'point' | 'action'>),
      ...(milliseconds && { milliseconds: Number(milliseconds) }),
      ...(passage && { passage: Number(passage) }),
    }
  })
}
