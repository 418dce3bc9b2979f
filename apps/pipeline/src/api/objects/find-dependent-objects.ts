import type { Caller } from '@sluice/http-server'
import type { TablePlace } from '@sluice/warehouses/warehouse'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { DB } from '../../database.ts'
import { relationsInSql } from '../../lineage/relations-in-sql.ts'
import { type ObjectKind, isShown, objectKinds } from './shareable-object-kinds.ts'

/** An object, with the properties by which other objects can refer to it. */
export interface ReadObject {
  client: string
  /** The primary key. Undefined for a table that Sluice did not create. */
  id?: number
  kind: ObjectKind | 'SCHEMA' | 'TABLE'
  /** The table or view that the object creates in the warehouse. */
  relation?: TablePlace | undefined
}

/** An object that reads, runs or contains another one. */
export interface ObjectReader {
  kind: ObjectKind
  id: string
  name: string
  /** Whether the caller may see this object. */
  isShown: boolean
}

/** The maximum number of readers that are returned for an object. */
export const maxReaders = 1_000

/**
 * Finds the objects that read, run or contain an object. They prevent its deletion, and its lineage shows them. First
 * come at most `maxReaders` objects with a stored reference, then checks and transformations with SQL that contains the
 * name of the table. Both lists are sorted by kind and name.
 */
export async function findReaders(db: Kysely<DB>, caller: Caller, object: ReadObject): Promise<ObjectReader[]> {
  const referenceQueries = listReferenceConditions(object).map(
    ({ kind, condition }) => sql`
      select ${kind}::text as kind, r.uid as id, r.name, ${isShown(caller, kind)} as "isShown"
      from ${sql.table(objectKinds[kind].table)} as r where r.client = ${object.client} and ${condition}`,
  )
  const readersBySql = object.relation ? await findReadersBySql(db, caller, object) : []
  if (referenceQueries.length === 0) return readersBySql
  const { rows: readersByReference } = await sql<ObjectReader>`
    ${sql.join(referenceQueries, sql` union all `)} order by kind, name, id limit ${maxReaders}`.execute(db)
  return [...readersByReference, ...readersBySql]
}

/**
 * Returns SQL conditions that find the objects with a stored reference to this object, each with the kind of objects
 * that it finds. In a condition, `r` is the row of such an object.
 */
function listReferenceConditions({
  kind,
  id,
  relation,
}: ReadObject): { kind: ObjectKind; condition: RawBuilder<unknown> }[] {
  const viewsOfRelation = relation && {
    kind: 'VIEW' as const,
    condition: sql`r.id in (
      select view_id from view_sources
      where schema_name = ${relation.schema} and ${isTableOf(sql`relation_name`, relation.name, kind)})`,
  }
  const workflows = {
    kind: 'WORKFLOW' as const,
    condition: sql`r.id in (select workflow_id from workflow_jobs where runnable_id = ${id})`,
  }
  switch (kind) {
    case 'DATA_PIPELINE':
      return [viewsOfRelation!, workflows]
    case 'VIEW':
      return [{ kind: 'DESTINATION', condition: sql`r.view_id = ${id}` }, viewsOfRelation!, workflows]
    case 'TABLE':
      return [viewsOfRelation!]
    case 'DATA_QUALITY_CHECK':
      return [
        {
          kind: 'DATA_QUALITY_CHECK_GROUP',
          condition: sql`r.id in (select group_id from data_quality_group_checks where check_id = ${id})`,
        },
      ]
    case 'DATA_QUALITY_CHECK_GROUP':
      return [{ kind: 'DATA_PIPELINE', condition: sql`r.quality_group_id = ${id}` }, workflows]
    case 'SCHEMA':
      return [
        { kind: 'DATA_PIPELINE', condition: sql`r.schema_id = ${id}` },
        { kind: 'VIEW', condition: sql`r.schema_id = ${id}` },
      ]
    case 'DESTINATION':
      return [workflows]
    case 'WORKFLOW':
      return []
  }
}

/**
 * Returns the condition that a column names a table of the object. A pipeline also loads additional tables, with names
 * that consist of its main table's name, `__` and a suffix.
 */
const isTableOf = (column: RawBuilder<unknown>, name: string, kind: ReadObject['kind']): RawBuilder<unknown> =>
  kind === 'DATA_PIPELINE'
    ? sql`(${column} = ${name} or starts_with(${column}, ${`${name}__`}))`
    : sql`${column} = ${name}`

/**
 * Finds checks, and transformations of other pipelines, if their SQL contains the name of the object's table or view.
 */
export async function findReadersBySql(
  db: Kysely<DB>,
  caller: Caller,
  { client, kind, id, relation }: ReadObject,
): Promise<ObjectReader[]> {
  if (!relation) return []
  const statements = sql`(
    select string_agg(element ->> 'statement', ';')
    from jsonb_array_elements(r.transformation -> 'sqlStatements') element)`
  const isOtherObject = kind === 'DATA_PIPELINE' ? sql`r.id <> ${id!}` : sql`true`
  // Selects the SQL texts that contain the name anywhere. The filter below keeps those that use it as a table name.
  const { rows } = await sql<ObjectReader & { text: string }>`
    select 'DATA_PIPELINE' as kind, r.uid as id, r.name, ${isShown(caller, 'DATA_PIPELINE')} as "isShown", ${statements} as text
    from data_pipelines r
    where r.client = ${client} and strpos(lower(r.transformation::text), lower(${relation.name})) > 0
      and ${isOtherObject}
    union all
    select 'DATA_QUALITY_CHECK', r.uid, r.name, ${isShown(caller, 'DATA_QUALITY_CHECK')}, r.query
    from data_quality_checks r
    where r.client = ${client} and strpos(lower(r.query), lower(${relation.name})) > 0
    order by kind, name, id`.execute(db)
  // The name of an additional table of a pipeline starts with that of its main table and `__`.
  const isTableOfObject = (name: string) =>
    name === relation.name || (kind === 'DATA_PIPELINE' && name.startsWith(`${relation.name}__`))
  const isMatchingSchema = (schema: string | undefined) => schema === undefined || schema === relation.schema
  const readers = rows.filter(({ text }) =>
    relationsInSql(text).some(({ schema, name }) => isTableOfObject(name) && isMatchingSchema(schema)),
  )
  return readers.map(({ text: _text, ...reader }) => reader)
}

/** The maximum number of objects of one kind that a message names. */
export const maxNamedReaders = 5

interface NamedReader {
  /** The plural of the object's noun, such as `views`. */
  nouns: string
  name: string
  isShown: boolean
}

export const toNamedReader = ({ kind, name, isShown }: ObjectReader): NamedReader => ({
  nouns: `${objectKinds[kind].noun}s`,
  name,
  isShown,
})

/**
 * Describes objects for a message: `the views "A", "B" and destinations that are not shared with you`. Does not name
 * objects that the caller may not see. Returns undefined for an empty list.
 */
export function describeReaders(readers: readonly NamedReader[]): string | undefined {
  const groupTexts = [...Map.groupBy(readers, ({ nouns }) => nouns)].map(([nouns, readersOfKind]) => {
    const shownNames = readersOfKind.filter((reader) => reader.isShown).map(({ name }) => `"${name}"`)
    if (shownNames.length === 0) return `${nouns} that are not shared with you`
    const names = shownNames.slice(0, maxNamedReaders)
    const others = names.length < readersOfKind.length ? ' and others' : ''
    return `the ${nouns} ${names.join(', ')}${others}`
  })
  return groupTexts.length === 0 ? undefined : groupTexts.join(' and ')
}
