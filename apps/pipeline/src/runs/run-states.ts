import type { Selectable } from 'kysely'
import type { Runs } from '../database.ts'

/** The states of a run, with the states that may follow each. */
const stateTransitions = {
  QUEUED: ['RUNNING', 'FAILED', 'CANCELLED'],
  // RUNNING again when another worker takes over; QUEUED when the run is requeued.
  RUNNING: ['RUNNING', 'QUEUED', 'OK', 'WARNING', 'FAILED', 'CANCELLED'],
  OK: [],
  WARNING: [],
  FAILED: [],
  // The warehouse committed before the cancellation, so the table has the new rows.
  CANCELLED: ['OK', 'WARNING'],
} as const satisfies Record<string, readonly string[]>

export type RunState = keyof typeof stateTransitions

export const runStates = Object.keys(stateTransitions) as RunState[]
export const underWay = ['QUEUED', 'RUNNING'] as const satisfies readonly RunState[]
export const successfulStates = ['OK', 'WARNING'] as const satisfies readonly RunState[]

/** Returns the states from which a run may change to `state`. */
export function statesBefore(state: RunState): RunState[] {
  return runStates.filter((from) => (stateTransitions[from] as readonly string[]).includes(state))
}

/** The row of a run that has ended, for any reason. */
export type EndedRun = Selectable<Runs>
