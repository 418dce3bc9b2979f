import type { Transaction } from 'kysely'
import { recordAudit } from '@sluice/database'
import type { DB } from '../database.ts'
import { endSession } from './sessions.ts'

export interface Unused {
  session: { uid: string }
  user: { uid: string; client: string }
}

/** What an audit row says of the request that a sign-in failed in. */
export interface EndFacts {
  requestId: string
  address: string
}

/** Ends a session that was opened at a sign-in that led nowhere. The audit says why. */
export async function endUnused(
  trx: Transaction<DB>,
  { session, user }: Unused,
  outcome: string,
  facts: EndFacts,
): Promise<void> {
  await endSession(trx, session.uid, 'SIGNED_OUT')
  await recordAudit(trx, {
    operation: 'oidc.endSession',
    actor: user.uid,
    client: user.client,
    object: session.uid,
    details: { outcome },
    ...facts,
  })
}
