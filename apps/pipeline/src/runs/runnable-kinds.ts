import type { runnableKinds } from '@sluice/contracts'

/**
 * The kinds of objects that have runs. Each object has a row in `runnables` with the same id and uid as in its own
 * table.
 */
export type RunnableKind = (typeof runnableKinds)[number]

export const nounOf: Readonly<Record<RunnableKind, string>> = {
  DATA_PIPELINE: 'pipeline',
  VIEW: 'view',
  DESTINATION: 'destination',
  DATA_QUALITY_CHECK_GROUP: 'check group',
  WORKFLOW: 'workflow',
}

export type RunMode = 'FULL' | 'INCREMENTAL'

/** The action of a run. Only data pipelines have actions other than RUN. */
export type RunAction = 'RUN' | 'DRY_RUN' | 'RESTORE'
