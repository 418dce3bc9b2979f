import type { Destination } from '@sluice/contracts'
import type { Asked } from '../operation.ts'
import type { DestinationRow } from './row.ts'

/** The views of these destinations. To see a destination is not to see all of its view. */
export async function viewsOf(
  rows: readonly DestinationRow[],
  { db }: Asked,
): Promise<Map<number, Destination['viewSource']>> {
  const found = await db
    .selectFrom('views')
    .select(['id', 'uid', 'name'])
    .where('id', 'in', [0, ...rows.map((row) => row.view_id)])
    .execute()
  return new Map(found.map(({ id, uid, name }) => [id, { id: uid, name }]))
}
