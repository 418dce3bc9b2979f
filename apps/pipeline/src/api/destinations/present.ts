import type { Destination } from '@sluice/contracts'
import { accessOf } from '@sluice/records'
import { authorsOf } from '../authors.ts'
import type { Asked } from '../operation.ts'
import { recordedFields } from '../recorded.ts'
import { runStatusesOf } from '../runs/run-status.ts'
import { scheduleFields } from '../schedules/schedule-columns.ts'
import { triggerExpressionOf, zoneOfClient } from '../schedules/trigger-expression.ts'
import type { DestinationRow } from './row.ts'
import { viewsOf } from './views.ts'

export async function presentDestinations(rows: DestinationRow[], context: Asked): Promise<Destination[]> {
  const { db, identity, request } = context
  const [authors, views, statusOf, zone] = await Promise.all([
    authorsOf(rows, identity),
    viewsOf(rows, context),
    runStatusesOf(db, rows),
    zoneOfClient(context),
  ])

  return rows.map((row) => {
    const { tags: _tags, tagString: _tagString, ...recorded } = recordedFields({ ...row, tags: [] }, request.locales)
    return {
      ...recorded,
      ...authors(row),
      ...scheduleFields(row),
      triggerExpression: triggerExpressionOf(row, zone),
      scheduleable: true,
      type: row.type as Destination['type'],
      viewSource: views.get(row.view_id)!,
      importOptions: row.import_options,
      ...row.settings,
      status: statusOf(row.id).status,
      access: accessOf(row),
    }
  })
}
