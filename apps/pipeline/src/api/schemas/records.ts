import { sql, type Selectable } from 'kysely'
import { providerSchemas, type Schema } from '@sluice/contracts'
import { accessOf, records, visibleTo, type Refined, type SharedColumns } from '@sluice/records'
import type { Schemas } from '../../database.ts'
import { authorsOf } from '../authors.ts'
import type { Asked } from '../operation.ts'
import { recordedFields, tagsColumn } from '../recorded.ts'

export type SchemaRow = Refined<Selectable<Schemas>, SharedColumns & { tags: string[] }>

export const schemas = records<SchemaRow, Schema, Asked>({
  noun: 'schema',
  table: 'schemas',
  path: '/schemas',
  properties: {
    id: { type: 'uid', column: 'r.uid' },
    name: { type: 'string', column: 'r.name' },
    schemaName: { type: 'string', column: 'r.schema_name' },
    description: { type: 'string', column: 'r.description' },
    providerSchema: { type: 'enum', column: 'r.provider_schema', values: providerSchemas },
    tags: { type: 'strings', column: tagsColumn },
    permanent: { type: 'boolean', column: 'r.permanent' },
    created: { type: 'date-time', column: 'r.created_at' },
    lastUpdated: { type: 'date-time', column: 'r.updated_at' },
  },
  matches: (like) => sql`(r.name ilike ${like} or r.schema_name ilike ${like})`,
  scope: visibleTo,
  present: presentSchemas,
})

export async function presentSchemas(rows: SchemaRow[], { db, identity, request }: Asked): Promise<Schema[]> {
  const [authors, counts] = await Promise.all([
    authorsOf(rows, identity),
    db
      .selectFrom('data_pipelines')
      .select(['schema_id', (eb) => eb.fn.countAll<number>().as('pipelines')])
      .where('schema_id', 'in', [0, ...rows.map(({ id }) => id)])
      .groupBy('schema_id')
      .execute(),
  ])
  const pipelines = new Map(counts.map((count) => [count.schema_id, count.pipelines]))

  return rows.map((row) => ({
    ...recordedFields(row, request.locales),
    ...authors(row),
    schemaName: row.schema_name,
    permanent: row.permanent,
    providerSchema: row.provider_schema as Schema['providerSchema'],
    access: accessOf(row),
    statistics: { dataPipelines: pipelines.get(row.id) ?? 0, views: 0 },
  }))
}
