import { runTriggers, type View } from '@sluice/contracts'
import { records, visibleTo } from '@sluice/records'
import { sql } from 'kysely'
import type { Asked } from '../operation.ts'
import { recordedProperties, tagsColumn } from '../recorded.ts'
import { presentViews } from './present.ts'
import type { ViewRow } from './row.ts'

export const views = records<ViewRow, View, Asked>({
  noun: 'view',
  table: 'views',
  path: '/views',
  properties: {
    ...recordedProperties,
    description: { type: 'string', column: 'r.description' },
    tags: { type: 'strings', column: tagsColumn },
    dataWarehouseViewName: { type: 'string', column: 'r.view_name' },
    materialized: { type: 'boolean', column: 'r.materialized' },
    disabled: { type: 'boolean', column: 'r.disabled' },
    runTrigger: { type: 'enum', column: 'r.run_trigger', values: runTriggers },
  },
  matches: (like) => sql`(r.name ilike ${like} or r.view_name ilike ${like} or r.description ilike ${like})`,
  scope: visibleTo,
  present: presentViews,
})
