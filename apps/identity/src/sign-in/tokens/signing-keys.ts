import { type KeyObject, createPrivateKey, randomUUID } from 'node:crypto'
import {
  type JSONWebKeySet,
  type JWK,
  type JWTVerifyGetKey,
  createLocalJWKSet,
  errors,
  exportJWK,
  exportPKCS8,
  generateKeyPair,
  importPKCS8,
} from 'jose'
import { type Kysely, sql } from 'kysely'
import { type KeyRing, transaction } from '@sluice/database'
import type { DB } from '../../database.ts'

export interface SigningKeys {
  /** Returns the key that signs new tokens. */
  current(): Promise<{ kid: string; key: KeyObject }>
  /** Returns the public keys that verify existing tokens, and the next public key. */
  published(): Promise<JSONWebKeySet>
  /**
   * Returns these keys with their private parts, the signing key first. Returns the same array until the keys change.
   */
  privateKeys(): Promise<JWK[]>
  /** Finds the key that verifies a token of this deployment. */
  verification: JWTVerifyGetKey
}

interface LoadedKeys {
  /** The id of the current key, which signs. */
  kid: string
  signingKey: KeyObject
  publicKeys: JSONWebKeySet
  privateKeys: JWK[]
  findVerificationKey: JWTVerifyGetKey
  /** The time at which the keys were read, from `performance.now()`. */
  loadedAt: number
}

/** Milliseconds after which cached keys are read again in the background, to detect a rotation by another process. */
const refreshAfterMs = 60_000
/** Milliseconds after which cached keys expire, because an idle process may have missed that a key was deleted. */
const maxAgeMs = 600_000
/** The minimum number of milliseconds between two reads that unknown key ids cause. */
const minReloadIntervalMs = 5_000

/**
 * Returns access to the keys of this deployment. They are stored in the database and cached here. The first process
 * that needs a key creates it.
 */
export function createSigningKeys(db: Kysely<DB>, ring: KeyRing): SigningKeys {
  const { getKeys, reloadKeys } = createKeyCache(db, ring)
  return {
    current: async () => {
      const { kid, signingKey } = await getKeys()
      return { kid, key: signingKey }
    },
    published: async () => (await getKeys()).publicKeys,
    privateKeys: async () => (await getKeys()).privateKeys,
    async verification(header, token) {
      const cached = await getKeys()
      try {
        return await cached.findVerificationKey(header, token)
      } catch (error) {
        // Another process may have rotated the keys, so read them again, but not for each token with an invented key
        // id.
        const isUnknownKey = error instanceof errors.JWKSNoMatchingKey
        const mayReload = performance.now() - cached.loadedAt >= minReloadIntervalMs
        if (!isUnknownKey || !mayReload) throw error
        return (await reloadKeys()).findVerificationKey(header, token)
      }
    },
  }
}

/** Returns a function that returns the cached keys if they are fresh enough, and one that always reads them again. */
function createKeyCache(db: Kysely<DB>, ring: KeyRing) {
  let cached: LoadedKeys | undefined
  let runningReload: Promise<LoadedKeys> | undefined

  const readAndCache = async (): Promise<LoadedKeys> => {
    cached = await loadKeys(db, ring, cached)
    return cached
  }
  /** Concurrent callers share one read. */
  const reloadKeys = (): Promise<LoadedKeys> => {
    runningReload ??= readAndCache().finally(() => {
      runningReload = undefined
    })
    return runningReload
  }
  const getKeys = async (): Promise<LoadedKeys> => {
    if (!cached) return reloadKeys()
    const age = performance.now() - cached.loadedAt
    if (age > maxAgeMs) return reloadKeys()
    // Return the cached keys while they are read again, so that a short database outage ends no session.
    if (age > refreshAfterMs) void reloadKeys().catch(() => {})
    return cached
  }
  return { getKeys, reloadKeys }
}

