import { sql, type Kysely } from 'kysely'
import type { DB } from '../database.ts'
import { secretHash } from '../secret-hash.ts'

/** Does somebody sign in to an application on the page of this name just now? */
export async function isOpenInteraction(db: Kysely<DB>, interaction: string): Promise<boolean> {
  const { rows } = await sql`
    select from oidc_models
    where model = 'Interaction' and id_hash = ${secretHash(interaction)} and expires_at > now()`.execute(db)
  return rows.length > 0
}
