import { type Table, type TableDescriptionsBody, hasRole } from '@sluice/contracts'
import { type Caller, type OperationInput, problems } from '@sluice/http-server'
import { isUid, visibleTo } from '@sluice/records'
import type { TablePlace, WarehouseTable } from '@sluice/warehouses/warehouse'
import { sql } from 'kysely'
import { isTableDropPending } from '../../deleted-tables/pending-table-drops.ts'
import {
  lockDescriptions,
  tableDescriptionKey,
  readDescriptions,
  storeDescriptions,
} from '../../table-descriptions/stored-descriptions.ts'
import { readColumnStatistics, omitValues } from '../../table-profiles/stored-profiles.ts'
import type { PipelineContext, RequestContext } from '../operation-context.ts'
import { presentTable, toTableLabels, addDescriptions } from '../table-responses.ts'

/** The maximum number of characters in all descriptions of one table, so that a page of the table list stays small. */
const maxTotalLength = 100_000

type DescribeRequest = OperationInput<
  PipelineContext,
  '/schemas/:uid/tables/:name/descriptions',
  undefined,
  TableDescriptionsBody
>

/**
 * Sets descriptions of a table and its columns. Omitted descriptions stay unchanged; an empty string removes a
 * description.
 */
export async function setTableDescriptions(input: DescribeRequest): Promise<Table> {
  const { body, caller, params, request, write } = input
  const { schema, owner } = await readEditableTable(input, params)
  const relation = { schema: schema.schema_name, name: params.name }
  const table = await readWarehouseTable(input, relation)
  const columnNames = table.columns.map(({ name }) => name)
  const sentTexts = parseDescriptions(body, columnNames)
  await write(async (trx) => {
    const before = await lockDescriptions(trx, schema.id, relation.name)
    const after = new Map([...before, ...sentTexts].filter(([, text]) => text !== ''))
    assertTotalLength(after)
    await storeDescriptions(trx, { schemaId: schema.id, name: relation.name, texts: sentTexts, by: caller.uid })
    request.audit(owner?.uid ?? schema.uid, {
      ...relation,
      before: selectForAudit(before, sentTexts),
      after: selectForAudit(after, sentTexts),
    })
  })
  const [findDescriptions, findStatistics] = await Promise.all([
    readDescriptions(input.db, caller.client, [relation]),
    readColumnStatistics(input.db, caller.client, [table]),
  ])
  const labels = addDescriptions(owner && toTableLabels(owner), findDescriptions(relation))
  // Omit statistics that contain values, because a caller who may describe a table may not be allowed to read its rows.
  return presentTable(table, { ...labels, columnStatistics: omitValues(findStatistics(table)) })
}

/** Returns a table of the warehouse. Throws 404 if it does not exist or is to be dropped. */
async function readWarehouseTable(
  { db, caller, warehouses }: Pick<RequestContext, 'db' | 'caller' | 'warehouses'>,
  relation: TablePlace,
): Promise<WarehouseTable> {
  const warehouse = await warehouses.find(caller.client)
  const { schema, name } = relation
  const isDropPending = await isTableDropPending(db, { client: caller.client, schema, table: name })
  const [table] = warehouse && !isDropPending ? await warehouse.catalog.findTables([relation]) : []
  if (!table) throw problems.notFound('table')
  return table
}

function assertTotalLength(descriptions: ReadonlyMap<string, string>): void {
  const total = [...descriptions.values()].join('').length
  if (total > maxTotalLength)
    throw problems.refused(
      '/columns',
      `The descriptions of this table would have ${total} characters together, and at most ${maxTotalLength} are allowed. Shorten them.`,
    )
}

