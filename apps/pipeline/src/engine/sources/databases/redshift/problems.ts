import type { DatabaseConfig } from '../database-config.ts'
import { explainPostgres } from '../postgres/problems.ts'
import { messageOf } from '../problems.ts'
import type { Explained } from '../session.ts'

/** A way of sending a password that is Redshift's own. */
const digestSignIn = /Unknown authenticationOk message type/

export function explainRedshift(error: unknown, config: DatabaseConfig): Explained | undefined {
  const message = messageOf(error)
  if (digestSignIn.test(message))
    return {
      code: 'AUTHENTICATION_FAILED',
      detail:
        'The password of this user is kept as SHA-256, which only Amazon’s drivers can send. Set it again as an MD5 hash.',
    }
  // Users that may do nothing about it are told by the leader node, in the words of PostgreSQL 8.
  if (/password authentication failed|user ".*" does not exist/.test(message)) return { code: 'AUTHENTICATION_FAILED' }
  return explainPostgres(error, config)
}
