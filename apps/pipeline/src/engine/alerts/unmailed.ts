import type { Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import { alertSetting, noMailServer } from '../../settings.ts'

/**
 * What the log of a failed run says where no mail goes out and its client has addresses that would hear of it; undefined where
 * nobody would. The job of a workflow is told of by the workflow.
 */
export async function unmailed(
  db: Kysely<DB>,
  { id, client }: { id: number; client: string },
): Promise<string | undefined> {
  const run = await db.selectFrom('runs').select(['workflow_run_id', 'action']).where('id', '=', id).executeTakeFirst()
  if (!run || run.workflow_run_id !== null || run.action !== 'RUN') return undefined
  const { length } = (await alertSetting(db, client)).addresses
  if (length === 0) return undefined
  return `ALERT_EMAIL names ${length === 1 ? 'an address' : `${length} addresses`}. ${noMailServer}`
}
