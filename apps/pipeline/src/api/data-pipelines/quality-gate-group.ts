import { hasRole } from '@sluice/contracts'
import { problems, type Caller } from '@sluice/http-server'
import { visibleTo } from '@sluice/records'
import type { Kysely, Transaction } from 'kysely'
import type { DB } from '../../database.ts'

interface GatedRow {
  quality_group_id: number | null
}

/**
 * Returns the column with the pipeline's quality gate: a group of checks that a load must pass. The caller must be
 * allowed to read a new group, but can always keep the current one.
 */
export async function toQualityGroupColumn(
  trx: Transaction<DB>,
  group: { id: string } | null | undefined,
  current: GatedRow | undefined,
  caller: Caller,
): Promise<{ quality_group_id: number | null }> {
  if (!group) return { quality_group_id: null }
  const groupRow = await trx
    .selectFrom('data_quality_check_groups as r')
    .select(['r.id', visibleTo(caller, 'READ').as('readable')])
    .where('r.uid', '=', group.id)
    .where('r.client', '=', caller.client)
    .executeTakeFirst()
  const isCurrentGroup = groupRow !== undefined && groupRow.id === current?.quality_group_id
  const mayReadGroup = groupRow?.readable && hasRole(caller.roles, 'ROLE_SEE_DATA_QUALITY_CHECK_GROUP')
  const isAllowed = groupRow !== undefined && (isCurrentGroup || mayReadGroup)
  if (!isAllowed)
    throw problems.refused(
      '/dataQualityCheckGroup/id',
      `No data quality check group that you may read has the id ${group.id}. Choose another group.`,
    )
  return { quality_group_id: groupRow.id }
}

/**
 * Returns the quality gates (check groups) of these pipelines by primary key. Everyone who may read a pipeline may see
 * the name of its group.
 */
export async function readQualityGroups(
  db: Kysely<DB>,
  rows: readonly GatedRow[],
): Promise<Map<number, { id: string; name: string }>> {
  const ids = rows.flatMap(({ quality_group_id }) => quality_group_id ?? [])
  if (ids.length === 0) return new Map()
  const groups = await db
    .selectFrom('data_quality_check_groups')
    .select(['id', 'uid', 'name'])
    .where('id', 'in', ids)
    .execute()
  return new Map(groups.map(({ id, uid, name }) => [id, { id: uid, name }]))
}
