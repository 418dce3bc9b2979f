import type { RunnableKind } from '../runs/runnable.ts'

export type Channel = 'MAIL' | 'WEBHOOK'

/** What an alert says: which thing failed, how, and when. Without secrets, since the run's own message has none. */
export interface AlertContent {
  client: string
  kind: RunnableKind
  /** Of what failed. */
  id: string
  name: string
  /** The run, by its uid. */
  run: string
  trigger: string
  errorCode: string | null
  message: string
  /** ISO 8601. */
  finished: string
  /** Runs of it that failed since the last letter about it, with this one. */
  failures: number
}

/** Where an alert of the operator's goes: what its row has instead of an address. */
export const toOperator = 'operator'
