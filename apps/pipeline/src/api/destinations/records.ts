import { sql } from 'kysely'
import { type Destination, destinationTypes, runTriggers } from '@sluice/contracts'
import { records, visibleTo } from '@sluice/records'
import type { Asked } from '../operation.ts'
import { recordedProperties } from '../recorded.ts'
import { presentDestinations } from './present.ts'
import type { DestinationRow } from './row.ts'

export const destinations = records<DestinationRow, Destination, Asked>({
  noun: 'destination',
  table: 'destinations',
  path: '/destinations',
  properties: {
    ...recordedProperties,
    description: { type: 'string', column: 'r.description' },
    type: { type: 'enum', column: 'r.type', values: destinationTypes },
    disabled: { type: 'boolean', column: 'r.disabled' },
    runTrigger: { type: 'enum', column: 'r.run_trigger', values: runTriggers },
  },
  matches: (like) => sql`(r.name ilike ${like} or r.description ilike ${like})`,
  scope: visibleTo,
  present: presentDestinations,
})
