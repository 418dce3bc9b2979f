import { holds, type ReferencedView } from '@sluice/contracts'
import { visibleTo } from '@sluice/records'
import type { Asked } from '../operation.ts'
import { presentViews } from '../views/present.ts'
import type { ViewRow } from '../views/row.ts'
import type { DestinationRow } from './row.ts'

/** The views of these destinations. To see a destination is not to see all of its view. */
export async function viewsOf(rows: readonly DestinationRow[], context: Asked): Promise<Map<number, ReferencedView>> {
  const { db, caller } = context
  const found = await db
    .selectFrom('views as r')
    .selectAll()
    .select(visibleTo(caller, 'READ').as('shown'))
    .where('id', 'in', [0, ...rows.map((row) => row.view_id)])
    .$castTo<ViewRow & { shown: boolean }>()
    .execute()
  const maySee = holds(caller.roles, 'ROLE_SEE_VIEW')
  const whole = found.filter(({ shown }) => maySee && shown)
  const presented = await presentViews(whole, context)
  return new Map([
    ...found.map(({ id, uid, name }): [number, ReferencedView] => [id, { id: uid, name }]),
    ...whole.map(({ id }, index): [number, ReferencedView] => [id, presented[index]!]),
  ])
}
