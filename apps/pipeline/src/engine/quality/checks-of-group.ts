import type { Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import type { CheckToRun } from './run-checks.ts'

/** The checks of a group in their order, as they are now. */
export function checksOfGroup(db: Kysely<DB>, group: number): Promise<CheckToRun[]> {
  return db
    .selectFrom('data_quality_group_checks as g')
    .innerJoin('data_quality_checks as c', 'c.id', 'g.check_id')
    .select(['c.uid', 'c.name', 'c.query'])
    .where('g.group_id', '=', group)
    .orderBy('g.position')
    .execute()
}
