import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** The moments at which a test may break into a worker, in the order in which a run comes by them. */
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

const actions = ['exit', 'stop', 'hang', 'throw', 'sleep'] as const

/** What happens at a point, and at which passage of it, from 1; at every one of them where that is not said. */
export interface Trap {
  point: Failpoint
  /** exit: as kill -9. stop: as SIGSTOP, until SIGCONT. hang: this run goes no further, the process lives. */
  action: (typeof actions)[number]
  passage?: number
  /** How long to sleep. */
  milliseconds?: number
}

const traps = new Map<Failpoint, Trap[]>()
const passages = new Map<Failpoint, number>()

/** Only the worker's program calls this, with what its settings say; where nothing does, every failpoint is nothing. */
export function armFailpoints(given: readonly Trap[]): void {
  for (const trap of given) traps.set(trap.point, [...(traps.get(trap.point) ?? []), trap])
}

/** A place where a test may have this worker die, stop, hang, fail or dawdle. Costs one look into an empty map otherwise. */
export function failpoint(point: Failpoint): Promise<void> | undefined {
  const set = traps.get(point)
  return set && spring(point, set)
}

async function spring(point: Failpoint, set: readonly Trap[]): Promise<void> {
  const passage = (passages.get(point) ?? 0) + 1
  passages.set(point, passage)
  for (const trap of set) {
    if (trap.passage !== undefined && trap.passage !== passage) continue
    if (trap.action === 'sleep') {
      await sleep(trap.milliseconds)
      continue
    }
    // At once, past the logger: the process may not live to the next turn of its loop.
    writeSync(1, `failpoint ${point}: ${trap.action}\n`)
    if (trap.action === 'exit') process.kill(process.pid, 'SIGKILL')
    if (trap.action === 'stop') process.kill(process.pid, 'SIGSTOP')
    if (trap.action === 'throw') throw new Error(`failpoint ${point}`)
    if (trap.action === 'exit' || trap.action === 'hang') await new Promise(() => {})
  }
}

/**
 * Traps as a setting spells them: `in-copy:exit@3, before-swap:sleep:500`, which is point, action, milliseconds for
 * sleep, and after @ the passage. Throws a few words on what is wrong.
 */
export function parseFailpoints(text: string): Trap[] {
  return text.split(',').map((one) => {
    const [, point, action, milliseconds, passage] = /^\s*([\w-]+):([a-z]+)(?::(\d+))?(?:@(\d+))?\s*$/.exec(one) ?? []
    const trap = {
      point: failpointNames.find((name) => name === point),
      action: actions.find((name) => name === action),
    }
    if (!trap.point || !trap.action || (trap.action === 'sleep') !== (milliseconds !== undefined))
      throw new Error(`has "${one.trim()}", which is no failpoint`)
    return {
      ...(trap as Pick<Trap, 'point' | 'action'>),
      ...(milliseconds && { milliseconds: Number(milliseconds) }),
      ...(passage && { passage: Number(passage) }),
    }
  })
}
