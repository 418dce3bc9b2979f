import { sql, type Selectable } from 'kysely'
import type { DataQualityCheckGroup } from '@sluice/contracts'
import { records, visibleTo, type Refined } from '@sluice/records'
import type { DataQualityCheckGroups } from '../../database.ts'
import { authorsOf } from '../authors.ts'
import { labelledFields, type LabelledColumns } from '../data-quality/labelled.ts'
import type { Asked } from '../operation.ts'
import { recordedProperties } from '../recorded.ts'
import { checksOfGroups } from './checks-of-groups.ts'

export type GroupRow = Refined<Selectable<DataQualityCheckGroups>, LabelledColumns>

export const dataQualityCheckGroups = records<GroupRow, DataQualityCheckGroup, Asked>({
  noun: 'data quality check group',
  table: 'data_quality_check_groups',
  path: '/data-quality-check-groups',
  properties: {
    ...recordedProperties,
    shortName: { type: 'string', column: 'r.short_name' },
    description: { type: 'string', column: 'r.description' },
  },
  matches: (like) => sql`(r.name ilike ${like} or r.short_name ilike ${like} or r.description ilike ${like})`,
  scope: visibleTo,
  present: presentGroups,
})

async function presentGroups(rows: GroupRow[], context: Asked): Promise<DataQualityCheckGroup[]> {
  const [authors, checks] = await Promise.all([authorsOf(rows, context.identity), checksOfGroups(rows, context)])
  return rows.map((row) => ({
    ...labelledFields(row, context.request.locales),
    ...authors(row),
    dataQualityChecks: checks.get(row.id) ?? [],
  }))
}
