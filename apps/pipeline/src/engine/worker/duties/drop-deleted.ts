import type { Logger } from '@sluice/process'
import type { Kysely } from 'kysely'
import type { DB } from '../../../database.ts'
import { dropWaiting } from '../../drops/drops.ts'
import type { ClientWarehouses } from '../../warehouses/client-warehouses.ts'
import type { Duty } from '../janitor.ts'

/** Drops the tables and schemas of pipelines and schemas that were deleted while the warehouse did not let them go. */
export function dropDeleted(parts: { db: Kysely<DB>; warehouses: ClientWarehouses; logger: Logger }): Duty {
  const { db, warehouses, logger } = parts
  return {
    name: 'deleted tables',
    run: () =>
      dropWaiting(db, warehouses, (error, { client, schema_name: schema, table_name: table }) =>
        logger.warn({ err: error, client, schema, table }, 'what was deleted stays in the warehouse for now'),
      ),
  }
}
