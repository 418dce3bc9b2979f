import { createHash } from 'node:crypto'
import type { SealedColumn } from '@sluice/database'

/**
 * All encrypted columns, which `bin/reseal-secrets.ts` encrypts with a new key. A test checks that the list is
 * complete.
 */
export const sealedColumns: readonly SealedColumn[] = [
  { table: 'signing_keys', key: 'kid', column: 'private_key' },
  { table: 'second_factors', key: 'user_id', column: 'seed' },
  { table: 'sso_provider_configs', key: 'uid', column: 'client_secret' },
  { table: 'mails', key: 'uid', column: 'body' },
]

/**
 * Returns the stored hash (SHA-256) of a generated secret. Generated secrets have too many random bits to be guessed,
 * so they need no slow hash. Passwords need one: see sign-in/password/password-hashing.ts.
 */
export const hashSecret = (secret: string): Buffer => createHash('sha256').update(secret).digest()
