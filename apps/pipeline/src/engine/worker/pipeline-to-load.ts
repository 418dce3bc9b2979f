import type { SchemaChanges } from '@sluice/contracts'
import type { Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import { LostRun } from '../lost-run.ts'
import { isFilledByAnother, isTableTaken } from '../drops/pipeline-tables.ts'
import { LoadProblem } from '../loads/load-feeds.ts'
import type { Feed } from '../sources/source.ts'
import { type SourceSecrets, openSource } from '../../source-secrets.ts'
import { namesVariables } from '../variables/replace.ts'
import { withValuesOf } from '../variables/source-values.ts'
import { variablesOf } from '../variables/variables.ts'
import type { RunContext } from './run-handler.ts'

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
  sqlStatements: SqlStatement[]
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

interface SqlStatement {
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
    sqlStatements: (transformation as { sqlStatements?: SqlStatement[] }).sqlStatements ?? [],
  }
}

/** The feeds of a pipeline. One whose table another pipeline or a view has ends them with `LoadProblem`: it would be overwritten. */
export async function* ownTables(
  db: Kysely<DB>,
  { client }: { client: string },
  { id, schema, table }: PipelineToLoad,
  feeds: AsyncIterable<Feed>,
): AsyncGenerator<Feed, void, void> {
  for await (const feed of feeds) {
    const other = feed.table !== '' && feed.table !== table
    const name = { client, schema, table: feed.table }
    if (other && ((await isTableTaken(db, name, id)) || (await isFilledByAnother(db, name, table))))
      throw new LoadProblem(
        'TABLE_TAKEN',
        `The source fills a table "${feed.table}" as well, and another pipeline of schema "${schema}" fills it, or another pipeline or a view is called like that. Rename one of them.`,
      )
    yield feed
  }
}

/**
 * A pipeline's source with the values of variables in its settings and secrets. From now on no log line holds any of what is
 * secret in it. Throws `VariableProblem` when a variable is not there, or leads to another
 * address than the secrets were given for.
 */
export async function sourceToRead(
  { db, keyRing, redaction }: Pick<RunContext, 'db' | 'keyRing' | 'redaction'>,
  client: string,
  pipeline: PipelineToLoad,
): Promise<{ type: string; settings: unknown; secrets: SourceSecrets }> {
  const { type, settings } = pipeline
  const { secrets, givenFor } = openSource(pipeline, keyRing)
  if (!namesVariables(settings, secrets)) {
    redaction.add(...Object.values(secrets))
    return { type, settings, secrets }
  }
  const variables = await variablesOf(db, client, keyRing)
  const ready = withValuesOf({ type, settings, secrets, givenFor }, variables)
  redaction.add(...variables.spellings, ...Object.values(ready.secrets))
  return { type, ...ready }
}
