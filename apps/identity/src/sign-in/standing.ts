import type { Kysely } from 'kysely'
import type { Credential, Standing } from '@sluice/contracts'
import type { DB } from '../database.ts'
import { apiTokenStanding } from './standing/api-token.ts'
import { applicationStanding } from './standing/application.ts'
import { sessionStanding } from './standing/session.ts'

type Found = (db: Kysely<DB>, credential: Credential) => Promise<Standing | undefined>

/** How each kind of credential is looked up. */
const byKind: Record<Credential['kind'], Found> = {
  session: sessionStanding,
  application: applicationStanding,
  'api-token': apiTokenStanding,
}

/** Who comes with a credential, and what is known of them at this moment. Undefined: there is none such. */
export const standingOf: Found = (db, credential) => byKind[credential.kind](db, credential)
