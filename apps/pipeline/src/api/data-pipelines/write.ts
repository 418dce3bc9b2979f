import { randomUUID } from 'node:crypto'
import type { Transaction } from 'kysely'
import type { DataPipelineBody, SentDataPipelineBody } from '@sluice/contracts'
import { problems } from '@sluice/http-server'
import type { RecordWriter } from '@sluice/records'
import type { DB } from '../../database.ts'
import { recordDrop } from '../../deleted-tables/pending-table-drops.ts'
import { listFilesOfPipeline, removeUnusedFiles } from '../../runs/files-in-use.ts'
import { assertVariablePlaces } from '../../variables/insert-variables-into-sql.ts'
import { assertSourceVariablePlaces } from '../../variables/resolve-source-variables.ts'
import { getWarehouseLanguage } from '../../variables/sql-syntax-rules.ts'
import { identifierProblem, toUniqueIdentifiers } from '@sluice/row-stream'
import { dropDeletedTables } from '../drop-deleted-tables.ts'
import { prepareDeletion } from '../assert-not-in-use.ts'
import type { RequestContext, PipelineContext } from '../operation-context.ts'
import { assertSchedule, toScheduleColumns } from '../schedule-fields.ts'
import { toAccessColumnsWithDefault, assertSharingTargets } from '../object-access.ts'
import {
  type PipelineLookups,
  createCachedLookups,
  createLookups,
  resolveType,
  resolveTypes,
} from './referenced-objects.ts'
import { toQualityGroupColumn } from './quality-gate-group.ts'
import { type DataPipelineRow, dataPipelines } from './records.ts'
import type { BulkSaveDefinition } from '../bulk-saves/save-by-name.ts'
import { toSourceColumns } from './pipeline-source.ts'
import { assertWriteMode, toWriteModeColumns } from './write-mode.ts'
import { getDefinition } from '@sluice/connectors/registry/connector-definitions'

/** The uids of a deleted pipeline's files that still have to be removed from the disk. */
export interface LinkedFiles {
  files: string[]
}

export const dataPipelineWriting: RecordWriter<
  PipelineContext,
  DataPipelineRow,
  DataPipelineBody,
  SentDataPipelineBody,
  LinkedFiles
> = {
  complete: (sentBody, current) => resolveType(sentBody, current && (async () => (await current()).type)),

  async check(body, input) {
    const definition = getDefinition(body.type)
    assertSchedule(body)
    assertWriteMode(body)
    definition.assertSettings?.(body)
    assertSourceVariablePlaces(body.type, definition.getSettings(body))
    await assertSharingTargets(body.access, input)
  },

  columns: (trx, body, current, input) =>
    toPipelineColumns(trx, body, current, input, createLookups(trx, input.caller)),

  async beforeDelete(trx, row, { caller }) {
    const schema = await trx
      .selectFrom('schemas')
      .select('schema_name')
      .where('id', '=', row.schema_id)
      .executeTakeFirstOrThrow()
    const relation = { schema: schema.schema_name, name: row.table_name }
    await prepareDeletion(trx, caller, { kind: 'DATA_PIPELINE', id: row.id, client: row.client, relation })
    await recordDrop(trx, { client: row.client, schema: relation.schema, table: relation.name })
    return { files: await listFilesOfPipeline(trx, row.id) }
  },

  /** Removes the uploaded files and drops the table. If one of the two fails, a worker tries it again later. */
  async afterDelete(row, input, { files }) {
    await removeUnusedFiles({ db: input.db, directory: input.files.directory }, files)
    await dropDeletedTables(input, row.client, { pipeline: row.uid })
  },
}

export const dataPipelineBulkSave: BulkSaveDefinition<DataPipelineRow, DataPipelineBody, SentDataPipelineBody> = {
  records: dataPipelines,
  writing: dataPipelineWriting,
  cached(trx, { caller }) {
    const lookups = createCachedLookups(trx, caller)
    const columns: typeof dataPipelineWriting.columns = (...args) => toPipelineColumns(...args, lookups)
    return { ...dataPipelineWriting, columns }
  },
  complete: resolveTypes,
  present: ({ after }) => ({ type: after.type }),
}

/**
 * Returns whether the dataset exists. Locks its row: a deletion of the dataset waits for this transaction and then
 * finds the new pipeline.
 */
async function lockPublicDataset(trx: Transaction<DB>, key: string): Promise<boolean> {
  const dataset = await trx
    .selectFrom('public_datasets')
    .select('id')
    .where('key', '=', key)
    .forKeyShare()
    .executeTakeFirst()
  return dataset !== undefined
}

