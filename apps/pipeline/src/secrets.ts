import type { SealedColumn } from '@sluice/database'

/** Every column that holds sealed text. `bin/reseal.ts` walks them; a test compares them with what the code seals. */
export const sealedColumns: readonly SealedColumn[] = [
  { table: 'warehouses', key: 'client', column: 'load_password' },
  { table: 'warehouses', key: 'client', column: 'read_password' },
  { table: 'runs', key: 'uid', column: 'sealed_input' },
  { table: 'data_pipelines', key: 'uid', column: 'source_secrets' },
  { table: 'variables', key: 'uid', column: 'sealed_value' },
  { table: 'destinations', key: 'uid', column: 'target_secrets' },
]

/** Whether every key is there is asked of these: `runs` is large, and its secrets live as long as a run. */
export const durableSealedColumns = sealedColumns.filter(({ table }) => table !== 'runs')
