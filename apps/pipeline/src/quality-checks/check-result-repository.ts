import { sql, type Kysely, type Selectable } from 'kysely'
import type { DataQualityResults, DB } from '../database.ts'
import type { Claim } from '../runs/claim-run.ts'
import { toStorableText } from '../runs/run-log.ts'
import { toStoredJson } from '../stored-json.ts'
import type { CheckOutcome } from './run-checks.ts'

type FenceToken = Pick<Claim, 'id' | 'attempt'>

/** Deletes the check results of earlier attempts of a run, unless this attempt has lost its lease. */
export async function deleteCheckResults(db: Kysely<DB>, { id, attempt }: FenceToken): Promise<void> {
  await sql`delete from data_quality_results where run_id in
    (select id from runs where id = ${id} and attempt = ${attempt} and state = 'RUNNING')`.execute(db)
}

/** Stores the result of a check, unless this attempt has lost its lease. `position` starts at 1. */
export async function insertCheckResult(
  db: Kysely<DB>,
  { id, attempt }: FenceToken,
  position: number,
  outcome: CheckOutcome,
): Promise<void> {
  const { check_uid, check_name, status, message, data, completed_at } = toColumns(outcome)
  await sql`
    insert into data_quality_results (run_id, check_uid, check_name, position, status, message, data, completed_at)
    select id, ${check_uid}, ${check_name}, ${position}, ${status}, ${message}, ${data}::jsonb, ${completed_at} from runs
    where id = ${id} and attempt = ${attempt} and state = 'RUNNING'
    on conflict (run_id, position) do nothing`.execute(db)
}

/** Returns the columns of a check result, except run and position. */
export function toColumns({ check, status, message, findings, completedAt }: CheckOutcome) {
  return {
    check_uid: check.uid,
    check_name: check.name,
    status,
    message: toStorableText(message, 5_000),
    data: findings ? toStoredJson(findings, { nul: '␀' }) : null,
    completed_at: completedAt,
  }
}

/** Lists the check results of a run in order. Returns undefined if the object has no such run. `page` starts at 1. */
export async function listCheckResults(
  db: Kysely<DB>,
  runnableId: number,
  run: string,
  { page, pageSize }: { page: number; pageSize: number },
): Promise<{ rows: Selectable<DataQualityResults>[]; total: number } | undefined> {
  const runRow = await db
    .selectFrom('runs')
    .select('id')
    .where('runnable_id', '=', runnableId)
    .where('uid', '=', run)
    .executeTakeFirst()
  if (!runRow) return undefined
  const results = db.selectFrom('data_quality_results').where('run_id', '=', runRow.id)
  const [rows, { total }] = await Promise.all([
    results
      .selectAll()
      .orderBy('position')
      .limit(pageSize)
      .offset((page - 1) * pageSize)
      .execute(),
    results.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
  ])
  return { rows, total }
}
