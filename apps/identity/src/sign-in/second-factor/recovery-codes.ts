import { createHash, randomBytes } from 'node:crypto'
import { sql, type Kysely } from 'kysely'
import type { DB } from '../../database.ts'

const count = 10

/** Crockford's base32, without letters that look like others. Each character has five bits. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/** Returns a code with 125 random bits, so a fast hash is enough. Format: `xxxxx-xxxxx-xxxxx-xxxxx-xxxxx`. */
function newRecoveryCode(): string {
  const letters = Array.from(randomBytes(25), (byte) => alphabet[byte % 32]).join('')
  return letters.replaceAll(/(.{5})(?=.)/g, '$1-')
}

/** Hashes a code, ignoring case and separators. */

const hashOf = (code: string): Buffer =>
  createHash('sha256')
    .update(
      code
        .toLowerCase()
        .replaceAll(/[^a-z0-9]/g, '')
        .replaceAll('o', '0')
        .replaceAll(/[il]/g, '1'),
    )
    .digest()

/** Replaces the codes of a user. Stores only hashes. */
export async function replaceRecoveryCodes(trx: Kysely<DB>, user: number): Promise<string[]> {
  const codes = Array.from({ length: count }, newRecoveryCode)
  await sql`delete from recovery_codes where user_id = ${user}`.execute(trx)
  await sql`
    insert into recovery_codes (user_id, code_hash)
    select ${user}, unnest(${codes.map(hashOf)}::bytea[])`.execute(trx)
  return codes
}

/** Uses up a code. Exactly one of any number of concurrent uses returns true. */
export async function useRecoveryCode(trx: Kysely<DB>, user: number, code: string): Promise<boolean> {
  const { rows } = await sql`
    update recovery_codes set used_at = now()
    where user_id = ${user} and code_hash = ${hashOf(code)} and used_at is null returning true`.execute(trx)
  return rows.length > 0
}

export async function recoveryCodesLeft(db: Kysely<DB>, user: number): Promise<number> {
  const { rows } = await sql<{ left: number }>`
    select count(*) as left from recovery_codes where user_id = ${user} and used_at is null`.execute(db)
  return rows[0]!.left
}
