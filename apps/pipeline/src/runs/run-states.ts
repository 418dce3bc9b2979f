import type { Selectable } from 'kysely'
import type { Runs } from '../database.ts'

/** The states of a run. Each lists the states that may follow it. */
const stateTransitions = {
  QUEUED: ['RUNNING', 'FAILED', 'CANCELLED'],
  // RUNNING is followed by RUNNING if another worker takes over, and by QUEUED if the run is requeued.
  RUNNING: ['RUNNING', 'QUEUED', 'OK', 'WARNING', 'FAILED', 'CANCELLED'],
  OK: [],
  WARNING: [],
  FAILED: [],
  // A cancelled run becomes OK or WARNING if the warehouse had committed before the cancellation, because the table
  // then has the new rows.
  CANCELLED: ['OK', 'WARNING'],
} as const satisfies Record<string, readonly string[]>

export type RunState = keyof typeof stateTransitions

export const runStates = Object.keys(stateTransitions) as RunState[]
export const underWay = ['QUEUED', 'RUNNING'] as const satisfies readonly RunState[]
export const successfulStates = ['OK', 'WARNING'] as const satisfies readonly RunState[]

/** Returns the states from which a run may change to `state`. */
export function statesThatMayBecome(state: RunState): RunState[] {
  return runStates.filter((from) => (stateTransitions[from] as readonly string[]).includes(state))
}

/** The row of a run that has ended, with any state. */
export type EndedRun = Selectable<Runs>
