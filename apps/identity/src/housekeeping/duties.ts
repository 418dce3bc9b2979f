import { sql, type Kysely } from 'kysely'
import { addAuditMonths } from '@sluice/database'
import type { DB } from '../database.ts'
import { failOverdueMails } from '../mail/outbox.ts'
import { sweepOidcModels } from '../oidc/sweep.ts'
import { expiredApiTokens } from '../sign-in/api-tokens.ts'
import { forgetForgotten } from '../sign-in/forgotten.ts'
import { tendKeys, type KeyRotation } from '../sign-in/key-rotation.ts'
import { endIdleSessions } from '../sign-in/sessions.ts'
import { inBatches, removeInBatches } from './in-batches.ts'
import { forgetSessions } from './old-sessions.ts'

/** One thing to look after. Safe to repeat, to break off between its batches, and to do in two processes at once. */
export interface Duty {
  name: string
  run(db: Kysely<DB>, signal?: AbortSignal): Promise<unknown>
}

/** Made first: without them nothing could be written, or nobody would trust what is signed. */
const months: Duty = { name: 'audit-months', run: (db) => addAuditMonths(db, new Date()) }
const keysTended = (keys: KeyRotation): Duty => ({ name: 'signing-keys', run: (db) => tendKeys(db, keys) })

const removal = (name: string, table: keyof DB, condition: string): Duty => ({
  name,
  run: (db, signal) => removeInBatches(db, table, sql.raw(condition), signal),
})

/** In this order: what hangs from sessions goes before them, so that few rows go with each. */
const clearing: readonly Duty[] = [
  removal('sign-in-attempts', 'sign_in_attempts', `last_at < now() - interval '1 day'`),
  { name: 'idle-sessions', run: endIdleSessions },
  // A second use after a day is refused all the same: it is unknown then.
  removal('refresh-tokens', 'refresh_tokens', `consumed_at < now() - interval '1 day'`),
  { name: 'oidc-models', run: (db) => sweepOidcModels(db) },
  { name: 'sessions', run: forgetSessions },
  removal('links', 'links', 'expires_at < now()'),
  { name: 'forgotten-passwords', run: (db) => forgetForgotten(db) },
  removal('mails', 'mails', `created_at < now() - interval '30 days'`),
  { name: 'overdue-mails', run: (db, signal) => inBatches((size) => failOverdueMails(db, size), { signal }) },
  removal('tickets', 'second_factor_tickets', 'expires_at < now()'),
  removal('api-tokens', 'api_tokens', expiredApiTokens),
  removal('sso-states', 'sso_used_states', `expires_at < now() - interval '1 hour'`),
  removal('sso-tickets', 'sso_tickets', 'expires_at < now()'),
]

/** All that is to be done, in order. Without keys, what needs no key ring. */
export const dutiesOf = (keys?: KeyRotation): readonly Duty[] => [
  months,
  ...(keys ? [keysTended(keys)] : []),
  ...clearing,
]
