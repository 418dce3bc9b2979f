import { randomBytes } from 'node:crypto'
import type { Role } from '@sluice/contracts'
import { pipelineBody, schemaBody } from './app-under-test.ts'
import { checkBody, groupBody } from './quality-check-bodies.ts'
import { viewBody } from './view-fixtures.ts'
import { workflowBody } from './workflow-body.ts'

/** What bodies refer to; everybody of the client may read and change it. */
export interface Open {
  schema: string
  view: string
}

const destinationBody = ({ view }: Open) => ({
  name: `Destination ${randomBytes(6).toString('hex')}`,
  disabled: false,
  runTrigger: 'NEVER',
  viewSource: { id: view },
  apiTokenTarget: { url: 'https://dhis2.example.org', authToken: 'd2pat_not_very_secret' },
})

/**
 * The kinds of objects that users share, each with its path, the role that manages it, and a body with a unique name.
 */
export const sharedResources: readonly [path: string, manage: Role, body: (open: Open) => object][] = [
  ['schemas', 'ROLE_MANAGE_SCHEMA', () => schemaBody()],
  ['views', 'ROLE_MANAGE_VIEW', ({ schema }) => viewBody(schema, 'select 1 as one')],
  ['data-pipelines', 'ROLE_MANAGE_DATA_PIPELINE', ({ schema }) => pipelineBody(schema)],
  ['data-quality-checks', 'ROLE_MANAGE_DATA_QUALITY_CHECK', () => checkBody()],
  ['data-quality-check-groups', 'ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP', () => groupBody()],
  ['destinations', 'ROLE_MANAGE_DESTINATION', destinationBody],
  ['workflows', 'ROLE_MANAGE_WORKFLOW', () => workflowBody([])],
]
