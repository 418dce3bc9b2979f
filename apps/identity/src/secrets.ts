import type { SealedColumn } from '@sluice/database'

/** Every column that holds sealed text. `bin/reseal.ts` walks them; a test compares them with what the code seals. */
export const sealedColumns: readonly SealedColumn[] = [
  { table: 'signing_keys', key: 'kid', column: 'private_key' },
  { table: 'second_factors', key: 'user_id', column: 'seed' },
  { table: 'sso_provider_configs', key: 'uid', column: 'client_secret' },
  { table: 'mails', key: 'uid', column: 'body' },
]
