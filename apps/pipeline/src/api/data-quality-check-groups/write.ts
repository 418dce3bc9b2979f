import { type DataQualityCheckGroupBody, hasRole } from '@sluice/contracts'
import { type Caller, problems } from '@sluice/http-server'
import { type RecordWriter, visibleTo } from '@sluice/records'
import type { Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import { toSharedColumns } from '../data-quality/check-and-group-fields.ts'
import { prepareDeletion } from '../assert-not-in-use.ts'
import type { PipelineContext } from '../operation-context.ts'
import { toAccessColumnsWithDefault, assertSharingTargets } from '../object-access.ts'
import { type GroupRow, dataQualityCheckGroups } from './records.ts'
import type { BulkSaveDefinition } from '../bulk-saves/save-by-name.ts'

export const groupWriting: RecordWriter<PipelineContext, GroupRow, DataQualityCheckGroupBody> = {
  async check(body, input) {
    const ids = (body.dataQualityChecks ?? []).map(({ id }) => id.toLowerCase())
    const repeatedIndex = ids.findIndex((id, index) => ids.indexOf(id) < index)
    if (repeatedIndex >= 0)
      throw problems.refused(
        `/dataQualityChecks/${repeatedIndex}/id`,
        'The list has this check twice. Remove one of them.',
      )
    await assertSharingTargets(body.access, input)
  },

  async columns(trx, body, current, { caller }) {
    return {
      ...(current ? {} : { client: caller.client }),
      ...toSharedColumns(body),
      ...(await toAccessColumnsWithDefault(trx, body.access, current, caller.client)),
    }
  },

  async writeRelatedRows(trx: Transaction<DB>, row, { dataQualityChecks = [] }, _current, { caller }) {
    const checks = dataQualityChecks.map(({ id }) => ({ id }))
    await writeChecks(trx, caller, row.id, checks)
    return { checks }
  },

  async beforeDelete(trx: Transaction<DB>, { id, client }, { caller }) {
    await prepareDeletion(trx, caller, { kind: 'DATA_QUALITY_CHECK_GROUP', id, client })
  },

  async afterDelete() {},
}

export const groupBulkSave: BulkSaveDefinition<GroupRow, DataQualityCheckGroupBody> = {
  records: dataQualityCheckGroups,
  writing: groupWriting,
}

/**
 * Replaces the checks of a group. The list determines their order. The caller must be allowed to read each new check;
 * checks that are already in the group may stay.
 */
async function writeChecks(
  trx: Transaction<DB>,
  caller: Caller,
  group: number,
  references: readonly { id: string }[],
): Promise<void> {
  const uids = references.map(({ id }) => id.toLowerCase())
  const [currentChecks, readable] = await Promise.all([
    findGroupChecks(trx, group),
    findReadableChecks(trx, caller, uids),
  ])
  const checks = uids.map((uid, index) => {
    const id = currentChecks.get(uid) ?? readable.get(uid)
    if (id === undefined)
      throw problems.refused(
        `/dataQualityChecks/${index}/id`,
        `The data quality check ${uid} does not exist, or you may not read it. Correct the id.`,
      )
    return { group_id: group, check_id: id, position: index + 1 }
  })
  await trx.deleteFrom('data_quality_group_checks').where('group_id', '=', group).execute()
  if (checks.length > 0) await trx.insertInto('data_quality_group_checks').values(checks).execute()
}

async function findGroupChecks(trx: Transaction<DB>, group: number): Promise<Map<string, number>> {
  const rows = await trx
    .selectFrom('data_quality_group_checks as g')
    .innerJoin('data_quality_checks as c', 'c.id', 'g.check_id')
    .select(['c.uid', 'c.id'])
    .where('g.group_id', '=', group)
    .execute()
  return new Map(rows.map(({ uid, id }) => [uid, id]))
}

/** Returns the primary keys of the checks that the caller may read, by uid. */
async function findReadableChecks(trx: Transaction<DB>, caller: Caller, uids: readonly string[]) {
  if (uids.length === 0 || !hasRole(caller.roles, 'ROLE_SEE_DATA_QUALITY_CHECK')) return new Map<string, number>()
  const rows = await trx
    .selectFrom('data_quality_checks as r')
    .select(['r.uid', 'r.id'])
    .where('r.uid', 'in', [...uids])
    .where(visibleTo(caller, 'READ'))
    .execute()
  return new Map(rows.map(({ uid, id }) => [uid, id]))
}
