import type { RunnableKind } from '../runs/runnable-kinds.ts'

export type Channel = 'MAIL' | 'WEBHOOK'

/** The events that cause an alert. RECOVERED follows one of the others when a run succeeds again. */
export type AlertEvent = 'FAILED' | 'WARNING' | 'NO_SUCCESS' | 'RECOVERED'

/** The content of an alert. It contains no secrets, because the message of the run contains none. */
export interface AlertContent {
  /** Missing in rows from before migration 0030, which are all failures. */
  event?: AlertEvent
  client: string
  kind: RunnableKind
  /** The uid of the object, such as a pipeline. */
  id: string
  name: string
  /** The uid of the run; null if the object has never run. */
  run: string | null
  trigger: string
  errorCode: string | null
  message: string
  /** The end of the run or, for NO_SUCCESS, the time of the check, in ISO 8601. */
  finished: string
  /**
   * The number of runs with this outcome since the last alert about the object on the same channel, including this run.
   */
  failures: number
  /** Set in the last email within the organisation's limit: further emails are omitted until this time (ISO 8601). */
  leftOutUntil?: string
  /**
   * Set for NO_SUCCESS. `hours`: the configured number of hours without success. `lastSuccess`: the end of the last
   * successful run, in ISO 8601.
   */
  hours?: number
  lastSuccess?: string | null
}

/** The recipient name of alerts that go to the operator's webhook. */
export const operatorRecipient = 'operator'

const pathByKind: Readonly<Record<RunnableKind, string>> = {
  DATA_PIPELINE: 'data-pipelines',
  VIEW: 'views',
  DESTINATION: 'destinations',
  DATA_QUALITY_CHECK_GROUP: 'data-quality-check-groups',
  WORKFLOW: 'workflows',
}

/** Returns the API URL that lists the object's runs. A request to this URL needs a token. */
export const createRunsUrl = ({ kind, id }: Pick<AlertContent, 'kind' | 'id'>, publicUrl: string): string =>
  `${publicUrl}/api/v1/${pathByKind[kind]}/${id}/runs`

/** Returns a shell command that shows the log of a pipeline's run, or the runs of any other object. */
export function createLogCommand(alert: Pick<AlertContent, 'kind' | 'id' | 'run'>, publicUrl: string): string {
  const runs = createRunsUrl(alert, publicUrl)
  const withLog = alert.kind === 'DATA_PIPELINE' && alert.run !== null
  const url = withLog ? `${runs.slice(0, -'runs'.length)}logs?taskId=${alert.run}` : runs
  return `curl -H "Authorization: Bearer $TOKEN" '${url}'`
}
