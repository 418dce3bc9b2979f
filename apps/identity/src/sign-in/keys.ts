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
import type { DB } from '../database.ts'

export interface SigningKeys {
  /** The key that new tokens are signed with. */
  current(): Promise<{ kid: string; key: KeyObject }>
  /** The public halves of all keys whose tokens may still be under way, and of the next one. */
  published(): Promise<JSONWebKeySet>
  /** The same keys whole, the one that signs first. The same array as long as they are the same. */
  whole(): Promise<JWK[]>
  /** Finds the key of a token that we issued. */
  verification: JWTVerifyGetKey
}

interface LoadedKeys {
  kid: string
  key: KeyObject
  set: JSONWebKeySet
  whole: JWK[]
  find: JWTVerifyGetKey
  at: number
}

/** Milliseconds that keys are believed, so that a rotation by another process is seen. */
const refreshAfterMs = 60_000
/** Milliseconds after which keys are not used before they were read again: a process that idled may have missed a withdrawal. */
const maxAgeMs = 600_000
const unknownKeyRest = 5_000

/** The keys of this deployment, from the database; the first process to ask makes the first one. */
export function signingKeys(db: Kysely<DB>, ring: KeyRing): SigningKeys {
  let loading: Promise<LoadedKeys> | undefined
  let loaded: LoadedKeys | undefined

  const load = (): Promise<LoadedKeys> => {
    loading ??= read(db, ring, loaded)
      .then((keys) => (loaded = keys))
      .finally(() => (loading = undefined))
    return loading
  }
  const keys = async (): Promise<LoadedKeys> => {
    if (!loaded) return load()
    // What is old still serves while the next is fetched: a database that is down for a while ends no session.
    const age = performance.now() - loaded.at
    if (age > maxAgeMs) return load()
    if (age > refreshAfterMs) void load().catch(() => {})
    return loaded
  }
  return {
    current: async () => {
      const { kid, key } = await keys()
      return { kid, key }
    },
    published: async () => (await keys()).set,
    whole: async () => (await keys()).whole,
    async verification(header, token) {
      const known = await keys()
      try {
        return await known.find(header, token)
      } catch (error) {
        // Another process may have rotated. Tokens with made-up key ids must not make us read all the time.
        if (!(error instanceof errors.JWKSNoMatchingKey) || performance.now() - known.at < unknownKeyRest) throw error
        return (await load()).find(header, token)
      }
    },
  }
}

async function read(db: Kysely<DB>, ring: KeyRing, before: LoadedKeys | undefined): Promise<LoadedKeys> {
  const rows = await storedKeys(db)
  const current = rows.find(({ state }) => state === 'CURRENT') ?? (await findOrCreateCurrentKey(db, ring))
  // A key that was made just now is not among the rows, and may be another process's.
  const all = [...new Map([...rows, current].map((row) => [row.kid, row])).values()]
  const inOrder = [current, ...all.filter(({ kid }) => kid !== current.kid)]
  if (before && sameKeys(before.whole, inOrder)) return { ...before, at: performance.now() }
  const set = { keys: all.map(({ public_jwk }) => public_jwk) }
  const key = createPrivateKey(openKey(ring, current))
  const whole = await Promise.all(inOrder.map((row) => wholeKey(ring, row)))
  return { kid: current.kid, key, set, whole, find: createLocalJWKSet(set), at: performance.now() }
}

const sameKeys = (whole: readonly JWK[], rows: readonly StoredKey[]): boolean =>
  whole.length === rows.length && whole.every(({ kid }, index) => kid === rows[index]?.kid)

async function wholeKey(ring: KeyRing, row: StoredKey): Promise<JWK> {
  const key = await importPKCS8(openKey(ring, row), 'ES256', { extractable: true })
  const { d } = await exportJWK(key)
  return { ...row.public_jwk, d } as JWK
}

/**
 * NEXT is published and signs nothing yet; CURRENT signs; PREVIOUS is published as long as what it signed may be shown to
 * anybody. There is at most one of the first two.
 */
type KeyState = 'NEXT' | 'CURRENT' | 'PREVIOUS'

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

const openKey = (ring: KeyRing, { kid, private_key }: StoredKey): string => ring.open(private_key, purpose(kid))

export async function storedKeys(db: Kysely<DB>): Promise<StoredKey[]> {
  const { rows } = await sql<StoredKey>`
    select kid, public_jwk, private_key, state, state_since from signing_keys order by created_at, kid`.execute(db)
  return rows
}

/** Runs a change of the keys. One at a time, of all processes. */
export const changeKeysExclusively = <T>(db: Kysely<DB>, change: (trx: Kysely<DB>) => Promise<T>): Promise<T> =>
  transaction(db, async (trx) => {
    await sql`select pg_advisory_xact_lock(${lock})`.execute(trx)
    return change(trx)
  })

/** Two processes may start at once: the second finds the key of the first. */
const findOrCreateCurrentKey = (db: Kysely<DB>, ring: KeyRing): Promise<StoredKey> =>
  changeKeysExclusively(db, async (trx) => {
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
