import type { Selectable } from 'kysely'
import { systems, type DataPipeline, type PipelineType, type UploadedFile } from '@sluice/contracts'
import { accessOf } from '@sluice/records'
import type { UploadedFiles } from '../../database.ts'
import { authorsOf, usernamesOf } from '../authors.ts'
import type { Asked } from '../operation.ts'
import { recordedFields } from '../recorded.ts'
import { scheduleFields } from '../schedules/schedule-columns.ts'
import { triggerExpressionOf, zoneOfClient } from '../schedules/trigger-expression.ts'
import { schemasOf } from '../schemas/referenced.ts'
import { qualityGroupsOf } from './quality-group.ts'
import type { DataPipelineRow } from './row.ts'
import { statusesOf } from './status.ts'
import { kindOf } from './types/registry.ts'

export async function presentDataPipelines(rows: DataPipelineRow[], context: Asked): Promise<DataPipeline[]> {
  const { identity, request } = context
  const [authors, schemas, files, statuses, zone, qualityGroups] = await Promise.all([
    authorsOf(rows, identity),
    schemasOf(rows, context),
    filesOf(rows, context),
    statusesOf(rows, context),
    zoneOfClient(context),
    qualityGroupsOf(context.db, rows),
  ])

  return rows.map((row) => {
    const schema = schemas.get(row.schema_id)!
    const file = files.get(row.id)
    const kind = kindOf(row.type)
    const pipeline = {
      ...recordedFields(row, request.locales),
      ...authors(row),
      ...kind.fields(row.settings),
      type: row.type,
      typeName: systems[row.type as PipelineType],
      typeKey: row.type.toLowerCase(),
      owner: row.owner ?? undefined,
      url: row.url ?? undefined,
      reference: row.reference ?? undefined,
      source: row.source ?? undefined,
      termsOfUse: row.terms_of_use ?? undefined,
      ...scheduleFields(row),
      triggerExpression: triggerExpressionOf(row, zone),
      scheduleable: true,
      dataDownload: true,
      transformation: row.transformation as DataPipeline['transformation'],
      schemaChanges: row.schema_changes as DataPipeline['schemaChanges'],
      anonymousAccess: { metadata: row.anonymous_metadata, data: row.anonymous_data },
      access: accessOf(row),
      dataWarehouseTarget: { schema, tableName: row.table_name, tableSchema: schema.schemaName },
      dataWarehouseTargetSchemaName: schema.schemaName,
      dataWarehouseTargetTableName: row.table_name,
      dataPipelineSourceName: file?.name ?? kind.sourceName(row.settings),
      ...(file && { file }),
      ...(row.quality_group_id !== null && { dataQualityCheckGroup: qualityGroups.get(row.quality_group_id) }),
      status: statuses(row, schema.schemaName),
    }
    // Its type says which of the variants it is.
    return pipeline as DataPipeline
  })
}

async function filesOf(rows: DataPipelineRow[], { db, identity }: Asked): Promise<Map<number, UploadedFile>> {
  const found = await db
    .selectFrom('uploaded_files')
    .selectAll()
    .where('pipeline_id', 'in', [0, ...rows.map((row) => row.id)])
    .execute()
  const usernames = await usernamesOf(
    found.map((file) => file.uploaded_by),
    identity,
  )
  return new Map(found.map((file) => [file.pipeline_id, presentFile(file, usernames(file.uploaded_by))]))
}

export const presentFile = (file: Selectable<UploadedFiles>, uploadedBy: string | undefined): UploadedFile => ({
  name: file.name,
  size: file.size,
  sha256: file.sha256,
  uploaded: file.uploaded_at.toISOString(),
  uploadedBy,
})
