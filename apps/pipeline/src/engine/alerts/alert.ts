import type { RunnableKind } from '../runs/runnable.ts'

export type Channel = 'MAIL' | 'WEBHOOK'

/** What an alert is about. RECOVERED follows one of the others, when a run ends well again. */
export type AlertEvent = 'FAILED' | 'WARNING' | 'NO_SUCCESS' | 'RECOVERED'

/** What an alert says: which thing, how it ran, and when. Without secrets, since the run's own message has none. */
export interface AlertContent {
  /** Rows that were written by versions before 0030 have none, and are about failures. */
  event?: AlertEvent
  client: string
  kind: RunnableKind
  /** Of the thing. */
  id: string
  name: string
  /** The run, by its uid. Null: it was never run. */
  run: string | null
  trigger: string
  errorCode: string | null
  message: string
  /** When the run ended, or when it was found that there was no success for too long; ISO 8601. */
  finished: string
  /** Number of runs with this outcome since the last alert about the object on the same channel, including this run. */
  failures: number
  /** Set in the last mail before the client's limit: further mails are suppressed until this time, ISO 8601. */
  leftOutUntil?: string
  /** Of NO_SUCCESS: the hours that were asked for, and the end of the last successful run, ISO 8601. */
  hours?: number
  lastSuccess?: string | null
}

/** Where an alert of the operator's goes: what its row has instead of an address. */
export const toOperator = 'operator'

const paths: Readonly<Record<RunnableKind, string>> = {
  DATA_PIPELINE: 'data-pipelines',
  VIEW: 'views',
  DESTINATION: 'destinations',
  DATA_QUALITY_CHECK_GROUP: 'data-quality-check-groups',
  WORKFLOW: 'workflows',
}

/** Where programs read the runs of the thing: the address takes a token. */
export const linkTo = ({ kind, id }: Pick<AlertContent, 'kind' | 'id'>, publicUrl: string): string =>
  `${publicUrl}/api/v1/${paths[kind]}/${id}/runs`

/** A command for a shell that shows more: the log of a pipeline's run, of other things their runs. */
export function commandFor(alert: Pick<AlertContent, 'kind' | 'id' | 'run'>, publicUrl: string): string {
  const runs = linkTo(alert, publicUrl)
  const withLog = alert.kind === 'DATA_PIPELINE' && alert.run !== null
  const url = withLog ? `${runs.slice(0, -'runs'.length)}logs?taskId=${alert.run}` : runs
  return `curl -H "Authorization: Bearer $TOKEN" '${url}'`
}
