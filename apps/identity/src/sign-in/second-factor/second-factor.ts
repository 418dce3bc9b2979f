import { createHash, randomBytes } from 'node:crypto'
import { type Kysely, type Transaction, sql } from 'kysely'
import type { SecondFactorMethod } from '@sluice/contracts'
import type { KeyRing } from '@sluice/database'
import type { DB } from '../../database.ts'
import { endTicketsOfUser } from './tickets.ts'
import { generateSeed, findTimeStep } from './totp.ts'

const seedPurpose = (user: number) => `second_factors.seed:${user}`

interface SecondFactorRow {
  seed: string
  confirmed_at: Date | null
  last_step: number
}

async function findSecondFactor(db: Kysely<DB>, user: number): Promise<SecondFactorRow | undefined> {
  const { rows } = await sql<SecondFactorRow>`
    select seed, confirmed_at, last_step from second_factors where user_id = ${user}`.execute(db)
  return rows[0]
}

export async function readSecondFactor(db: Kysely<DB>, user: number) {
  const [factor, left] = await Promise.all([findSecondFactor(db, user), countRecoveryCodes(db, user)])
  return { since: factor?.confirmed_at ?? undefined, recoveryCodesLeft: left }
}

/** Returns the kinds of code with which a user can sign in. */
export async function listCodeMethods(db: Kysely<DB>, user: number): Promise<SecondFactorMethod[]> {
  return (await countRecoveryCodes(db, user)) > 0 ? ['TOTP', 'RECOVERY_CODE'] : ['TOTP']
}

/**
 * Creates a TOTP seed, which replaces an unconfirmed one. Returns undefined if a confirmed seed exists. The caller must
 * hold the lock on the user.
 */
export async function startEnrolment(trx: Transaction<DB>, user: number, keys: KeyRing): Promise<string | undefined> {
  const seed = generateSeed()
  const { rows } = await sql`
    insert into second_factors (user_id, seed) values (${user}, ${keys.seal(seed, seedPurpose(user))})
    on conflict (user_id) do update set seed = excluded.seed, created_at = now(), last_step = 0
    where second_factors.confirmed_at is null
    returning true`.execute(trx)
  return rows.length > 0 ? seed : undefined
}

/**
 * Activates the TOTP seed if the code matches it, and returns new recovery codes. Returns the reason if the code is
 * wrong or no setup was started. The caller must hold the lock on the user.
 */
export async function confirmEnrolment(
  trx: Transaction<DB>,
  user: number,
  code: string,
  keys: KeyRing,
): Promise<string[] | 'wrong code' | 'nothing to confirm'> {
  const factor = await findSecondFactor(trx, user)
  if (!factor || factor.confirmed_at) return 'nothing to confirm'
  if (!(await consumeTimeStep(trx, user, factor, code, keys))) return 'wrong code'
  await sql`update second_factors set confirmed_at = now() where user_id = ${user}`.execute(trx)
  await sql`update users set two_factor_auth = true where id = ${user}`.execute(trx)
  return replaceRecoveryCodes(trx, user)
}

/**
 * Uses up a TOTP code or a recovery code, and returns which of them it was. Returns undefined if the code is wrong or
 * was used before, or if the user has no active second factor.
 */
export async function consumeCode(
  trx: Transaction<DB>,
  user: number,
  code: string,
  keys: KeyRing,
): Promise<SecondFactorMethod | undefined> {
  const factor = await findSecondFactor(trx, user)
  if (!factor?.confirmed_at) return undefined
  if (await consumeTimeStep(trx, user, factor, code, keys)) return 'TOTP'
  return (await consumeRecoveryCode(trx, user, code)) ? 'RECOVERY_CODE' : undefined
}

/**
 * Returns whether a TOTP code is correct and was not used before. Stores the 30-second time step of the code, so that
 * later calls accept only codes of later steps.
 */
async function consumeTimeStep(
  trx: Transaction<DB>,
  user: number,
  { seed }: SecondFactorRow,
  code: string,
  keys: KeyRing,
): Promise<boolean> {
  const digits = code.replaceAll(/[\s-]/g, '')
  const step = findTimeStep(digits, keys.open(seed, seedPurpose(user)))
  if (step === undefined) return false
  const { rows } = await sql`
    update second_factors set last_step = ${step}
    where user_id = ${user} and last_step < ${step} returning true`.execute(trx)
  return rows.length > 0
}

/** Deletes a user's second factor and all its data. Returns false if the user had none. */
export async function removeSecondFactor(trx: Transaction<DB>, user: number): Promise<boolean> {
  const { rows } = await sql`
    update users set two_factor_auth = false where id = ${user} and two_factor_auth returning true`.execute(trx)
  await sql`delete from second_factors where user_id = ${user}`.execute(trx)
  await sql`delete from recovery_codes where user_id = ${user}`.execute(trx)
  await endTicketsOfUser(trx, user)
  return rows.length > 0
}

const recoveryCodeCount = 10

/** Crockford's base32 alphabet, which omits letters that are easily confused. Each character encodes five bits. */
const recoveryCodeAlphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/** Returns a recovery code such as `xxxxx-xxxxx-xxxxx-xxxxx-xxxxx`. It has 125 random bits, so a fast hash is safe. */
function generateRecoveryCode(): string {
  const letters = Array.from(randomBytes(25), (byte) => recoveryCodeAlphabet[byte % 32]).join('')
  return letters.replaceAll(/(.{5})(?=.)/g, '$1-')
}

/** Hashes a recovery code. Ignores case and separators, and reads the letters o, i and l as the digits 0 and 1. */
const hashRecoveryCode = (code: string): Buffer =>
  createHash('sha256')
    .update(
      code
        .toLowerCase()
        .replaceAll(/[^a-z0-9]/g, '')
        .replaceAll('o', '0')
        .replaceAll(/[il]/g, '1'),
    )
    .digest()

/** Replaces the recovery codes of a user and returns the new ones. Stores only their hashes. */
export async function replaceRecoveryCodes(trx: Kysely<DB>, user: number): Promise<string[]> {
  const codes = Array.from({ length: recoveryCodeCount }, generateRecoveryCode)
  await sql`delete from recovery_codes where user_id = ${user}`.execute(trx)
  await sql`
    insert into recovery_codes (user_id, code_hash)
    select ${user}, unnest(${codes.map(hashRecoveryCode)}::bytea[])`.execute(trx)
  return codes
}

/** Uses up a recovery code. Returns true for only one of several concurrent uses. */
async function consumeRecoveryCode(trx: Kysely<DB>, user: number, code: string): Promise<boolean> {
  const { rows } = await sql`
    update recovery_codes set used_at = now()
    where user_id = ${user} and code_hash = ${hashRecoveryCode(code)} and used_at is null returning true`.execute(trx)
  return rows.length > 0
}

export async function countRecoveryCodes(db: Kysely<DB>, user: number): Promise<number> {
  const { rows } = await sql<{ left: number }>`
    select count(*) as left from recovery_codes where user_id = ${user} and used_at is null`.execute(db)
  return rows[0]!.left
}