/** Returns from all descriptions those that the request sends, for the audit log. A missing one is null. */
function selectForAudit(descriptions: ReadonlyMap<string, string>, sentTexts: ReadonlyMap<string, string>): object {
  const sentColumns = [...sentTexts.keys()].filter((name) => name !== tableDescriptionKey)
  return {
    ...(sentTexts.has(tableDescriptionKey) && { description: descriptions.get(tableDescriptionKey) ?? null }),
    columns: Object.fromEntries(sentColumns.map((name) => [name, descriptions.get(name) ?? null])),
  }
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
 * Returns the schema of a table, and the pipeline or view that created the table, if there is one. Throws 404 if the
 * caller may not see the table, and 403 if the caller may change neither the pipeline or view nor the schema.
 */
async function readEditableTable(
  context: Pick<RequestContext, 'db' | 'caller'>,
  { uid, name }: { uid: string; name: string },
): Promise<{ schema: DescribedSchema; owner: DescribedOwner | undefined }> {
  const schema = isUid(uid) ? await findSchema(context, uid) : undefined
  if (!schema) throw problems.notFound('schema')
  // PostgreSQL rejects text that contains a NUL character.
  if (name.includes('\0')) throw problems.notFound('table')
  const owner = await findTableOwner(context, schema.id, name)
  const seesAllTables = hasRole(context.caller.roles, 'ROLE_VIEW_DATA_ALL_DATA_PIPELINE')
  const isVisible = seesAllTables || (schema.readable && owner?.readable)
  const isEditable = owner?.writable || (isVisible && schema.writable)
  if (isEditable) return { schema, owner }
  if (isVisible)
    throw problems.forbidden(
      'You may read this table, but not edit its schema or the data pipeline or view that fills it. Ask the owner of one of them for access to edit it.',
    )
  // Callers without access to the schema get the same response as for a schema that does not exist.
  throw problems.notFound(schema.readable ? 'table' : 'schema')
}

/** Returns a schema of the caller's organisation, and whether the caller may read and change it. */
async function findSchema(
  { db, caller }: Pick<RequestContext, 'db' | 'caller'>,
  uid: string,
): Promise<DescribedSchema | undefined> {
  const { rows } = await sql<DescribedSchema>`
    select r.id, r.uid, r.schema_name, ${visibleTo(caller, 'READ')} as readable,
      ${callerHas(caller, 'ROLE_MANAGE_SCHEMA')} and ${visibleTo(caller, 'READ_WRITE')} as writable
    from schemas r where r.uid = ${uid} and r.client = ${caller.client}`.execute(db)
  return rows[0]
}

/** Returns the pipeline or view that created a table, and whether the caller may read and change it. */
async function findTableOwner(
  { db, caller }: Pick<RequestContext, 'db' | 'caller'>,
  schemaId: number,
  table: string,
): Promise<DescribedOwner | undefined> {
  const readable = visibleTo(caller, 'READ')
  const writable = visibleTo(caller, 'READ_WRITE')
  const { rows: possibleOwners } = await sql<DescribedOwner>`
    select r.uid, r.table_name as relation, r.name, r.description,
      ${callerHas(caller, 'ROLE_SEE_DATA_PIPELINE')} and ${readable} as readable,
      ${callerHas(caller, 'ROLE_MANAGE_DATA_PIPELINE')} and ${writable} as writable
    from data_pipelines r where r.schema_id = ${schemaId} and r.table_name = any(${listPossibleMainTables(table)})
    union all
    select r.uid, r.view_name, r.name, r.description,
      ${callerHas(caller, 'ROLE_SEE_VIEW')} and ${readable},
      ${callerHas(caller, 'ROLE_MANAGE_VIEW')} and ${writable}
    from views r where r.schema_id = ${schemaId} and r.view_name = ${table}`.execute(db)
  // The longest name is the owner's: `a__b__c` belongs to `a__b` if that exists, otherwise to `a`.
  const longestNameFirst = possibleOwners.toSorted((one, other) => other.relation.length - one.relation.length)
  return longestNameFirst[0]
}

const callerHas = ({ roles }: Caller, role: Parameters<typeof hasRole>[1]) =>
  sql<boolean>`${hasRole(roles, role)}::boolean`

/**
 * Returns the main tables of pipelines to which a table can belong. For `a__b__c` these are `a__b__c`, `a__b` and `a`.
 */
function listPossibleMainTables(name: string): string[] {
  const names = [name]
  for (let separator = name.lastIndexOf('__'); separator > 0; separator = name.lastIndexOf('__', separator - 1))
    names.push(name.slice(0, separator))
  return names
}

/**
 * Returns the descriptions of a request body by column name. The description of the table has the key
 * `tableDescriptionKey`. Throws 422 for a column that the table lacks, and for a repeated column.
 */
function parseDescriptions(
  { description, columns = [] }: TableDescriptionsBody,
  columnNames: readonly string[],
): Map<string, string> {
  const columnTexts = new Map<string, string>()
  for (const [index, { name, description: text }] of columns.entries()) {
    const pointer = `/columns/${index}/name`
    if (columnTexts.has(name))
      throw problems.refused(pointer, `The column "${name}" is in the list twice. Remove one of them.`)
    if (!columnNames.includes(name))
      throw problems.refused(
        pointer,
        `The table has no column "${name}". Its columns: ${shorten(columnNames.join(', '))}.`,
      )
    columnTexts.set(name, text)
  }
  if (description === undefined) return columnTexts
  return new Map([[tableDescriptionKey, description], ...columnTexts])
}

const shorten = (text: string): string => (text.length <= 300 ? text : `${text.slice(0, 300)}…`)
