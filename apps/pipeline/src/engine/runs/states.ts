import type { Selectable } from 'kysely'
import type { Runs } from '../../database.ts'

/** Every state that a run can be in, and where it may go from there. */
const transitions = {
  QUEUED: ['RUNNING', 'FAILED', 'CANCELLED'],
  // To RUNNING again when a worker takes over from one that died; to QUEUED when it is given back.
  RUNNING: ['RUNNING', 'QUEUED', 'OK', 'WARNING', 'FAILED', 'CANCELLED'],
  OK: [],
  WARNING: [],
  FAILED: [],
  // The warehouse committed a moment before the cancellation: what the table holds is the truth.
  CANCELLED: ['OK', 'WARNING'],
} as const satisfies Record<string, readonly string[]>

export type RunState = keyof typeof transitions

export const underWay = ['QUEUED', 'RUNNING'] as const satisfies readonly RunState[]
export const successful = ['OK', 'WARNING'] as const satisfies readonly RunState[]

/** The states from which a run may become `state`. */
export function before(state: RunState): RunState[] {
  const states = Object.keys(transitions) as RunState[]
  return states.filter((from) => (transitions[from] as readonly string[]).includes(state))
}

/** The row of a run that has ended, for any reason. */
export type EndedRun = Selectable<Runs>
