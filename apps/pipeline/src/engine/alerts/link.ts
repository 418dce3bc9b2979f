import type { RunnableKind } from '../runs/runnable.ts'
import type { AlertContent } from './alert.ts'

const paths: Readonly<Record<RunnableKind, string>> = {
  DATA_PIPELINE: 'data-pipelines',
  VIEW: 'views',
  DESTINATION: 'destinations',
  DATA_QUALITY_CHECK_GROUP: 'data-quality-check-groups',
  WORKFLOW: 'workflows',
}

/** Where the runs of what failed are read. */
export const linkTo = ({ kind, id }: Pick<AlertContent, 'kind' | 'id'>, publicUrl: string): string =>
  `${publicUrl}/api/v1/${paths[kind]}/${id}/runs`
