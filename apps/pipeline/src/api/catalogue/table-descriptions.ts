import { type Table, type TableDescriptionsBody, hasRole } from '@sluice/contracts'
import { type OperationInput, problems } from '@sluice/http-server'
import { isUid, visibleTo } from '@sluice/records'
import type { TablePlace } from '@sluice/warehouses/warehouse'
import { type Kysely, type Transaction, sql } from 'kysely'
import type { DB } from '../../database.ts'
import { isTableDropPending } from '../../deleted-tables/pending-drops.ts'
import type { PipelineContext, RequestContext } from '../operation-context.ts'
import { type TableLabels, presentTable, tableLabelsOf } from '../table-responses.ts'

/** Characters of all descriptions of one table, so that a page of tables stays small. */
const maxTotalLength = 100_000

/** The `column_name` of the description of a table itself. */
const ofTable = ''

type DescribeRequest = OperationInput<
  PipelineContext,
  '/schemas/:uid/tables/:name/descriptions',
  undefined,
  TableDescriptionsBody
>

/** Sets descriptions of a table and its columns. Absent ones stay; an empty text removes one. */
export async function describeTable(input: DescribeRequest): Promise<Table> {
  const { body, caller, params, request, warehouses, write } = input
  const { schema, owner } = await readEditableTable(input, params)
  const place = { schema: schema.schema_name, name: params.name }
  const warehouse = await warehouses.find(caller.client)
  const isDropPending = await isTableDropPending(input.db, { ...place, table: place.name, client: caller.client })
  const [table] = isDropPending ? [] : ((await warehouse?.catalog.findTables([place])) ?? [])
  if (!table) throw problems.notFound('table')
  const texts = parseDescriptions(
    body,
    table.columns.map(({ name }) => name),
  )
  await write(async (trx) => {
    const before = await lockTexts(trx, schema.id, place.name)
    const after = new Map([...before, ...texts].filter(([, text]) => text !== ''))
    const total = Array.from(after.values()).reduce((sum, text) => sum + text.length, 0)
    if (total > maxTotalLength)
      throw problems.refused(
        '/columns',
        `The descriptions of this table would have ${total} characters together, and at most ${maxTotalLength} are allowed. Shorten them.`,
      )
    await storeTexts(trx, { schemaId: schema.id, name: place.name, texts, by: caller.uid })
    const [columns, isTableDescribed] = [[...texts.keys()].filter((name) => name !== ofTable), texts.has(ofTable)]
    const changed = (from: ReadonlyMap<string, string>) => ({
      ...(isTableDescribed && { description: from.get(ofTable) ?? null }),
      columns: Object.fromEntries(columns.map((name) => [name, from.get(name) ?? null])),
    })
    request.audit(owner?.uid ?? schema.uid, { ...place, before: changed(before), after: changed(after) })
  })
  const withDescriptions = await readDescriptions(input.db, caller.client, [place])
  return presentTable(table, withDescriptions(place, owner && tableLabelsOf(owner)))
}

interface DescribedSchema {
  id: number
  uid: string
  schema_name: string
  readable: boolean
  writable: boolean
}

interface DescribedOwner {
  uid: string
  relation: string
  name: string
  description: string | null
  readable: boolean
  writable: boolean
}

/**
 * Returns the schema of a table, and the pipeline or view that owns the table, if there is one. Throws 404 if the caller may not see
 * the table in the catalogue, and 403 if the caller may change neither the owner nor the schema.
 */
async function readEditableTable(
  { db, caller }: Pick<RequestContext, 'db' | 'caller'>,
  { uid, name }: { uid: string; name: string },
): Promise<{ schema: DescribedSchema; owner: DescribedOwner | undefined }> {
  const [readable, writable] = [visibleTo(caller, 'READ'), visibleTo(caller, 'READ_WRITE')]
  const may = (role: Parameters<typeof hasRole>[1]) => sql<boolean>`${hasRole(caller.roles, role)}::boolean`
  const schemas = isUid(uid)
    ? await sql<DescribedSchema>`
        select r.id, r.uid, r.schema_name, ${readable} as readable,
          ${may('ROLE_MANAGE_SCHEMA')} and ${writable} as writable
        from schemas r where r.uid = ${uid} and r.client = ${caller.client}`.execute(db)
    : { rows: [] }
  const [schema] = schemas.rows
  if (!schema) throw problems.notFound('schema')
  const { rows: owners } = await sql<DescribedOwner>`
    select r.uid, r.table_name as relation, r.name, r.description, ${may('ROLE_SEE_DATA_PIPELINE')} and ${readable} as readable,
      ${may('ROLE_MANAGE_DATA_PIPELINE')} and ${writable} as writable
    from data_pipelines r where r.schema_id = ${schema.id} and r.table_name = any(${possibleOwners(name)})
    union all
    select r.uid, r.view_name, r.name, r.description, ${may('ROLE_SEE_VIEW')} and ${readable},
      ${may('ROLE_MANAGE_VIEW')} and ${writable}
    from views r where r.schema_id = ${schema.id} and r.view_name = ${name}`.execute(db)
  const [owner] = owners.toSorted((one, other) => other.relation.length - one.relation.length)
  const seesAll = hasRole(caller.roles, 'ROLE_VIEW_DATA_ALL_DATA_PIPELINE')
  const isVisible = seesAll || (schema.readable && owner?.readable)
  if (owner?.writable || (isVisible && schema.writable)) return { schema, owner }
  // A caller without access to the schema gets the same response as for a schema that does not exist.
  if (!isVisible) throw problems.notFound(schema.readable ? 'table' : 'schema')
  throw problems.forbidden(
    'You may read this table, but change neither its data pipeline or view nor its schema. Ask their owners for access to edit.',
  )
}

