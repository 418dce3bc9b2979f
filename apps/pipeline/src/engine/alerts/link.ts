import type { RunnableKind } from '../runs/runnable.ts'
import type { AlertContent } from './alert.ts'

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
