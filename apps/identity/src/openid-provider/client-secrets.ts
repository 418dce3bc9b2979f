import { timingSafeEqual } from 'node:crypto'
import type { Request } from 'express'
import { sql, type Kysely } from 'kysely'
import { errors, Provider } from 'oidc-provider'
import { prepared } from '@sluice/database'
import { hashSecret } from '../stored-secrets.ts'
import type { DB } from '../database.ts'
import { toNetworkPrefix } from '../sign-in/throttle/network-prefix.ts'
import { countFailureSql, type ThrottleLimit } from '../sign-in/throttle/throttle.ts'
import { coalesceQueries } from './storage/coalesce-queries.ts'

/** The limit per application and network. It allows programs to retry until someone corrects their wrong secret. */
const secretGuessLimit: ThrottleLimit = {
  freeFailures: 20,
  firstWaitSeconds: 5,
  maxWaitSeconds: 300,
  forgetAfterSeconds: 3600,
}

interface SecretHolder {
  clientId: string
  /** The hash of the secret, because Sluice does not store the secret itself. */
  clientSecret?: string
}

/**
 * Returns a function that verifies an application's secret. It counts wrong secrets per application and network, so
 * that attackers in other networks cannot lock the application out. After too many wrong secrets, requests from the
 * network get 429 with `invalid_client` until a waiting time has passed, even with the correct secret.
 */
export function createSecretVerifier(db: Kysely<DB>) {
  // Concurrent requests of one application share one query, which reads the remaining waiting time.
  const readSharedWait = coalesceQueries((key) => readRemainingWait(db, key))
  return async function isSecretOf({ clientId, clientSecret }: SecretHolder, secret: string): Promise<boolean> {
    const isCorrect = hasHash(secret, clientSecret)
    // oidc-provider does not pass the request to this function, but makes its context available here.
    const { ctx } = Provider
    const key = `application:${clientId}@${toNetworkPrefix((ctx?.req as Request | undefined)?.ip ?? '')}`
    const waitSeconds = Math.ceil(isCorrect ? await readSharedWait(key) : await countFailure(db, key))
    if (waitSeconds > 0) {
      ctx?.set('Retry-After', String(waitSeconds))
      throw new TooManySecrets(waitSeconds)
    }
    return isCorrect
  }
}

function hasHash(secret: string, encodedHash = ''): boolean {
  const expected = Buffer.from(encodedHash, 'base64url')
  const actual = hashSecret(secret)
  return expected.length === actual.length && timingSafeEqual(actual, expected)
}

class TooManySecrets extends errors.OIDCProviderError {
  constructor(seconds: number) {
    super(429, 'invalid_client')
    this.error_description = `too many wrong secrets from this network: try again in ${seconds} seconds`
  }
}

/**
 * Returns the seconds that the network must still wait, or 0. Called for a correct secret, so if the waiting time is
 * over it deletes the counted failures. Usually no row exists, and the query writes nothing.
 */
async function readRemainingWait(db: Kysely<DB>, key: string): Promise<number> {
  const { rows } = await sql<{ seconds: number }>`
    ${prepared('right-client-secret')}
    with forgotten as (delete from sign_in_attempts where key = ${key} and blocked_until <= now())
    select extract(epoch from blocked_until - now())::float8 as seconds from sign_in_attempts
    where key = ${key} and blocked_until > now()`.execute(db)
  return rows[0]?.seconds ?? 0
}

/** Counts a wrong secret unless the network has to wait. Returns the seconds that it still has to wait, or 0. */
async function countFailure(db: Kysely<DB>, key: string): Promise<number> {
  const { rows } = await sql<{
    seconds: number
  }>`${countFailureSql(sql`select ${key}::text`, secretGuessLimit)}`.execute(db)
  return rows[0]?.seconds ?? 0
}
