import type { Schema, SchemaBody } from '@sluice/contracts'
import { type OperationInput, problems } from '@sluice/http-server'
import { type RecordWriter, redactSecrets } from '@sluice/records'
import { type Transaction, sql } from 'kysely'
import type { DB } from '../../database.ts'
import { recordDrop } from '../../deleted-tables/pending-table-drops.ts'
import { identifierProblem, toUniqueIdentifiers } from '@sluice/row-stream'
import { describeWarehouse, warehouseName } from '@sluice/warehouses/warehouse-kinds'
import { dropDeletedTables } from '../drop-deleted-tables.ts'
import { assertUnused } from '../assert-not-in-use.ts'
import type { PipelineContext } from '../operation-context.ts'
import { deleteProfilesOfSchema } from '../../table-profiles/stored-profiles.ts'
import { detachReaders } from '../../warehouse-readers/warehouse-readers.ts'
import { toAccessColumnsWithDefault, assertSharingTargets } from '../object-access.ts'
import { type SchemaRow, schemaRecords } from './records.ts'
import { findRepeatedNames, type BulkSaveDefinition, saveList } from '../bulk-saves/save-by-name.ts'

/**
 * Returns whether a change of the schema's warehouse would abandon its tables. A schema with provider NA has no tables.
 */
const abandonsTables = (from: string, to: string): boolean => from !== to && from !== 'NA'

async function isUsed(trx: Transaction<DB>, schema: number): Promise<boolean> {
  const { rows } = await sql`select from data_pipelines where schema_id = ${schema}
    union all select from views where schema_id = ${schema}
    union all select from warehouse_readers where schema_ids @> jsonb_build_array(${schema}::bigint) limit 1`.execute(
    trx,
  )
  return rows.length > 0
}

type DetachedReaders = Awaited<ReturnType<typeof detachReaders>>

export const schemaWriting: RecordWriter<PipelineContext, SchemaRow, SchemaBody, SchemaBody, DetachedReaders> = {
  async check(body, input) {
    const { kinds } = input.warehouses
    if (body.providerSchema !== 'NA' && !kinds.includes(body.providerSchema)) {
      throw problems.refused(
        '/providerSchema',
        `${describeWarehouse(body.providerSchema)} is not configured here. Use ${kinds.map((kind) => `${kind} (${warehouseName(kind)})`).join(' or ')}.`,
      )
    }
    await assertSharingTargets(body.access, input)
  },

  async columns(trx, body, current, { caller }) {
    const schemaName = body.schemaName ?? current?.schema_name ?? toUniqueIdentifiers([body.name])[0]!
    const nameProblem = identifierProblem(schemaName)
    if (nameProblem) throw problems.refused('/schemaName', nameProblem)
    if (current && current.schema_name !== schemaName) {
      throw problems.refused(
        '/schemaName',
        `The name of a schema in the warehouse cannot be changed; it is ${current.schema_name}. Create another schema, and move the pipelines there.`,
      )
    }
    if (current && abandonsTables(current.provider_schema, body.providerSchema) && (await isUsed(trx, current.id)))
      throw problems.refused(
        '/providerSchema',
        `The provider ${current.provider_schema} cannot be changed, because data pipelines, views or warehouse readers use this schema. Create another schema, and move the pipelines there.`,
      )
    const profileTables = body.profileTables ?? current?.profile_tables ?? true
    // The schema is locked, so a load that is running cannot store another profile after this deletion.
    if (current && !profileTables) await deleteProfilesOfSchema(trx, current.id)
    return {
      ...(current ? {} : { client: caller.client, schema_name: schemaName }),
      name: body.name,
      translations: JSON.stringify(body.translations ?? []),
      description: body.description ?? null,
      tags: JSON.stringify(body.tags ?? []),
      permanent: body.permanent,
      provider_schema: body.providerSchema,
      profile_tables: profileTables,
      ...(await toAccessColumnsWithDefault(trx, body.access, current, caller.client)),
    }
  },

  async beforeDelete(trx, row, { caller, request }) {
    if (row.permanent)
      throw problems.refused('/permanent', 'A permanent schema cannot be deleted. Set permanent to false first.')
    await assertUnused(trx, caller, { kind: 'SCHEMA', id: row.id, client: row.client })
    await recordDrop(trx, { client: row.client, schema: row.schema_name })
    const detached = await detachReaders(trx, row)
    for (const reader of [...detached.deletedReaders, ...detached.changedReaders])
      request.audit(reader.uid, { before: redactSecrets(reader), lostSchema: row.uid })
    return detached
  },

  /** Drops the schema in the warehouse now if possible; otherwise a worker drops it later. */
  async afterDelete(row, input, { deletedReaders, changedReaders }) {
    await input.readers.drop(deletedReaders)
    // If this fails, a worker tries it again.
    for (const { id } of changedReaders) await input.readers.apply(id).catch(() => {})
    await dropDeletedTables(input, row.client, { schema: row.uid })
  },
}

export const schemaBulkSave: BulkSaveDefinition<SchemaRow, SchemaBody> = {
  records: schemaRecords,
  writing: schemaWriting,
}

type SaveSchemasRequest = OperationInput<PipelineContext, '/schemas', undefined, SchemaBody[]>

/** Creates or replaces several schemas by name in one transaction. */
export async function saveSchemas(input: SaveSchemasRequest): Promise<Schema[]> {
  for (const [index, name] of findRepeatedNames(input.body))
    throw problems.refused(`/${index}/name`, `"${name}" is in the list twice. Remove one of them.`)
  return schemaRecords.present(await saveList(schemaBulkSave, input), input)
}
