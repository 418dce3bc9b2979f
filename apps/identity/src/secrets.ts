import type { SealedColumn } from '@sluice/database'

/** All columns with sealed text. `bin/reseal.ts` reseals them; a test compares the list with the code that seals. */
export const sealedColumns: readonly SealedColumn[] = [
  { table: 'signing_keys', key: 'kid', column: 'private_key' },
  { table: 'second_factors', key: 'user_id', column: 'seed' },
  { table: 'sso_provider_configs', key: 'uid', column: 'client_secret' },
  { table: 'mails', key: 'uid', column: 'body' },
]
