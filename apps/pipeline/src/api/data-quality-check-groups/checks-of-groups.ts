import { holds, type ReferencedCheck } from '@sluice/contracts'
import { visibleTo } from '@sluice/records'
import { presentChecks, type CheckRow } from '../data-quality-checks/records.ts'
import type { Asked } from '../operation.ts'

/** The checks of groups, each in its order. To see a group is not to see all of its checks. */
export async function checksOfGroups(
  groups: readonly { id: number }[],
  context: Asked,
): Promise<Map<number, ReferencedCheck[]>> {
  const { db, caller } = context
  const members = await db
    .selectFrom('data_quality_group_checks')
    .select(['group_id', 'check_id'])
    .where('group_id', 'in', [0, ...groups.map(({ id }) => id)])
    .orderBy('group_id')
    .orderBy('position')
    .execute()
  const found = await db
    .selectFrom('data_quality_checks as r')
    .selectAll()
    .select(visibleTo(caller, 'READ').as('shown'))
    .where('id', 'in', [0, ...new Set(members.map((member) => member.check_id))])
    .$castTo<CheckRow & { shown: boolean }>()
    .execute()
  const maySee = holds(caller.roles, 'ROLE_SEE_DATA_QUALITY_CHECK')
  const whole = await presentChecks(found, context)
  const checks = new Map(
    found.map(({ id, shown }, index): [number, ReferencedCheck] => {
      const { id: uid, name } = whole[index]!
      return [id, maySee && shown ? whole[index]! : { id: uid, name }]
    }),
  )
  const of = Map.groupBy(members, (member) => member.group_id)
  return new Map(
    Array.from(of, ([group, list]) => [group, list.flatMap((member) => checks.get(member.check_id) ?? [])]),
  )
}
