import { createHash, createHmac } from 'node:crypto'
import type { Request } from 'express'
import { type Kysely, sql } from 'kysely'
import { errors, Provider } from 'oidc-provider'
import { keyRing } from '@sluice/database'
import type { DB } from '../../database.ts'
import { toNetworkPrefix } from '../../sign-in/throttle/network-prefix.ts'
import { countFailureSql, type ThrottleLimit, subtractFailure } from '../../sign-in/throttle/throttle.ts'

/** The limit is per network, because the person who enters a code is not signed in yet. */
const userCodeLimit: ThrottleLimit = {
  freeFailures: 20,
  firstWaitSeconds: 30,
  maxWaitSeconds: 900,
  forgetAfterSeconds: 3600,
}

/**
 * Stores the device code that belongs to each user code of the device flow. A user code has only 35 bits, so a plain
 * hash could be reversed: the database has an HMAC of the user code, and the device code encrypted with the user code.
 * Both need `secret`.
 */
export function createUserCodes(db: Kysely<DB>, secret: string) {
  const hmacOfUserCode = (purpose: string, userCode: string) =>
    createHmac('sha256', secret).update(`${purpose} ${userCode}`).digest()
  /** Returns the key ring that encrypts the device code of a user code. */
  const createKeyRing = (userCode: string) => keyRingFromBytes(hmacOfUserCode('encryption with a user code', userCode))

  return {
    async add(userCode: string, deviceCode: string, expiresIn: number): Promise<void> {
      const payload = JSON.stringify({ deviceCode: createKeyRing(userCode).seal(deviceCode, 'device code') })
      await sql`
        insert into oidc_models (model, id_hash, payload, expires_at)
        values ('UserCode', ${hmacOfUserCode('user code', userCode)}, ${payload}, now() + make_interval(secs => ${expiresIn}))
        on conflict (model, id_hash) do nothing`.execute(db)
    },

    /**
     * Returns the device code; undefined if the user code is unknown or has expired. Counts the attempt before the
     * lookup, so that concurrent guesses cannot exceed the limit. Throws 429 after too many wrong codes from a network.
     */
    async findDeviceCode(userCode: string): Promise<string | undefined> {
      const attempt = await countUserCodeAttempt(db)
      const { rows } = await sql<{ sealed: string }>`
        select payload->>'deviceCode' as sealed from oidc_models
        where model = 'UserCode' and id_hash = ${hmacOfUserCode('user code', userCode)}
          and expires_at > now()`.execute(db)
      if (!rows[0]) return undefined
      await subtractFailure(db, attempt)
      return createKeyRing(userCode).open(rows[0].sealed, 'device code')
    },
  }
}

/**
 * Encrypts the device code of an interaction with the interaction's id. Only the browser has the id; the database has
 * its hash.
 */
export const sealDeviceCode = (deviceCode: string, interaction: string): string =>
  keyRingOfInteraction(interaction).seal(deviceCode, 'device code')

export const openDeviceCode = (sealed: string, interaction: string): string =>
  keyRingOfInteraction(interaction).open(sealed, 'device code')

const keyRingOfInteraction = (interaction: string) =>
  keyRingFromBytes(createHash('sha256').update(`encryption with an interaction ${interaction}`).digest())

const keyRingFromBytes = (key: Buffer) => keyRing(`derived:${key.toString('base64')}`)

/** Counts an attempt to enter a user code. Returns its throttle key. Throws 429 if the network must wait. */
async function countUserCodeAttempt(db: Kysely<DB>): Promise<string> {
  const key = `user-code:${toNetworkPrefix((Provider.ctx?.req as Request | undefined)?.ip ?? '')}`
  const { rows } = await sql<{
    seconds: number
  }>`${countFailureSql(sql`select ${key}::text`, userCodeLimit)}`.execute(db)
  const wait = Math.ceil(rows[0]?.seconds ?? 0)
  if (wait > 0) throw new TooManyUserCodes(wait)
  return key
}

/** Thrown after too many wrong user codes from a network. */
export class TooManyUserCodes extends errors.OIDCProviderError {
  readonly seconds: number

  constructor(seconds: number) {
    super(429, 'slow_down')
    this.error_description = `too many wrong user codes from this network: try again in ${seconds} seconds`
    this.seconds = seconds
  }
}
