import { randomUUID } from 'node:crypto'
import { exportJWK, exportPKCS8, generateKeyPair, type JWK } from 'jose'
import { sql, type Kysely } from 'kysely'
import { transaction, type KeyRing } from '@sluice/database'
import type { DB } from '../database.ts'

/**
 * NEXT is published and signs nothing yet; CURRENT signs; PREVIOUS is published as long as what it signed may be shown to
 * anybody. There is at most one of the first two.
 */
export type KeyState = 'NEXT' | 'CURRENT' | 'PREVIOUS'

export interface StoredKey {
  kid: string
  public_jwk: JWK
  /** PKCS #8, sealed. */
  private_key: string
  state: KeyState
  state_since: Date
}

/** Any number that no other advisory lock of this service uses. */
const lock = 7_314_510
const purpose = (kid: string) => `signing_keys.private_key:${kid}`

export const openKey = (ring: KeyRing, { kid, private_key }: StoredKey): string => ring.open(private_key, purpose(kid))

export async function storedKeys(db: Kysely<DB>): Promise<StoredKey[]> {
  const { rows } = await sql<StoredKey>`
    select kid, public_jwk, private_key, state, state_since from signing_keys order by created_at, kid`.execute(db)
  return rows
}

/** Runs a change of the keys. One at a time, of all processes. */
export const changingKeys = <T>(db: Kysely<DB>, change: (trx: Kysely<DB>) => Promise<T>): Promise<T> =>
  transaction(db, async (trx) => {
    await sql`select pg_advisory_xact_lock(${lock})`.execute(trx)
    return change(trx)
  })

/** Two processes may start at once: the second finds the key of the first. */
export const firstKey = (db: Kysely<DB>, ring: KeyRing): Promise<StoredKey> =>
  changingKeys(db, async (trx) => {
    const there = (await storedKeys(trx)).find(({ state }) => state === 'CURRENT')
    return there ?? addKey(trx, ring, 'CURRENT')
  })

export async function addKey(trx: Kysely<DB>, ring: KeyRing, state: KeyState): Promise<StoredKey> {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
  const kid = randomUUID()
  const { kty, crv, x, y } = await exportJWK(publicKey)
  const public_jwk = { kty, crv, x, y, kid, alg: 'ES256', use: 'sig' } as JWK
  const private_key = ring.seal(await exportPKCS8(privateKey), purpose(kid))
  const { rows } = await sql<StoredKey>`
    insert into signing_keys (kid, public_jwk, private_key, state)
    values (${kid}, ${JSON.stringify(public_jwk)}, ${private_key}, ${state})
    returning kid, public_jwk, private_key, state, state_since`.execute(trx)
  return rows[0]!
}
