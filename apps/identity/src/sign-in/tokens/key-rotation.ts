import { sql, type Kysely } from 'kysely'
import type { KeyRing } from '@sluice/database'
import type { Config } from '../../config.ts'
import type { DB } from '../../database.ts'
import { addKey, changeKeysExclusively, listStoredKeys, type StoredKey } from './signing-keys.ts'

export interface KeyRotation {
  ring: KeyRing
  /** Days for which a key signs. 0 disables automatic rotation. */
  days: number
  /** Days for which a retired key stays published, at least the longest lifetime of a token. */
  daysKept: number
}

export const readKeyRotation = (
  config: Pick<Config, 'SECRET_KEYS' | 'KEY_ROTATION_DAYS' | 'SESSION_DAYS'>,
): KeyRotation => ({
  ring: config.SECRET_KEYS,
  days: config.KEY_ROTATION_DAYS,
  // Applications send ID tokens again at the logout, so ID tokens are needed as long as the session.
  daysKept: config.SESSION_DAYS + 1,
})

/**
 * Minutes between publishing a key and signing with it: the maximum time for which other programs cache the key set.
 */
const prepublishMinutes = 60
const minutesPerDay = 24 * 60

/**
 * Deletes retired keys that are older than `daysKept`. Then publishes a next key if it is missing. Otherwise makes the
 * next key the signing key if the current one has signed for `days` (0: never) and other programs have had time to
 * fetch the next one.
 */
export const rotateDueKeys = (db: Kysely<DB>, { ring, days, daysKept }: KeyRotation): Promise<void> =>
  changeKeysExclusively(db, async (trx) => {
    await removePreviousKeys(trx, daysKept)
    const { current, next } = await findCurrentAndNextKey(trx)
    // The first key is created when it is first needed.
    if (!current) return
    if (!next) {
      await addKey(trx, ring, 'NEXT')
      return
    }
    const isRotationDue = days > 0 && isInStateLongerThan(current, days * minutesPerDay)
    if (isRotationDue && isInStateLongerThan(next, prepublishMinutes)) await promoteNextKey(trx, ring)
  })

async function removePreviousKeys(trx: Kysely<DB>, daysKept: number): Promise<void> {
  await sql`
    delete from signing_keys
    where state = 'PREVIOUS' and state_since < now() - make_interval(days => ${daysKept})`.execute(trx)
}

export type RotationResult =
  | { outcome: 'rotated'; kid: string }
  /** The next key was published less than an hour ago and is not yet used. */
  | { outcome: 'published'; kid: string; signsFrom: Date }

/**
 * Makes the next key the signing key. Creates missing keys first. Without `immediately`, a next key that other programs
 * have not had time to fetch is only published, and the result says when it can sign.
 */
export const rotateKeys = (
  db: Kysely<DB>,
  ring: KeyRing,
  { immediately = false }: { immediately?: boolean | undefined } = {},
): Promise<RotationResult> =>
  changeKeysExclusively(db, async (trx) => {
    const keys = await findCurrentAndNextKey(trx)
    if (!keys.current) await addKey(trx, ring, 'CURRENT')
    const next = keys.next ?? (await addKey(trx, ring, 'NEXT'))
    const maySign = immediately || isInStateLongerThan(next, prepublishMinutes)
    if (!maySign) {
      const signsFrom = new Date(next.state_since.getTime() + prepublishMinutes * 60_000)
      return { outcome: 'published', kid: next.kid, signsFrom }
    }
    await promoteNextKey(trx, ring)
    return { outcome: 'rotated', kid: next.kid }
  })

/** Deletes all retired keys after a leak, so that their tokens are rejected. Returns the number of deleted keys. */
export async function forgetPreviousKeys(db: Kysely<DB>): Promise<number> {
  const { rows } = await sql`delete from signing_keys where state = 'PREVIOUS' returning 1`.execute(db)
  return rows.length
}

async function findCurrentAndNextKey(trx: Kysely<DB>) {
  const keys = await listStoredKeys(trx)
  const inState = (wantedState: StoredKey['state']) => keys.find(({ state }) => state === wantedState)
  return { current: inState('CURRENT'), next: inState('NEXT') }
}

/** Makes the next key the signing key, retires the current one, and publishes a new next key. */
async function promoteNextKey(trx: Kysely<DB>, ring: KeyRing): Promise<void> {
  await sql`update signing_keys set state = 'PREVIOUS', state_since = now() where state = 'CURRENT'`.execute(trx)
  await sql`update signing_keys set state = 'CURRENT', state_since = now() where state = 'NEXT'`.execute(trx)
  await addKey(trx, ring, 'NEXT')
}

const isInStateLongerThan = ({ state_since }: StoredKey, minutes: number): boolean =>
  Date.now() - state_since.getTime() > minutes * 60_000
