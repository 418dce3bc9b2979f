import { sql } from 'kysely'
import { type Destination, destinationTypes, runTriggers } from '@sluice/contracts'
import { records, visibleTo } from '@sluice/records'
import type { Asked } from '../operation.ts'
import { presentDestinations } from './present.ts'
import type { DestinationRow } from './row.ts'

export const destinations = records<DestinationRow, Destination, Asked>({
  noun: 'destination',
  table: 'destinations',
  path: '/destinations',
  properties: {
    id: { type: 'uid', column: 'r.uid' },
    name: { type: 'string', column: 'r.name' },
    description: { type: 'string', column: 'r.description' },
    type: { type: 'enum', column: 'r.type', values: destinationTypes },
    disabled: { type: 'boolean', column: 'r.disabled' },
    runTrigger: { type: 'enum', column: 'r.run_trigger', values: runTriggers },
    created: { type: 'date-time', column: 'r.created_at' },
    lastUpdated: { type: 'date-time', column: 'r.updated_at' },
  },
  matches: (like) => sql`(r.name ilike ${like} or r.description ilike ${like})`,
  scope: visibleTo,
  present: presentDestinations,
})
