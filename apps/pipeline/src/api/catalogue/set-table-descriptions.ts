import { type Table, type TableDescriptionsBody, hasRole } from '@sluice/contracts'
import { type OperationInput, problems } from '@sluice/http-server'
import { isUid, visibleTo } from '@sluice/records'
import { sql } from 'kysely'
import { isTableDropPending } from '../../deleted-tables/pending-drops.ts'
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
  const { body, caller, params, request, warehouses, write } = input
  const { schema, owner } = await readEditableTable(input, params)
  const relation = { schema: schema.schema_name, name: params.name }
  const warehouse = await warehouses.find(caller.client)
  const isDropPending = await isTableDropPending(input.db, { ...relation, table: relation.name, client: caller.client })
  if (!warehouse || isDropPending) throw problems.notFound('table')
  const [table] = await warehouse.catalog.findTables([relation])
  if (!table) throw problems.notFound('table')
  const texts = parseDescriptions(
    body,
    table.columns.map(({ name }) => name),
  )
  await write(async (trx) => {
    const before = await lockDescriptions(trx, schema.id, relation.name)
    const after = new Map([...before, ...texts].filter(([, text]) => text !== ''))
    const total = [...after.values()].join('').length
    if (total > maxTotalLength)
      throw problems.refused(
        '/columns',
        `The descriptions of this table would have ${total} characters together, and at most ${maxTotalLength} are allowed. Shorten them.`,
      )
    await storeDescriptions(trx, { schemaId: schema.id, name: relation.name, texts, by: caller.uid })
    /** Selects from `descriptions`, which are those before or after the change, the ones that the request changes. */
    const toAudit = (descriptions: ReadonlyMap<string, string>) => {
      const columns = [...texts.keys()].filter((name) => name !== tableDescriptionKey)
      return {
        ...(texts.has(tableDescriptionKey) && { description: descriptions.get(tableDescriptionKey) ?? null }),
        columns: Object.fromEntries(columns.map((name) => [name, descriptions.get(name) ?? null])),
      }
    }
    request.audit(owner?.uid ?? schema.uid, { ...relation, before: toAudit(before), after: toAudit(after) })
  })
  const [findDescriptions, findStatistics] = await Promise.all([
    readDescriptions(input.db, caller.client, [relation]),
    readColumnStatistics(input.db, caller.client, [table]),
  ])
  const labels = addDescriptions(owner && toTableLabels(owner), findDescriptions(relation))
  // Omit statistics that contain values, because a caller who may describe a table may not be allowed to read its rows.
  return presentTable(table, { ...labels, columnStatistics: omitValues(findStatistics(table)) })
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
  { db, caller }: Pick<RequestContext, 'db' | 'caller'>,
  { uid, name }: { uid: string; name: string },
): Promise<{ schema: DescribedSchema; owner: DescribedOwner | undefined }> {
  const readable = visibleTo(caller, 'READ')
  const writable = visibleTo(caller, 'READ_WRITE')
  const callerHas = (role: Parameters<typeof hasRole>[1]) => sql<boolean>`${hasRole(caller.roles, role)}::boolean`
  const schemas = isUid(uid)
    ? await sql<DescribedSchema>`
        select r.id, r.uid, r.schema_name, ${readable} as readable,
          ${callerHas('ROLE_MANAGE_SCHEMA')} and ${writable} as writable
        from schemas r where r.uid = ${uid} and r.client = ${caller.client}`.execute(db)
    : { rows: [] }
  const [schema] = schemas.rows
  if (!schema) throw problems.notFound('schema')
  // PostgreSQL rejects text that contains a NUL character.
  if (name.includes('\0')) throw problems.notFound('table')
  const { rows: owners } = await sql<DescribedOwner>`
    select r.uid, r.table_name as relation, r.name, r.description, ${callerHas('ROLE_SEE_DATA_PIPELINE')} and ${readable} as readable,
      ${callerHas('ROLE_MANAGE_DATA_PIPELINE')} and ${writable} as writable
    from data_pipelines r where r.schema_id = ${schema.id} and r.table_name = any(${listPossibleOwners(name)})
    union all
    select r.uid, r.view_name, r.name, r.description, ${callerHas('ROLE_SEE_VIEW')} and ${readable},
      ${callerHas('ROLE_MANAGE_VIEW')} and ${writable}
    from views r where r.schema_id = ${schema.id} and r.view_name = ${name}`.execute(db)
  // Several names can match; the longest is the owner's. `a__b__c` belongs to `a__b` if that exists, otherwise to `a`.
  const longestFirst = owners.toSorted((one, other) => other.relation.length - one.relation.length)
  const owner = longestFirst[0]
  const seesAll = hasRole(caller.roles, 'ROLE_VIEW_DATA_ALL_DATA_PIPELINE')
  const isVisible = seesAll || (schema.readable && owner?.readable)
  if (owner?.writable || (isVisible && schema.writable)) return { schema, owner }
  // Callers without access to the schema get the same response as for a schema that does not exist.
  if (!isVisible) throw problems.notFound(schema.readable ? 'table' : 'schema')
  throw problems.forbidden(
    'You may read this table, but not edit its schema or the data pipeline or view that fills it. Ask the owner of one of them for access to edit it.',
  )
}

/**
 * Returns the table names of pipelines to which a table can belong. For `a__b__c` these are `a__b__c`, `a__b` and `a`.
 */
function listPossibleOwners(name: string): string[] {
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
  const texts = new Map(description === undefined ? [] : [[tableDescriptionKey, description]])
  for (const [index, { name, description: text }] of columns.entries()) {
    const pointer = `/columns/${index}/name`
    if (texts.has(name) && name !== tableDescriptionKey)
      throw problems.refused(pointer, `The column "${name}" is in the list twice. Remove one of them.`)
    if (!columnNames.includes(name))
      throw problems.refused(
        pointer,
        `The table has no column "${name}". Its columns: ${shorten(columnNames.join(', '))}.`,
      )
    texts.set(name, text)
  }
  return texts
}

const shorten = (text: string): string => (text.length <= 300 ? text : `${text.slice(0, 300)}…`)