/** Returns the names of main tables to which a table can belong: `a__b__c` belongs to the pipeline of `a__b` or `a`. */
function possibleOwners(name: string): string[] {
  const names = [name]
  for (let at = name.lastIndexOf('__'); at > 0; at = name.lastIndexOf('__', at - 1)) names.push(name.slice(0, at))
  return names
}

/** Returns the texts of a body by column. Throws 422 for a column that the table does not have, and for a repeated one. */
function parseDescriptions(
  { description, columns = [] }: TableDescriptionsBody,
  known: readonly string[],
): Map<string, string> {
  const texts = new Map(description === undefined ? [] : [[ofTable, description]])
  for (const [index, { name, description: text }] of columns.entries()) {
    const pointer = `/columns/${index}/name`
    if (texts.has(name) && name !== ofTable)
      throw problems.refused(pointer, `The column "${name}" is in the list twice. Remove one of them.`)
    if (!known.includes(name))
      throw problems.refused(pointer, `The table has no column "${name}". Its columns: ${shorten(known.join(', '))}.`)
    texts.set(name, text)
  }
  return texts
}

const shorten = (text: string): string => (text.length <= 300 ? text : `${text.slice(0, 300)}…`)

/** Reads the descriptions of a table. Requests that describe tables of one schema wait for each other. */
async function lockTexts(trx: Transaction<DB>, schemaId: number, name: string): Promise<Map<string, string>> {
  await sql`select from schemas where id = ${schemaId} for no key update`.execute(trx)
  const rows = await trx
    .selectFrom('table_descriptions')
    .select(['column_name', 'description'])
    .where('schema_id', '=', schemaId)
    .where('table_name', '=', name)
    .orderBy('column_name')
    .forUpdate()
    .execute()
  return new Map(rows.map(({ column_name, description }) => [column_name, description]))
}

interface StoredTexts {
  schemaId: number
  name: string
  texts: ReadonlyMap<string, string>
  by: string
}

async function storeTexts(trx: Transaction<DB>, { schemaId, name, texts, by }: StoredTexts): Promise<void> {
  const sorted = [...texts].toSorted(([one], [other]) => (one < other ? -1 : 1))
  const removed = sorted.filter(([, text]) => text === '').map(([column]) => column)
  const set = sorted.filter(([, text]) => text !== '')
  await sql`
    delete from table_descriptions
    where schema_id = ${schemaId} and table_name = ${name} and column_name = any(${removed}::text[])`.execute(trx)
  await sql`
    insert into table_descriptions (schema_id, table_name, column_name, description, updated_by)
    select ${schemaId}::bigint, ${name}::text, c.name, c.text, ${by}::uuid
    from unnest(${set.map(([column]) => column)}::text[], ${set.map(([, text]) => text)}::text[]) as c (name, text)
    on conflict (schema_id, table_name, column_name)
      do update set description = excluded.description, updated_at = now(), updated_by = excluded.updated_by`.execute(
    trx,
  )
}

/** Moves the descriptions of a view that was renamed or moved to another schema. */
export async function moveDescriptions(trx: Transaction<DB>, from: ViewPlace, to: ViewPlace): Promise<void> {
  if (from.schema_id === to.schema_id && from.view_name === to.view_name) return
  // Descriptions of a former table with the new name are outdated.
  await sql`
    delete from table_descriptions where schema_id = ${to.schema_id} and table_name = ${to.view_name}`.execute(trx)
  await sql`
    update table_descriptions set schema_id = ${to.schema_id}, table_name = ${to.view_name}
    where schema_id = ${from.schema_id} and table_name = ${from.view_name}`.execute(trx)
}

interface ViewPlace {
  schema_id: number
  view_name: string
}

/** Reads the descriptions of these tables. Returns a function that adds them to the labels of a table. */
export async function readDescriptions(
  db: Kysely<DB>,
  client: string,
  places: readonly TablePlace[],
): Promise<(place: TablePlace, labels?: TableLabels) => TableLabels> {
  const { rows } = await sql<{ schema: string; name: string; column: string; text: string }>`
    select s.schema_name as schema, d.table_name as name, d.column_name as "column", d.description as text
    from unnest(${places.map(({ schema }) => schema)}::text[], ${places.map(({ name }) => name)}::text[]) as p (schema, name)
    join schemas s on s.client = ${client} and s.schema_name = p.schema
    join table_descriptions d on d.schema_id = s.id and d.table_name = p.name`.execute(db)
  const keyOf = ({ schema, name }: TablePlace) => JSON.stringify([schema, name])
  const byTable = Map.groupBy(rows, keyOf)
  return (place, labels = {}) => {
    const texts = new Map((byTable.get(keyOf(place)) ?? []).map(({ column, text }) => [column, text]))
    return { ...labels, description: texts.get(ofTable) ?? labels.description, columnDescriptions: texts }
  }
}

interface LabelledRow {
  client: string
  name: string
  description: string | null
}

/** Returns the labels of the table of a pipeline or view, with its descriptions. */
export async function describedLabels(db: Kysely<DB>, row: LabelledRow, place: TablePlace): Promise<TableLabels> {
  const withDescriptions = await readDescriptions(db, row.client, [place])
  return withDescriptions(place, tableLabelsOf(row))
}
