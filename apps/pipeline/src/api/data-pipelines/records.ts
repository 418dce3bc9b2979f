import { type Selectable, type SqlBool, sql } from 'kysely'
import {
  type DataPipeline,
  type DataPipelineStatus,
  type PipelineType,
  type TableSummary,
  type UploadedFile,
  hasRole,
  pipelineOperations,
  pipelineTypes,
  runTriggers,
  connectorNames,
} from '@sluice/contracts'
import {
  type AccessLevel,
  type RecordDefinition,
  type RefinedRow,
  type SharedColumns,
  type WithoutMay,
  presentAccess,
  matchesLineOf,
  createRecordRepository,
  visibleTo,
} from '@sluice/records'
import type { Caller } from '@sluice/http-server'
import type { RequestContext } from '../operation-context.ts'
import {
  lookUpAuthors,
  lastRunProperties,
  presentRecordFields,
  recordedProperties,
  tagsColumn,
  lookUpUsernames,
} from '../record-fields.ts'
import type { KeyRing } from '@sluice/database'
import type { DataPipelines, Runs, UploadedFiles } from '../../database.ts'
import { unsealSourceSecrets } from '../../secrets/encrypted-secrets.ts'
import { type SecretTimes, presentSecretStatus } from '../../secrets/secret-status.ts'
import { presentScheduleFields, formatTrigger, readClientTimeZone } from '../schedule-fields.ts'
import { readReferencedSchemas } from '../schemas/records.ts'
import { readQualityGroups } from './quality-gate-group.ts'
import { getDefinition } from '@sluice/connectors/registry/connector-definitions'
import type { PublishedTableSize } from '../../run-lifecycle/finish-run.ts'
import { computeProgress } from '../../runs/read-runs.ts'
import { bytesToMegabytes } from '../table-responses.ts'
import { readRunStatuses } from '../runs/run-responses.ts'
import { presentWriteMode } from './write-mode.ts'

export type DataPipelineRow = RefinedRow<
  Selectable<DataPipelines>,
  SharedColumns & { tags: string[]; secret_times: SecretTimes | null }
>

async function presentDataPipelines(
  rows: DataPipelineRow[],
  context: RequestContext,
): Promise<WithoutMay<DataPipeline>[]> {
  const { identity, request, keyRing } = context
  const [findAuthors, schemas, files, statuses, zone, qualityGroups] = await Promise.all([
    lookUpAuthors(rows, identity),
    readReferencedSchemas(rows, context),
    readFiles(rows, context),
    readStatuses(rows, context),
    readClientTimeZone(context),
    readQualityGroups(context.db, rows),
  ])

  return rows.map((row) => {
    const schema = schemas.get(row.schema_id)!
    const file = files.get(row.id)
    const definition = getDefinition(row.type)
    const status = statuses(row, schema.schemaName)
    const pipeline = {
      ...presentRecordFields(row, request.locales),
      ...findAuthors(row),
      ...presentSourceFields(row, keyRing),
      type: row.type,
      typeName: connectorNames[row.type as PipelineType],
      typeKey: row.type.toLowerCase(),
      owner: row.owner ?? undefined,
      url: row.url ?? undefined,
      reference: row.reference ?? undefined,
      source: row.source ?? undefined,
      termsOfUse: row.terms_of_use ?? undefined,
      ...presentScheduleFields(row),
      triggerExpression: formatTrigger(row, zone),
      scheduleable: true,
      dataDownload: status.lastRunSuccess !== undefined,
      transformation: row.transformation as DataPipeline['transformation'],
      schemaChanges: row.schema_changes as DataPipeline['schemaChanges'],
      ...presentWriteMode(row),
      anonymousAccess: { metadata: row.anonymous_metadata, data: row.anonymous_data },
      access: presentAccess(row),
      dataWarehouseTarget: { schema, tableName: row.table_name, tableSchema: schema.schemaName },
      dataWarehouseTargetSchemaName: schema.schemaName,
      dataWarehouseTargetTableName: row.table_name,
      dataPipelineSourceName: file?.name ?? definition.formatSourceName?.(row.settings),
      ...(file && { file }),
      ...(row.quality_group_id !== null && { dataQualityCheckGroup: qualityGroups.get(row.quality_group_id) }),
      status,
    }
    // The field `type` selects the variant of the union type.
    return pipeline as WithoutMay<DataPipeline>
  })
}

/**
 * Returns the source fields of the response. The status of the secrets is in the same object as the secrets in a
 * request.
 */
function presentSourceFields(row: DataPipelineRow, keyRing: KeyRing): object {
  const { getResponseFields, secretFields } = getDefinition(row.type)
  const fields: Record<string, unknown> = { ...getResponseFields(row.settings) }
  if (!secretFields) return fields
  const { object, names } = secretFields
  const secretStatus = presentSecretStatus(names, row.secret_times, () => unsealSourceSecrets(row, keyRing))
  return { ...fields, [object]: { ...(fields[object] as object), secretStatus } }
}

