import { type Selectable, type Transaction, sql } from 'kysely'
import { type ReferencedSchema, type Schema, hasRole, pipelineOperations, providerSchemas } from '@sluice/contracts'
import {
  type RefinedRow,
  type SharedColumns,
  type WithoutMay,
  presentAccess,
  createRecordRepository,
  visibleTo,
} from '@sluice/records'
import { type Caller, Problem } from '@sluice/http-server'
import type { DB, Schemas } from '../../database.ts'
import { lookUpAuthors, presentRecordFields, recordedProperties, tagsColumn } from '../record-fields.ts'
import type { RequestContext } from '../operation-context.ts'

export type SchemaRow = RefinedRow<Selectable<Schemas>, SharedColumns & { tags: string[] }>

export const schemaRecords = createRecordRepository<SchemaRow, Schema, RequestContext>({
  noun: 'schema',
  table: 'schemas',
  path: '/schemas',
  properties: {
    ...recordedProperties,
    schemaName: { type: 'string', column: 'r.schema_name' },
    description: { type: 'string', column: 'r.description' },
    providerSchema: { type: 'enum', column: 'r.provider_schema', values: providerSchemas },
    tags: { type: 'strings', column: tagsColumn },
    permanent: { type: 'boolean', column: 'r.permanent' },
    profileTables: { type: 'boolean', column: 'r.profile_tables' },
  },
  matches: (like) => sql`(r.name ilike ${like} or r.schema_name ilike ${like})`,
  scope: visibleTo,
  signatures: pipelineOperations.schemas,
  present: presentSchemas,
})

/** Presents schemas with their numbers of pipelines and views. */
async function presentSchemas(rows: SchemaRow[], context: RequestContext): Promise<WithoutMay<Schema>[]> {
  const ids = rows.map(({ id }) => id)
  const [schemas, pipelines, views] = await Promise.all([
    presentWithoutStatistics(rows, context),
    countBySchema(context.db, 'data_pipelines', ids),
    countBySchema(context.db, 'views', ids),
  ])
  return rows.map((row, index) => ({
    ...schemas[index]!,
    statistics: { dataPipelines: pipelines.get(row.id) ?? 0, views: views.get(row.id) ?? 0 },
  }))
}

/** Counts the pipelines or views in each schema. Schemas without any have no entry. */
async function countBySchema(
  db: RequestContext['db'],
  table: 'data_pipelines' | 'views',
  schemas: readonly number[],
): Promise<Map<number, number>> {
  if (schemas.length === 0) return new Map()
  const counts = await db
    .selectFrom(table)
    .select(['schema_id', (eb) => eb.fn.countAll<number>().as('count')])
    .where('schema_id', 'in', schemas)
    .groupBy('schema_id')
    .execute()
  return new Map(counts.map(({ schema_id, count }) => [schema_id, count]))
}

/** Presents schemas without their numbers of pipelines and views. */
async function presentWithoutStatistics(rows: SchemaRow[], { identity, request }: RequestContext) {
  const findAuthors = await lookUpAuthors(rows, identity)
  return rows.map((row) => ({
    ...presentRecordFields(row, request.locales),
    ...findAuthors(row),
    schemaName: row.schema_name,
    permanent: row.permanent,
    providerSchema: row.provider_schema as Schema['providerSchema'],
    profileTables: row.profile_tables,
    access: presentAccess(row),
  }))
}

/** Returns the schemas of these rows. For schemas that the caller may not see, only the names. */
export async function readReferencedSchemas(
  rows: readonly { schema_id: number }[],
  context: RequestContext,
): Promise<Map<number, ReferencedSchema>> {
  const { db, caller } = context
  const schemaRows = await db
    .selectFrom('schemas as r')
    .selectAll()
    .select(visibleTo(caller, 'READ').as('isReadable'))
    .where('id', 'in', [0, ...rows.map((row) => row.schema_id)])
    .$castTo<SchemaRow & { isReadable: boolean }>()
    .execute()
  const maySee = hasRole(caller.roles, 'ROLE_SEE_SCHEMA')
  const visible = schemaRows.filter(({ isReadable }) => maySee && isReadable)
  const presented = new Map((await schemaRecords.present(visible, context)).map((schema) => [schema.id, schema]))
  return new Map(
    schemaRows.map(({ id, uid, name, schema_name }) => [
      id,
      presented.get(uid) ?? { id: uid, name, schemaName: schema_name },
    ]),
  )
}

/** Locks and returns a schema. Returns undefined if it does not exist or the caller may not write to it. */
export async function lockWritableSchema(
  trx: Transaction<DB>,
  caller: Caller,
  uid: string,
): Promise<SchemaRow | undefined> {
  try {
    return await schemaRecords.lock(trx, caller, uid, undefined)
  } catch (error) {
    if (error instanceof Problem) return undefined
    throw error
  }
}
