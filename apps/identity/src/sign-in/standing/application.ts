import type { Kysely } from 'kysely'
import type { Credential, Standing } from '@sluice/contracts'
import type { DB } from '../../database.ts'

/** An application that acts for itself. There is none yet. */
export async function applicationStanding(_db: Kysely<DB>, _credential: Credential): Promise<Standing | undefined> {
  return undefined
}
