import { sql, type Selectable } from 'kysely'
import { providerSchemas, type Schema } from '@sluice/contracts'
import { accessOf, records, visibleTo, type Refined, type SharedColumns } from '@sluice/records'
import type { Schemas } from '../../database.ts'
import { authorsOf } from '../authors.ts'
import type { Asked } from '../operation.ts'
import { recordedFields, recordedProperties, tagsColumn } from '../recorded.ts'

export type SchemaRow = Refined<Selectable<Schemas>, SharedColumns & { tags: string[] }>

export const schemas = records<SchemaRow, Schema, Asked>({
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
  },
  matches: (like) => sql`(r.name ilike ${like} or r.schema_name ilike ${like})`,
  scope: visibleTo,
  present: presentSchemas,
})

/** Whole, with how much there is in each. */
export async function presentSchemas(rows: SchemaRow[], asked: Asked): Promise<Schema[]> {
  const ids = rows.map(({ id }) => id)
  const [schemas, pipelines, views] = await Promise.all([
    presentUncounted(rows, asked),
    countIn(asked.db, 'data_pipelines', ids),
    countIn(asked.db, 'views', ids),
  ])
  return rows.map((row, index) => ({
    ...schemas[index]!,
    statistics: { dataPipelines: pipelines.get(row.id) ?? 0, views: views.get(row.id) ?? 0 },
  }))
}

/** How many there are in each schema; none where there is no entry. */
async function countIn(
  db: Asked['db'],
  table: 'data_pipelines' | 'views',
  schemas: readonly number[],
): Promise<Map<number, number>> {
  const counts = await db
    .selectFrom(table)
    .select(['schema_id', (eb) => eb.fn.countAll<number>().as('count')])
    .where('schema_id', 'in', [0, ...schemas])
    .groupBy('schema_id')
    .execute()
  return new Map(counts.map(({ schema_id, count }) => [schema_id, count]))
}

/** The schemas without their statistics. */
async function presentUncounted(rows: SchemaRow[], { identity, request }: Asked) {
  const authors = await authorsOf(rows, identity)
  return rows.map((row) => ({
    ...recordedFields(row, request.locales),
    ...authors(row),
    schemaName: row.schema_name,
    permanent: row.permanent,
    providerSchema: row.provider_schema as Schema['providerSchema'],
    access: accessOf(row),
  }))
}
