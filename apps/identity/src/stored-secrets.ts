import { createHash } from 'node:crypto'
import type { SealedColumn } from '@sluice/database'

/** All encrypted columns. `bin/reseal-secrets.ts` encrypts them with a new key; a test compares the list with the code. */
export const sealedColumns: readonly SealedColumn[] = [
  { table: 'signing_keys', key: 'kid', column: 'private_key' },
  { table: 'second_factors', key: 'user_id', column: 'seed' },
  { table: 'sso_provider_configs', key: 'uid', column: 'client_secret' },
  { table: 'mails', key: 'uid', column: 'body' },
]

/**
 * Returns the stored hash of a generated secret: 32 bytes of SHA-256. A generated secret has too many random bits for
 * guessing, so it needs no slow hash. Passwords need one: see sign-in/password/password-hashing.ts.
 */
export const hashSecret = (secret: string): Buffer => createHash('sha256').update(secret).digest()
