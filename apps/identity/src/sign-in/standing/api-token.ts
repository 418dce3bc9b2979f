import type { Kysely } from 'kysely'
import type { Credential, Standing } from '@sluice/contracts'
import type { DB } from '../../database.ts'

/** A user's API token. There is none yet. */
export async function apiTokenStanding(_db: Kysely<DB>, _credential: Credential): Promise<Standing | undefined> {
  return undefined
}