/** Returns the uploaded files of these pipelines by the primary key of the pipeline. */
async function readFiles(rows: DataPipelineRow[], { db, identity }: RequestContext) {
  const fileRows = await db
    .selectFrom('uploaded_files')
    .selectAll()
    // No pipeline has the key 0. It is there because SQL does not allow an empty list.
    .where('pipeline_id', 'in', [0, ...rows.map((row) => row.id)])
    .execute()
  const findUsername = await lookUpUsernames(
    fileRows.map((file) => file.uploaded_by),
    identity,
  )
  return new Map(fileRows.map((file) => [file.pipeline_id, presentFile(file, findUsername(file.uploaded_by))]))
}

export const presentFile = (file: Selectable<UploadedFiles>, uploadedBy: string | undefined): UploadedFile => ({
  name: file.name,
  size: file.size,
  sha256: file.sha256,
  uploaded: file.uploaded_at.toISOString(),
  uploadedBy,
})

/**
 * Returns a function that returns the status of a pipeline: its last run, and the tables that its last successful run
 * loaded.
 */
async function readStatuses(rows: DataPipelineRow[], { db }: RequestContext) {
  const findStatus = await readRunStatuses(db, rows)

  return (row: DataPipelineRow, schema: string): DataPipelineStatus => {
    const { status, lastRun, lastSuccessfulRun } = findStatus(row.id)
    return {
      ...status,
      taskId: lastRun?.uid,
      ...(lastRun?.state === 'RUNNING' && { progress: computeProgress(lastRun) }),
      tables: lastSuccessfulRun ? presentTables(lastSuccessfulRun, row, schema) : [],
    }
  }
}

/** The maximum number of tables in the status of a pipeline. */
const maxTables = 1_000

/**
 * Presents the tables that a run loaded. Omits tables that the pipeline no longer loads, for example after a change of
 * its schema.
 */
function presentTables(run: Selectable<Runs>, row: DataPipelineRow, schema: string): TableSummary[] {
  const { table_name: tableName, name: title } = row
  const additionalTablePrefix = `${tableName}__`
  // Older runs have no list of tables, only the totals of the one table that they loaded.
  const onlyTable = { schema, name: tableName, rows: run.rows_written ?? 0, size: run.bytes_written ?? 0 }
  const loadedTables = (run.tables as unknown as PublishedTableSize[] | null) ?? [onlyTable]
  const isStillLoaded = ({ schema: tableSchema, name }: PublishedTableSize) =>
    tableSchema === schema && (name === tableName || name.startsWith(additionalTablePrefix))
  return loadedTables
    .filter(isStillLoaded)
    .slice(0, maxTables)
    .map(({ name, rows, size }) => ({
      schema,
      id: `${schema}.${name}`,
      name,
      description: name === tableName ? (row.description ?? undefined) : undefined,
      displayName: name === tableName ? title : `${title}: ${name.slice(additionalTablePrefix.length)}`,
      size,
      sizeMb: bytesToMegabytes(size),
      rowCount: rows,
      foreignKeys: [],
    }))
}

/** Must be identical to the expression of the search index; otherwise PostgreSQL does not use the index. */
const searchText = sql<string>`lower((r.name || e'\n' || r.table_name || e'\n' || coalesce(r.description, '')) collate pg_c_utf8)`

const pipelineRecordDefinition: RecordDefinition<DataPipelineRow, DataPipeline, RequestContext> = {
  noun: 'data pipeline',
  table: 'data_pipelines',
  path: '/data-pipelines',
  properties: {
    ...recordedProperties,
    ...lastRunProperties,
    name: { type: 'string', column: 'r.name', required: true, within: searchText },
    description: { type: 'string', column: 'r.description', within: searchText },
    tags: { type: 'strings', column: tagsColumn },
    owner: { type: 'string', column: 'r.owner' },
    type: { type: 'enum', column: 'r.type', values: pipelineTypes },
    disabled: { type: 'boolean', column: 'r.disabled' },
    runTrigger: { type: 'enum', column: 'r.run_trigger', values: runTriggers },
    dataWarehouseTargetTableName: { type: 'string', column: 'r.table_name', required: true, within: searchText },
  },
  matches: (like) => matchesLineOf(searchText, like),
  changes: { table: 'record_changes', kind: 'data_pipelines' },
  scope: visibleTo,
  signatures: pipelineOperations.dataPipelines,
  present: presentDataPipelines,
}

export const dataPipelines = createRecordRepository(pipelineRecordDefinition)

/**
 * The pipelines with loaded data that the caller may read: those shared with the caller, or all with
 * ROLE_VIEW_DATA_ALL_DATA_PIPELINE.
 */
export const loadedPipelines = createRecordRepository<DataPipelineRow, DataPipeline, RequestContext>({
  ...pipelineRecordDefinition,
  scope: loadedDataScope,
})

function loadedDataScope(caller: Caller, level: AccessLevel) {
  const seesAll = level === 'READ' && hasRole(caller.roles, 'ROLE_VIEW_DATA_ALL_DATA_PIPELINE')
  return seesAll ? sql<SqlBool>`r.client = ${caller.client}` : visibleTo(caller, level)
}
