import { sql, type Kysely } from 'kysely'
import type { DB } from '../database.ts'

const batch = 500

/** Removes what has expired, in small steps that nobody has to wait for; several processes may do it at once. */
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
