import { randomUUID } from 'node:crypto'
import {
  createLocalJWKSet,
  errors,
  exportJWK,
  exportPKCS8,
  generateKeyPair,
  importPKCS8,
  type CryptoKey,
  type JSONWebKeySet,
  type JWK,
  type JWTVerifyGetKey,
} from 'jose'
import { sql, type Kysely } from 'kysely'
import { transaction, type KeyRing } from '@sluice/database'
import type { DB } from '../database.ts'

export interface SigningKeys {
  /** The key that new tokens are signed with. */
  current(): Promise<{ kid: string; key: CryptoKey }>
  /** The public halves of all keys whose tokens may still be under way. */
  published(): Promise<JSONWebKeySet>
  /** Finds the key of a token that we issued. */
  verification: JWTVerifyGetKey
}

interface Loaded {
  kid: string
  key: CryptoKey
  set: JSONWebKeySet
  find: JWTVerifyGetKey
  at: number
}

/** Milliseconds that keys are believed, so that a rotation by another process is seen. */
const believed = 60_000
const unknownKeyRest = 5_000
/** Any number that no other advisory lock of this service uses. */
const lock = 7_314_510
const purpose = (kid: string) => `signing_keys.private_key:${kid}`

/** The keys of this deployment, from the database; the first process to ask makes the first one. */
export function signingKeys(db: Kysely<DB>, ring: KeyRing): SigningKeys {
  let loading: Promise<Loaded> | undefined
  let loaded: Loaded | undefined

  const load = (): Promise<Loaded> => {
    loading ??= read(db, ring)
      .then((keys) => (loaded = keys))
      .finally(() => (loading = undefined))
    return loading
  }
  const keys = async (): Promise<Loaded> => {
    if (!loaded) return load()
    // What is old still serves while the next is fetched: a database that is down for a while ends no session.
    if (Date.now() - loaded.at > believed) void load().catch(() => {})
    return loaded
  }
  return {
    current: async () => {
      const { kid, key } = await keys()
      return { kid, key }
    },
    published: async () => (await keys()).set,
    async verification(header, token) {
      const known = await keys()
      try {
        return await known.find(header, token)
      } catch (error) {
        // Another process may have rotated. Tokens with made-up key ids must not make us read all the time.
        if (!(error instanceof errors.JWKSNoMatchingKey) || Date.now() - known.at < unknownKeyRest) throw error
        return (await load()).find(header, token)
      }
    },
  }
}

async function read(db: Kysely<DB>, ring: KeyRing): Promise<Loaded> {
  const rows = await stored(db)
  const current = rows.find(({ state }) => state === 'CURRENT') ?? (await firstKey(db, ring))
  // A key that was made just now is not among the rows, and may be another process's.
  const all = new Map([...rows, current].map(({ kid, public_jwk }) => [kid, public_jwk]))
  const set = { keys: [...all.values()] }
  const key = await importPKCS8(ring.open(current.private_key, purpose(current.kid)), 'ES256')
  return { kid: current.kid, key, set, find: createLocalJWKSet(set), at: Date.now() }
}

interface StoredKey {
  kid: string
  public_jwk: JWK
  private_key: string
  state: string
}

const stored = async (db: Kysely<DB>): Promise<StoredKey[]> =>
  (
    await sql<StoredKey>`select kid, public_jwk, private_key, state from signing_keys order by created_at, kid`.execute(
      db,
    )
  ).rows

/** Two processes may start at once: the second finds the key of the first. */
async function firstKey(db: Kysely<DB>, ring: KeyRing): Promise<StoredKey> {
  return transaction(db, async (trx) => {
    await sql`select pg_advisory_xact_lock(${lock})`.execute(trx)
    const there = (await stored(trx)).find(({ state }) => state === 'CURRENT')
    if (there) return there
    const made = await newKey(ring)
    await sql`
      insert into signing_keys (kid, public_jwk, private_key, state)
      values (${made.kid}, ${JSON.stringify(made.public_jwk)}, ${made.private_key}, ${made.state})`.execute(trx)
    return made
  })
}

async function newKey(ring: KeyRing): Promise<StoredKey> {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
  const kid = randomUUID()
  const { kty, crv, x, y } = await exportJWK(publicKey)
  return {
    kid,
    public_jwk: { kty, crv, x, y, kid, alg: 'ES256', use: 'sig' } as JWK,
    private_key: ring.seal(await exportPKCS8(privateKey), purpose(kid)),
    state: 'CURRENT',
  }
}
