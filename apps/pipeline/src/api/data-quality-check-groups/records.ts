import { type Selectable, sql } from 'kysely'
import { type DataQualityCheckGroup, type ReferencedCheck, hasRole, pipelineOperations } from '@sluice/contracts'
import { type RefinedRow, type WithoutMay, createRecordRepository, visibleTo } from '@sluice/records'
import type { DataQualityCheckGroups } from '../../database.ts'
import { lookUpAuthors, lastRunProperties, recordedProperties } from '../record-fields.ts'
import { type LabelledColumns, presentSharedFields } from '../data-quality/check-and-group-fields.ts'
import type { RequestContext } from '../operation-context.ts'
import { type CheckRow, dataQualityChecks } from '../data-quality-checks/records.ts'

export type GroupRow = RefinedRow<Selectable<DataQualityCheckGroups>, LabelledColumns>

export const dataQualityCheckGroups = createRecordRepository<GroupRow, DataQualityCheckGroup, RequestContext>({
  noun: 'data quality check group',
  table: 'data_quality_check_groups',
  path: '/data-quality-check-groups',
  properties: {
    ...recordedProperties,
    ...lastRunProperties,
    shortName: { type: 'string', column: 'r.short_name' },
    description: { type: 'string', column: 'r.description' },
  },
  matches: (like) => sql`(r.name ilike ${like} or r.short_name ilike ${like} or r.description ilike ${like})`,
  scope: visibleTo,
  signatures: pipelineOperations.dataQualityCheckGroups,
  present: presentGroups,
})

async function presentGroups(rows: GroupRow[], context: RequestContext): Promise<WithoutMay<DataQualityCheckGroup>[]> {
  const [findAuthors, checks] = await Promise.all([
    lookUpAuthors(rows, context.identity),
    readChecksOfGroups(rows, context),
  ])
  return rows.map((row) => ({
    ...presentSharedFields(row, context.request.locales),
    ...findAuthors(row),
    dataQualityChecks: checks.get(row.id) ?? [],
  }))
}

/**
 * Returns the checks of each group, in their order in the group. For checks that the caller may not read, only the
 * names.
 */
async function readChecksOfGroups(
  groups: readonly { id: number }[],
  context: RequestContext,
): Promise<Map<number, ReferencedCheck[]>> {
  const members = await context.db
    .selectFrom('data_quality_group_checks')
    .select(['group_id', 'check_id'])
    // No group has the key 0. It is there because SQL does not allow an empty list.
    .where('group_id', 'in', [0, ...groups.map(({ id }) => id)])
    .orderBy('group_id')
    .orderBy('position')
    .execute()
  const checks = await readReferencedChecks([...new Set(members.map(({ check_id }) => check_id))], context)
  const membersByGroup = Map.groupBy(members, ({ group_id }) => group_id)
  return new Map(
    Array.from(membersByGroup, ([groupId, membersOfGroup]) => [
      groupId,
      membersOfGroup.flatMap(({ check_id }) => checks.get(check_id) ?? []),
    ]),
  )
}

/** Returns checks by primary key. For checks that the caller may not read, only the ids and names. */
async function readReferencedChecks(
  checkIds: readonly number[],
  context: RequestContext,
): Promise<Map<number, ReferencedCheck>> {
  const { db, caller } = context
  const checkRows = await db
    .selectFrom('data_quality_checks as r')
    .selectAll()
    .select(visibleTo(caller, 'READ').as('isReadable'))
    // No check has the key 0. It is there because SQL does not allow an empty list.
    .where('id', 'in', [0, ...checkIds])
    .$castTo<CheckRow & { isReadable: boolean }>()
    .execute()
  const maySeeChecks = hasRole(caller.roles, 'ROLE_SEE_DATA_QUALITY_CHECK')
  const presentedChecks = await dataQualityChecks.present(checkRows, context)
  return new Map(
    checkRows.map(({ id, isReadable }, index) => {
      const check = presentedChecks[index]!
      return [id, maySeeChecks && isReadable ? check : { id: check.id, name: check.name }]
    }),
  )
}
