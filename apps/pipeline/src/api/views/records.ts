import { type RunStatus, type View, pipelineOperations, runStatuses, runTriggers } from '@sluice/contracts'
import {
  type RefinedRow,
  type SharedColumns,
  type WithoutMay,
  presentAccess,
  createRecordRepository,
  visibleTo,
} from '@sluice/records'
import { type Selectable, sql } from 'kysely'
import type { RequestContext } from '../operation-context.ts'
import {
  lookUpAuthors,
  lastRunProperties,
  lastRunStatus,
  presentRecordFields,
  recordedProperties,
  tagsColumn,
} from '../record-fields.ts'
import type { Views } from '../../database.ts'
import { readRunStatuses } from '../runs/run-responses.ts'
import { presentScheduleFields, formatTrigger, readClientTimeZone } from '../schedule-fields.ts'
import { readReferencedSchemas } from '../schemas/records.ts'

export type ViewRow = RefinedRow<Selectable<Views>, SharedColumns & { tags: string[] }>

async function presentViews(rows: ViewRow[], context: RequestContext): Promise<WithoutMay<View>[]> {
  const { db, identity, request } = context
  const [findAuthors, schemas, findStatus, zone] = await Promise.all([
    lookUpAuthors(rows, identity),
    readReferencedSchemas(rows, context),
    readRunStatuses(db, rows),
    readClientTimeZone(context),
  ])

  return rows.map((row) => {
    const schema = schemas.get(row.schema_id)!
    const { status } = findStatus(row.id)
    return {
      ...presentRecordFields(row, request.locales),
      ...findAuthors(row),
      ...presentScheduleFields(row),
      triggerExpression: formatTrigger(row, zone),
      scheduleable: true,
      schema,
      query: row.query,
      materialized: row.materialized,
      dataWarehouseViewName: row.view_name,
      qualifiedDataWarehouseViewName: `${schema.schemaName}.${row.view_name}`,
      warehouseAViewName: row.view_name,
      status: {
        ...status,
        ...presentPendingStatus(row, status),
        visualizationId: row.visualization_id ?? undefined,
        visualizationHref: row.visualization_href ?? undefined,
      },
      anonymousAccess: { metadata: row.anonymous_metadata, data: row.anonymous_data },
      access: presentAccess(row),
    }
  })
}

/**
 * Returns the response fields of a pending view, which the warehouse could not create yet. While a run is queued or
 * running, the status of that run stays, because the run may create the view.
 */
function presentPendingStatus({ pending }: ViewRow, { lastRunStatus }: RunStatus) {
  if (pending === null) return {}
  const isActive = lastRunStatus === 'QUEUED' || lastRunStatus === 'RUNNING'
  return {
    ...(!isActive && { lastRunStatus: 'PENDING' as const }),
    // Omit the last success, because runs of a pending view end as WARNING without creating it.
    lastRunSuccess: undefined,
    pendingReason: pending.slice(0, 10_000),
  }
}

export const viewRecords = createRecordRepository<ViewRow, View, RequestContext>({
  noun: 'view',
  table: 'views',
  path: '/views',
  properties: {
    ...recordedProperties,
    ...lastRunProperties,
    lastRunStatus: {
      type: 'enum',
      // The same rule as in `presentPendingStatus`.
      column: sql`case when r.pending is null or ${lastRunStatus} in ('QUEUED', 'RUNNING') then ${lastRunStatus} else 'PENDING' end`,
      values: [...runStatuses, 'PENDING'],
      required: true,
    },
    description: { type: 'string', column: 'r.description' },
    tags: { type: 'strings', column: tagsColumn },
    dataWarehouseViewName: { type: 'string', column: 'r.view_name' },
    materialized: { type: 'boolean', column: 'r.materialized' },
    disabled: { type: 'boolean', column: 'r.disabled' },
    runTrigger: { type: 'enum', column: 'r.run_trigger', values: runTriggers },
  },
  matches: (like) => sql`(r.name ilike ${like} or r.view_name ilike ${like} or r.description ilike ${like})`,
  scope: visibleTo,
  signatures: pipelineOperations.views,
  present: presentViews,
})
