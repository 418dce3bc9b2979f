import type { SchemaChanges, WriteMode } from '@sluice/contracts'
import { prepared } from '@sluice/database'
import { type Kysely, sql } from 'kysely'
import type { DB } from '../database.ts'
import { LeaseLost } from '@sluice/warehouses/warehouse'
import { isOwnedByAnother } from '../deleted-tables/table-ownership.ts'
import { LoadProblem } from '@sluice/warehouses/load-row-streams'
import type { RowStream } from '@sluice/row-stream'
import type { SourceSecrets } from '@sluice/connectors/connector'
import { selectSetting } from '../organisation-settings.ts'
import { unsealSource } from '../secrets/encrypted-secrets.ts'
import { namesVariables } from '../variables/replace-variables.ts'
import { fillVariables } from '../variables/resolve-source-variables.ts'
import { readVariables } from '../variables/variables.ts'
import type { RunContext } from './run-handler.ts'

/** A data pipeline as it was when the attempt started. */
export interface PipelineToLoad {
  id: number
  uid: string
  name: string
  type: string
  settings: unknown
  /** The encrypted secrets; `readSource` decrypts them. */
  source_secrets: string | null
  /** The statements of the transformation in order. They run on the staging tables, before the rows are published. */
  sqlStatements: SqlStatement[]
  schema: string
  /** The kind of warehouse of the schema. */
  provider: string
  table: string
  /** Set if a user has set or cleared the start position for incremental loads since the last load. */
  reset: { from?: string } | null
  schemaChanges: SchemaChanges
  writeMode: WriteMode
  mergeKey: string[] | null
  /** The primary key of the check group that serves as the quality gate. */
  qualityGroupId: number | null
  /** Whether loads compute profiles (statistics) of the schema's tables. */
  profileTables: boolean
  /** The versions of the organisation's variables. */
  variableVersions: string
  /** Whether a table or schema with the name of the target waits to be dropped. */
  hasPendingDrop: boolean
  /** Whether staging tables are kept for inspection when the load fails. */
  retainsStaging: boolean
}

interface SqlStatement {
  description?: string
  statement: string
}

/** Reads the pipeline of an attempt. Throws `LeaseLost`, which ends the attempt, if the pipeline was deleted. */
export async function readPipeline(db: Kysely<DB>, id: number): Promise<PipelineToLoad> {
  const row = await db
    .selectFrom('data_pipelines as p')
    .innerJoin('schemas as s', 's.id', 'p.schema_id')
    .select(['p.id', 'p.uid', 'p.name', 'p.type', 'p.settings', 'p.source_secrets', 'p.transformation'])
    .select(['p.schema_changes as schemaChanges', 'p.write_mode as writeMode', 'p.merge_key as mergeKey'])
    .select([
      'p.table_name as table',
      'p.cursor_reset as reset',
      's.schema_name as schema',
      's.provider_schema as provider',
      's.profile_tables as profileTables',
      'p.quality_group_id as qualityGroupId',
      sql<string>`(
        select coalesce(string_agg(concat(id, ':', version), ',' order by id), '') from variables where client = s.client
      )`.as('variableVersions'),
      sql<boolean>`exists (
        select from warehouse_drops d where d.client = s.client and d.schema_name = s.schema_name
          and (d.table_name is null or d.table_name = p.table_name))`.as('hasPendingDrop'),
      selectSetting(sql.ref('s.client'), 'DATA_PIPELINE_ERROR_ACTION_STAGING_TABLES').as('errorAction'),
    ])
    .where('p.id', '=', id)
    .modifyEnd(prepared('read-pipeline'))
    .executeTakeFirst()
  if (!row) throw new LeaseLost('The pipeline was deleted.')
  const { transformation, reset, schemaChanges, writeMode, mergeKey, errorAction, ...pipeline } = row
  return {
    ...pipeline,
    reset: reset as PipelineToLoad['reset'],
    schemaChanges: schemaChanges as SchemaChanges,
    writeMode: writeMode as WriteMode,
    mergeKey: mergeKey as string[] | null,
    retainsStaging: errorAction === 'RETAIN',
    sqlStatements: (transformation as { sqlStatements?: SqlStatement[] }).sqlStatements ?? [],
  }
}

/**
 * Yields the row streams (tables of the source) unchanged. Throws `LoadProblem` if another pipeline or a view owns the
 * table that a row stream would fill.
 */
export async function* assertTableOwnership(
  db: Kysely<DB>,
  { client }: { client: string },
  { schema, table }: PipelineToLoad,
  rowStreams: AsyncIterable<RowStream>,
): AsyncGenerator<RowStream, void, void> {
  for await (const rowStream of rowStreams) {
    const isAdditionalTable = rowStream.table !== '' && rowStream.table !== table
    if (isAdditionalTable && (await isOwnedByAnother(db, { client, schema, table: rowStream.table }, table)))
      throw new LoadProblem(
        'TABLE_TAKEN',
        `The source also fills the table "${rowStream.table}", but another pipeline or a view of schema "${schema}" uses this name. Rename one of them.`,
      )
    yield rowStream
  }
}

/**
 * Returns a pipeline's source. In its settings and secrets, variables are replaced by their values. The secrets are
 * redacted in logs from now on. Throws `VariableProblem` if a variable does not exist, or if a changed variable would
 * send the secrets to an address other than the one for which they were entered.
 */
export async function readSource(
  { db, keyRing, redaction }: Pick<RunContext, 'db' | 'keyRing' | 'redaction'>,
  client: string,
  pipeline: PipelineToLoad,
): Promise<{ type: string; settings: unknown; secrets: SourceSecrets }> {
  const { type, settings } = pipeline
  const { secrets, secretAddress } = unsealSource(pipeline, keyRing)
  if (!namesVariables(settings, secrets)) {
    redaction.add(...Object.values(secrets))
    return { type, settings, secrets }
  }
  const variables = await readVariables(db, client, keyRing)
  const filledSource = fillVariables({ type, settings, secrets, secretAddress }, variables)
  redaction.add(...variables.textsToRedact, ...Object.values(filledSource.secrets))
  return { type, ...filledSource }
}
