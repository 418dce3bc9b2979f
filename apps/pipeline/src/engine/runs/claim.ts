import type { RunAction, RunMode, RunnableKind } from './runnable.ts'

/** A run in the hands of a worker. `attempt` fences every change: one that changes no row has lost the run to another. */
export interface Claim {
  id: number
  uid: string
  client: string
  requestedAt: Date
  attempt: number
  /** Which try this is, from 1: the attempts without those that were handed back unfinished. */
  tries: number
  mode: RunMode
  action: RunAction
  /** As it was when the run was asked for. */
  input: unknown
  /** Counted by an earlier attempt, if there was one. */
  rowsRejected: number
  /** What is run. */
  subject: { id: number; uid: string; kind: RunnableKind; name: string }
}

/** How often a run is tried before it fails. An attempt beyond that only looks whether one of them published it. */
export const mostTries = 5
