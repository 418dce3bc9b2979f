import { sql } from 'kysely'
import { runTriggers, type Workflow } from '@sluice/contracts'
import { records, visibleTo } from '@sluice/records'
import type { Asked } from '../operation.ts'
import { recordedProperties } from '../recorded.ts'
import { presentWorkflows } from './present.ts'
import type { WorkflowRow } from './row.ts'

export const workflows = records<WorkflowRow, Workflow, Asked>({
  noun: 'workflow',
  table: 'workflows',
  path: '/workflows',
  properties: {
    ...recordedProperties,
    description: { type: 'string', column: 'r.description' },
    disabled: { type: 'boolean', column: 'r.disabled' },
    runTrigger: { type: 'enum', column: 'r.run_trigger', values: runTriggers },
    continuouslyUpdated: { type: 'boolean', column: 'r.continuously_updated' },
  },
  matches: (like) => sql`(r.name ilike ${like} or r.description ilike ${like})`,
  scope: visibleTo,
  present: presentWorkflows,
})
