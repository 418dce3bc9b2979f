import type { Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import type { Kind } from '../../engine/warehouses/kinds.ts'
import type { DataPipelineRow } from './row.ts'

/** The schema that the table of a pipeline is in, and the kind of warehouse that the schema is in. */
export async function placeOfPipeline(
  db: Kysely<DB>,
  { schema_id }: DataPipelineRow,
): Promise<{ schema: string; provider: Kind }> {
  const row = await db
    .selectFrom('schemas')
    .select(['schema_name', 'provider_schema'])
    .where('id', '=', schema_id)
    .executeTakeFirstOrThrow()
  return { schema: row.schema_name, provider: row.provider_schema as Kind }
}
