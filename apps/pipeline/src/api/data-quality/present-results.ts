import { holds, type CheckResult } from '@sluice/contracts'
import type { Caller } from '@sluice/http'
import { visibleTo } from '@sluice/records'
import type { Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import { type CheckOutcome, couldNotBeRun } from '../../engine/quality/run-checks.ts'
import { presentAnswer } from '../catalogue/present-answer.ts'

/** Which of these checks the caller may read. Of the others they are not shown what rows they found. */
export async function readableChecks(db: Kysely<DB>, caller: Caller, uids: readonly string[]): Promise<Set<string>> {
  if (uids.length === 0 || !holds(caller.roles, 'ROLE_SEE_DATA_QUALITY_CHECK')) return new Set()
  const rows = await db
    .selectFrom('data_quality_checks as r')
    .select('r.uid')
    .where('r.uid', 'in', [...uids])
    .where(visibleTo(caller, 'READ'))
    .execute()
  return new Set(rows.map(({ uid }) => uid))
}

/** What a check found, with its rows if `readable`. */
export function presentOutcome(
  { check, status, message, found, completedAt }: Omit<CheckOutcome, 'toAll'>,
  readable: boolean,
): CheckResult {
  return {
    dataQualityCheckId: check.uid,
    name: check.name,
    status,
    // What a server says of a query may repeat what it read.
    message: status === 'ERROR' && !readable ? couldNotBeRun : message,
    completedAt: completedAt.toISOString(),
    violations: found?.violations,
    ...(found && readable && { data: presentAnswer(check.name, { ...found, rowCount: found.violations }) }),
  }
}
