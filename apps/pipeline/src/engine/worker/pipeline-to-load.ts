import type { SchemaChanges } from '@sluice/contracts'
import type { Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import { LostRun } from '../lost-run.ts'

/** A data pipeline as its attempt found it. */
export interface PipelineToLoad {
  id: number
  uid: string
  name: string
  type: string
  settings: unknown
  /** Sealed. */
  source_secrets: string | null
  /** What runs on the staging table before it is published, in this order. */
  sqlStatements: Sql[]
  schema: string
  /** Which kind of warehouse the schema is in. */
  provider: string
  table: string
  /** Set where somebody reset the cursor since the last load. */
  reset: { from?: string } | null
  schemaChanges: SchemaChanges
  /** The group of checks that the rows have to pass. */
  qualityGroupId: number | null
}

interface Sql {
  description?: string
  statement: string
}

/** Throws `LostRun` when it was deleted meanwhile. */
export async function readPipeline(db: Kysely<DB>, id: number): Promise<PipelineToLoad> {
  const row = await db
    .selectFrom('data_pipelines as p')
    .innerJoin('schemas as s', 's.id', 'p.schema_id')
    .select(['p.id', 'p.uid', 'p.name', 'p.type', 'p.settings', 'p.source_secrets', 'p.transformation'])
    .select('p.schema_changes as schemaChanges')
    .select([
      'p.table_name as table',
      'p.cursor_reset as reset',
      's.schema_name as schema',
      's.provider_schema as provider',
      'p.quality_group_id as qualityGroupId',
    ])
    .where('p.id', '=', id)
    .executeTakeFirst()
  if (!row) throw new LostRun('The pipeline was deleted.')
  const { transformation, reset, schemaChanges, ...pipeline } = row
  return {
    ...pipeline,
    reset: reset as PipelineToLoad['reset'],
    schemaChanges: schemaChanges as SchemaChanges,
    sqlStatements: (transformation as { sqlStatements?: Sql[] }).sqlStatements ?? [],
  }
}
