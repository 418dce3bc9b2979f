import { holds } from '@sluice/contracts'
import { problems, type Caller } from '@sluice/http'
import { visibleTo } from '@sluice/records'
import type { Transaction } from 'kysely'
import type { DB } from '../../database.ts'

/**
 * Makes these the checks of a group, in this order. A check that is new to it has to be one that the caller may read; those
 * that it has may stay, whoever changes it.
 */
export async function writeChecks(
  trx: Transaction<DB>,
  caller: Caller,
  group: number,
  references: readonly { id: string }[],
): Promise<void> {
  const uids = references.map(({ id }) => id.toLowerCase())
  const [kept, readable] = await Promise.all([keptChecks(trx, group), readableChecks(trx, caller, uids)])
  const checks = uids.map((uid, index) => {
    const id = kept.get(uid) ?? readable.get(uid)
    if (id === undefined)
      throw problems.refused(
        `/dataQualityChecks/${index}/id`,
        `There is no data quality check with the id ${uid} that you may read.`,
      )
    return { group_id: group, check_id: id, position: index + 1 }
  })
  await trx.deleteFrom('data_quality_group_checks').where('group_id', '=', group).execute()
  if (checks.length > 0) await trx.insertInto('data_quality_group_checks').values(checks).execute()
}

async function keptChecks(trx: Transaction<DB>, group: number): Promise<Map<string, number>> {
  const rows = await trx
    .selectFrom('data_quality_group_checks as g')
    .innerJoin('data_quality_checks as c', 'c.id', 'g.check_id')
    .select(['c.uid', 'c.id'])
    .where('g.group_id', '=', group)
    .execute()
  return new Map(rows.map(({ uid, id }) => [uid, id]))
}

async function readableChecks(trx: Transaction<DB>, caller: Caller, uids: readonly string[]) {
  if (uids.length === 0 || !holds(caller.roles, 'ROLE_SEE_DATA_QUALITY_CHECK')) return new Map<string, number>()
  const rows = await trx
    .selectFrom('data_quality_checks as r')
    .select(['r.uid', 'r.id'])
    .where('r.uid', 'in', [...uids])
    .where(visibleTo(caller, 'READ'))
    .execute()
  return new Map(rows.map(({ uid, id }) => [uid, id]))
}
