import { sql, type Kysely } from 'kysely'
import type { Logger } from '@sluice/process'
import type { DB } from '../database.ts'

const batch = 500
const minutes = 60_000

/** Removes expired models in small batches that block no other query. Several processes may run it concurrently. */
export async function sweepOidcModels(db: Kysely<DB>): Promise<void> {
  for (let removed = batch; removed === batch; ) {
    const { rows } = await sql`
      delete from oidc_models where (model, id_hash) in (
        select model, id_hash from oidc_models where expires_at < now() - interval '1 minute'
        limit ${batch} for update skip locked)
      returning 1`.execute(db)
    removed = rows.length
  }
}

/**
 * Sweeps at an interval in milliseconds. Unauthenticated requests leave too many pending sign-ins to keep them until the
 * hourly maintenance.
 */
export function keepSweeping(db: Kysely<DB>, logger: Logger, every = 5 * minutes): { stop(): Promise<void> } {
  let work: Promise<void> = Promise.resolve()
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  const wait = () => {
    if (!stopped) timer = setTimeout(run, every).unref()
  }
  const run = () => {
    work = sweepOidcModels(db)
      .catch((err: unknown) => logger.warn({ err }, 'expired sign-ins could not be removed; it is tried again soon'))
      .then(wait)
  }
  wait()
  return {
    async stop() {
      stopped = true
      clearTimeout(timer)
      await work
    },
  }
}
