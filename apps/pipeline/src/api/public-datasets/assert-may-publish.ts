import { holds } from '@sluice/contracts'
import { problems } from '@sluice/http'
import type { Asked } from '../operation.ts'

/**
 * Publishing reaches every organisation, so it takes more than a role: the organisation's domain PUBLIC_DATASET_CATALOG, or a super
 * admin. 403.
 */
export async function assertMayPublish({
  db,
  caller,
  identity,
}: Pick<Asked, 'db' | 'caller' | 'identity'>): Promise<void> {
  if (holds(caller.roles, 'ROLE_SUPER_ADMIN')) return
  if ((await identity.client(caller.client))?.domain === 'PUBLIC_DATASET_CATALOG') return
  const before = await db
    .selectFrom('dataset_publishers')
    .select('client')
    .where('client', '=', caller.client)
    .executeTakeFirst()
  if (!before)
    throw problems.forbidden(
      'Only organisations of the domain PUBLIC_DATASET_CATALOG publish public datasets: a super admin can set the domain of yours.',
    )
}
