/** What can be run: each has a row in `runnables`, under the id and uid that it has in its own table. */
export const runnableKinds = ['DATA_PIPELINE', 'VIEW', 'DESTINATION', 'DATA_QUALITY_CHECK_GROUP', 'WORKFLOW'] as const

export type RunnableKind = (typeof runnableKinds)[number]

/** As people call it in a sentence. */
export const nounOf: Readonly<Record<RunnableKind, string>> = {
  DATA_PIPELINE: 'pipeline',
  VIEW: 'view',
  DESTINATION: 'destination',
  DATA_QUALITY_CHECK_GROUP: 'check group',
  WORKFLOW: 'workflow',
}

export type RunMode = 'FULL' | 'INCREMENTAL'

/** What a run does. Only data pipelines have others than RUN. */
export type RunAction = 'RUN' | 'DRY_RUN' | 'RESTORE'
