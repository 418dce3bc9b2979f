import { sql, type Selectable } from 'kysely'
import { type DataQualityCheck, pipelineOperations } from '@sluice/contracts'
import { createRecordRepository, visibleTo, type RefinedRow, type WithoutMay } from '@sluice/records'
import type { DataQualityChecks } from '../../database.ts'
import { lookUpAuthors, recordedProperties } from '../record-fields.ts'
import { presentSharedFields, type LabelledColumns } from '../data-quality/check-and-group-fields.ts'
import type { RequestContext } from '../operation-context.ts'

export type CheckRow = RefinedRow<Selectable<DataQualityChecks>, LabelledColumns>

export const dataQualityChecks = createRecordRepository<CheckRow, DataQualityCheck, RequestContext>({
  noun: 'data quality check',
  table: 'data_quality_checks',
  path: '/data-quality-checks',
  properties: {
    ...recordedProperties,
    shortName: { type: 'string', column: 'r.short_name' },
    code: { type: 'string', column: 'r.code' },
    description: { type: 'string', column: 'r.description' },
    query: { type: 'string', column: 'r.query' },
  },
  matches: (like) => sql`(r.name ilike ${like} or r.code ilike ${like} or r.description ilike ${like})`,
  scope: visibleTo,
  signatures: pipelineOperations.dataQualityChecks,
  present: presentChecks,
})

async function presentChecks(
  rows: CheckRow[],
  { identity, request }: RequestContext,
): Promise<WithoutMay<DataQualityCheck>[]> {
  const findAuthors = await lookUpAuthors(rows, identity)
  return rows.map((row) => ({
    ...presentSharedFields(row, request.locales),
    ...findAuthors(row),
    code: row.code,
    query: row.query,
  }))
}
