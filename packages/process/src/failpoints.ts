import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** The points at which tests can interrupt a worker, in the order in which a run reaches them. */
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

/** A test's action at a failpoint. */
export interface Trap {
  point: Failpoint
  /** exit: like kill -9. stop: like SIGSTOP, until SIGCONT. hang: the run stops there, but the process lives. */
  action: (typeof trapActions)[number]
  /**
   * The number of times, from 1, that the point must be reached before the action happens. Default: it happens every
   * time.
   */
  passage?: number
  /** The duration for `sleep`, in milliseconds. */
  milliseconds?: number
}

const trapsByFailpoint = new Map<Failpoint, Trap[]>()
const passageCounts = new Map<Failpoint, number>()

/** Sets the actions of failpoints. Only the worker calls it, with its setting FAILPOINTS. */
export function armFailpoints(armed: readonly Trap[]): void {
  for (const trap of armed) trapsByFailpoint.set(trap.point, [...(trapsByFailpoint.get(trap.point) ?? []), trap])
}

/** Executes the actions of a failpoint. If none are set, as in production, the cost is one lookup in an empty map. */
export function failpoint(point: Failpoint): Promise<void> | undefined {
  const traps = trapsByFailpoint.get(point)
  return traps && executeTraps(point, traps)
}

/**
 * Executes the actions of a point, in order. An action for the nth passage happens only when the process reaches the
 * point for the nth time.
 */
async function executeTraps(point: Failpoint, traps: readonly Trap[]): Promise<void> {
  const passage = (passageCounts.get(point) ?? 0) + 1
  passageCounts.set(point, passage)
  const dueTraps = traps.filter((trap) => trap.passage === undefined || trap.passage === passage)
  for (const trap of dueTraps) await executeTrap(trap)
}

async function executeTrap({ point, action, milliseconds }: Trap): Promise<void> {
  // Writes synchronously without the logger, because the process may end before the next turn of its event loop.
  if (action !== 'sleep') writeSync(1, `failpoint ${point}: ${action}\n`)
  const waitForever = () => new Promise<void>(() => {})
  switch (action) {
    case 'sleep':
      return sleep(milliseconds)
    case 'exit':
      process.kill(process.pid, 'SIGKILL')
      return waitForever()
    case 'stop':
      process.kill(process.pid, 'SIGSTOP')
      return
    case 'throw':
      throw new Error(`failpoint ${point}`)
    case 'hang':
      return waitForever()
  }
}

/**
 * Parses a setting such as `in-copy:exit@3, before-swap:sleep:500`: the point, the action, the milliseconds for
 * `sleep`, and after @ the number of the passage. Throws an error with a clause that completes a sentence.
 */
export function parseFailpoints(text: string): Trap[] {
  return text.split(',').map(parseTrap)
}

function parseTrap(entry: string): Trap {
  const [, pointName, actionName, milliseconds, passage] =
    /^\s*([\w-]+):([a-z]+)(?::(\d+))?(?:@(\d+))?\s*$/.exec(entry) ?? []
  const point = failpointNames.find((name) => name === pointName)
  const action = trapActions.find((name) => name === actionName)
  // Only `sleep` accepts milliseconds, and it requires them.
  const hasRightDuration = (action === 'sleep') === (milliseconds !== undefined)
  if (!point || !action || !hasRightDuration) throw new Error(`has "${entry.trim()}", which is not a failpoint`)
  return {
    point,
    action,
    ...(milliseconds && { milliseconds: Number(milliseconds) }),
    ...(passage && { passage: Number(passage) }),
  }
}