/** Reads the keys. Creates the first key if none exists. Returns the parsed keys of `before` if no key has changed. */
async function loadKeys(db: Kysely<DB>, ring: KeyRing, before: LoadedKeys | undefined): Promise<LoadedKeys> {
  const storedKeys = await listStoredKeys(db)
  const current = storedKeys.find(({ state }) => state === 'CURRENT') ?? (await findOrCreateCurrentKey(db, ring))
  const otherKeys = storedKeys.filter(({ kid }) => kid !== current.kid)
  const keysSigningFirst = [current, ...otherKeys]
  if (before && haveSameKeys(before.privateKeys, keysSigningFirst)) return { ...before, loadedAt: performance.now() }
  // `storedKeys` lacks a current key that was created just now, by this or another process.
  const isStored = storedKeys.length > otherKeys.length
  const keysByAge = isStored ? storedKeys : [...storedKeys, current]
  const publicKeys = { keys: keysByAge.map(({ public_jwk }) => public_jwk) }
  return {
    kid: current.kid,
    signingKey: createPrivateKey(openKey(ring, current)),
    publicKeys,
    privateKeys: await Promise.all(keysSigningFirst.map((key) => toPrivateJwk(ring, key))),
    findVerificationKey: createLocalJWKSet(publicKeys),
    loadedAt: performance.now(),
  }
}

const haveSameKeys = (cached: readonly JWK[], rows: readonly StoredKey[]): boolean =>
  cached.length === rows.length && cached.every(({ kid }, index) => kid === rows[index]?.kid)

async function toPrivateJwk(ring: KeyRing, row: StoredKey): Promise<JWK> {
  const key = await importPKCS8(openKey(ring, row), 'ES256', { extractable: true })
  const { d } = await exportJWK(key)
  return { ...row.public_jwk, d } as JWK
}

/**
 * A NEXT key is published but does not sign yet. A CURRENT key signs. A PREVIOUS key stays published while its tokens
 * may be in use. There is at most one NEXT key and one CURRENT key.
 */
type KeyState = 'NEXT' | 'CURRENT' | 'PREVIOUS'

export interface StoredKey {
  kid: string
  public_jwk: JWK
  /** Encrypted PKCS #8. */
  private_key: string
  state: KeyState
  state_since: Date
}

/** Any number that no other advisory lock of this service uses. */
const signingKeysLockId = 7_314_510
const privateKeyPurpose = (kid: string) => `signing_keys.private_key:${kid}`

const openKey = (ring: KeyRing, { kid, private_key }: StoredKey): string =>
  ring.open(private_key, privateKeyPurpose(kid))

export async function listStoredKeys(db: Kysely<DB>): Promise<StoredKey[]> {
  const { rows } = await sql<StoredKey>`
    select kid, public_jwk, private_key, state, state_since from signing_keys order by created_at, kid`.execute(db)
  return rows
}

/** Runs a change of the keys. Only one such change runs at a time across all processes. */
export const changeKeysExclusively = <T>(db: Kysely<DB>, change: (trx: Kysely<DB>) => Promise<T>): Promise<T> =>
  transaction(db, async (trx) => {
    await sql`select pg_advisory_xact_lock(${signingKeysLockId})`.execute(trx)
    return change(trx)
  })

/** Returns the current key, or creates one. If two processes start at once, the second finds the key of the first. */
const findOrCreateCurrentKey = (db: Kysely<DB>, ring: KeyRing): Promise<StoredKey> =>
  changeKeysExclusively(db, async (trx) => {
    const current = (await listStoredKeys(trx)).find(({ state }) => state === 'CURRENT')
    return current ?? addKey(trx, ring, 'CURRENT')
  })

/** Generates a key pair and stores it, with the private key encrypted. */
export async function addKey(trx: Kysely<DB>, ring: KeyRing, state: KeyState): Promise<StoredKey> {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
  const kid = randomUUID()
  const { kty, crv, x, y } = await exportJWK(publicKey)
  const public_jwk = { kty, crv, x, y, kid, alg: 'ES256', use: 'sig' } as JWK
  const private_key = ring.seal(await exportPKCS8(privateKey), privateKeyPurpose(kid))
  const { rows } = await sql<StoredKey>`
    insert into signing_keys (kid, public_jwk, private_key, state)
    values (${kid}, ${JSON.stringify(public_jwk)}, ${private_key}, ${state})
    returning kid, public_jwk, private_key, state, state_since`.execute(trx)
  return rows[0]!
}