/** Returns the columns of a pipeline. `lookups` finds the objects to which the pipeline refers. */
async function toPipelineColumns(
  trx: Transaction<DB>,
  body: DataPipelineBody,
  current: DataPipelineRow | undefined,
  input: RequestContext,
  lookups: PipelineLookups,
): Promise<object> {
  if (current && current.type !== body.type)
    throw problems.refused('/type', `A pipeline cannot change its type, ${current.type}. Create another pipeline.`)
  await getDefinition(body.type).assertReferences?.(body, { hasPublicDataset: (key) => lockPublicDataset(trx, key) })
  await assertStatementVariablePlaces(trx, body)
  const uid = current?.uid ?? randomUUID()
  return {
    ...(current ? {} : { uid, client: input.caller.client, type: body.type }),
    ...(await toTargetColumns(trx, body, current, lookups)),
    name: body.name,
    translations: JSON.stringify(body.translations ?? []),
    description: body.description ?? null,
    owner: body.owner ?? null,
    url: body.url ?? null,
    reference: body.reference ?? null,
    source: body.source ?? null,
    terms_of_use: body.termsOfUse ?? null,
    tags: JSON.stringify(body.tags ?? []),
    ...toScheduleColumns(body),
    anonymous_metadata: body.anonymousAccess?.metadata ?? false,
    anonymous_data: body.anonymousAccess?.data ?? false,
    transformation: JSON.stringify({ sqlStatements: body.transformation?.sqlStatements ?? [] }),
    schema_changes: body.schemaChanges ?? 'EVOLVE',
    ...toWriteModeColumns(body),
    ...(await toSourceColumns(body, uid, current, input.keyRing, () => lookups.variables(input.keyRing))),
    ...(await toQualityGroupColumn(trx, body.dataQualityCheckGroup, current, input.caller)),
    ...(await toAccessColumnsWithDefault(trx, body.access, current, input.caller.client, lookups.readDefaultAccess)),
  }
}

/**
 * Throws `VariableProblem` if a transformation statement uses a variable where SQL allows no value, for example inside
 * quotes.
 */
async function assertStatementVariablePlaces(trx: Transaction<DB>, body: DataPipelineBody): Promise<void> {
  const statements = (body.transformation?.sqlStatements ?? []).filter(({ statement }) => statement.includes('${'))
  if (statements.length === 0) return
  const schema = await trx
    .selectFrom('schemas')
    .select('provider_schema')
    .where('uid', '=', body.dataWarehouseTarget.schema.id)
    .executeTakeFirst()
  for (const { statement } of statements)
    assertVariablePlaces(statement, getWarehouseLanguage(schema?.provider_schema ?? 'NA'))
}

/**
 * Returns the columns with the target table. The target cannot change after the first load, because queries and views
 * use the table's name.
 */
async function toTargetColumns(
  trx: Transaction<DB>,
  body: DataPipelineBody,
  current: DataPipelineRow | undefined,
  lookups: PipelineLookups,
) {
  const { schema, tableName } = body.dataWarehouseTarget
  const nameFromTitle = () => toUniqueIdentifiers([body.name])[0]!
  const table = tableName ?? current?.table_name ?? nameFromTitle()
  const nameProblem = identifierProblem(table)
  if (nameProblem) throw problems.refused('/dataWarehouseTarget/tableName', nameProblem)
  const schemaId = await findTargetSchemaId(schema.id, current, lookups)
  const isTargetChanged = current && (current.schema_id !== schemaId || current.table_name !== table)
  if (isTargetChanged && (await mayHaveTable(trx, current.id))) {
    throw problems.refused(
      '/dataWarehouseTarget',
      `The target cannot be changed, because the pipeline has already loaded ${current.table_name}. Create another pipeline for another table.`,
    )
  }
  // A table and a view in the same schema cannot have the same name.
  if (await lookups.hasView(schemaId, table))
    throw problems.conflict('/dataWarehouseTarget/tableName', 'A view has this name. Choose another name.')
  return { schema_id: schemaId, table_name: table }
}

/**
 * Returns the primary key of the schema with this uid. The caller must be allowed to write to a new schema, but may
 * always keep the current one. Throws 422 otherwise, and for a schema without a warehouse.
 */
async function findTargetSchemaId(
  uid: string,
  current: DataPipelineRow | undefined,
  lookups: PipelineLookups,
): Promise<number> {
  const currentSchema = current && (await lookups.schema(current.schema_id))
  const isCurrentSchema = currentSchema?.uid === uid.toLowerCase()
  const schema = isCurrentSchema ? currentSchema : await lookups.lockWritableSchema(uid)
  if (!schema)
    throw problems.refused(
      '/dataWarehouseTarget/schema/id',
      `No schema that you may write to has the id ${uid}. Choose another schema.`,
    )
  if (schema.provider_schema === 'NA')
    throw problems.refused(
      '/dataWarehouseTarget/schema/id',
      `The schema "${schema.name}" has no warehouse: its providerSchema is NA. Choose another schema.`,
    )
  return schema.id
}

/** Returns whether the table may exist: a run has loaded it, is loading it, or is queued to load it. */
async function mayHaveTable(trx: Transaction<DB>, pipeline: number): Promise<boolean> {
  const run = await trx
    .selectFrom('runs')
    .select('id')
    .where('runnable_id', '=', pipeline)
    .where('action', '<>', 'DRY_RUN')
    .where('state', 'in', ['OK', 'WARNING', 'RUNNING', 'QUEUED'])
    .limit(1)
    .executeTakeFirst()
  return run !== undefined
}
