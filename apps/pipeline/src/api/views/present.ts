import type { RunStatus, View } from '@sluice/contracts'
import { accessOf } from '@sluice/records'
import { authorsOf } from '../authors.ts'
import type { Asked } from '../operation.ts'
import { recordedFields } from '../recorded.ts'
import { runStatusesOf } from '../runs/run-status.ts'
import { scheduleFields } from '../schedules/schedule-columns.ts'
import { triggerExpressionOf, zoneOfClient } from '../schedules/trigger-expression.ts'
import { schemasOf } from '../schemas/referenced.ts'
import type { ViewRow } from './row.ts'

export async function presentViews(rows: ViewRow[], context: Asked): Promise<View[]> {
  const { db, identity, request } = context
  const [authors, schemas, statusOf, zone] = await Promise.all([
    authorsOf(rows, identity),
    schemasOf(rows, context),
    runStatusesOf(db, rows),
    zoneOfClient(context),
  ])

  return rows.map((row) => {
    const schema = schemas.get(row.schema_id)!
    return {
      ...recordedFields(row, request.locales),
      ...authors(row),
      ...scheduleFields(row),
      triggerExpression: triggerExpressionOf(row, zone),
      scheduleable: true,
      schema,
      query: row.query,
      materialized: row.materialized,
      dataWarehouseViewName: row.view_name,
      qualifiedDataWarehouseViewName: `${schema.schemaName}.${row.view_name}`,
      warehouseAViewName: row.view_name,
      status: {
        ...statusOf(row.id).status,
        ...pendingStatus(row, statusOf(row.id).status),
        visualizationId: row.visualization_id ?? undefined,
        visualizationHref: row.visualization_href ?? undefined,
      },
      anonymousAccess: { metadata: row.anonymous_metadata, data: row.anonymous_data },
      access: accessOf(row),
    }
  })
}

/** A run that is under way may build it, and is shown. */
function pendingStatus({ pending }: ViewRow, { lastRunStatus }: RunStatus) {
  if (pending === null) return {}
  const isUnderWay = lastRunStatus === 'QUEUED' || lastRunStatus === 'RUNNING'
  return {
    ...(!isUnderWay && { lastRunStatus: 'PENDING' as const }),
    // Runs of a pending view end as WARNING without building it.
    lastRunSuccess: undefined,
    pendingReason: pending.slice(0, 10_000),
  }
}
