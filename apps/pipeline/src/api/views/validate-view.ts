import { randomUUID } from 'node:crypto'
import type { ViewBody } from '@sluice/contracts'
import { problems } from '@sluice/http-server'
import type { Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import { identifierProblem, toUniqueIdentifiers } from '@sluice/row-stream'
import type { RequestContext } from '../operation-context.ts'
import { assertSchedule, toScheduleColumns } from '../schedule-fields.ts'
import { lockWritableSchema } from '../schemas/records.ts'
import { toAccessColumnsWithDefault, assertSharingTargets } from '../object-access.ts'
import type { ViewRow } from './records.ts'
import { splitSql } from '../../variables/split-sql.ts'

/** The columns that define a view in the warehouse. */
export type ViewColumns = Pick<ViewRow, 'view_name' | 'query' | 'materialized'> & { uid?: string }

/**
 * Returns the columns for a request body, and the name of the schema in the warehouse. Throws 409 if one of the names
 * is taken.
 */
export async function toViewColumns(
  trx: Transaction<DB>,
  body: ViewBody,
  current: ViewRow | undefined,
  { caller }: RequestContext,
): Promise<{ columns: ViewColumns; schema: string }> {
  const { name, field } = chooseViewName(body, current?.view_name)
  const nameProblem = identifierProblem(name)
  if (nameProblem) throw problems.refused(`/${field}`, nameProblem)
  const schema = await lockTargetSchema(trx, body, current, caller)
  await assertRelationNameFree(trx, schema.id, name, current)
  await assertNameFree(trx, caller.client, body.name, current)
  const columns = {
    ...(current ? {} : { uid: randomUUID(), client: caller.client }),
    schema_id: schema.id,
    view_name: name,
    name: body.name,
    translations: JSON.stringify(body.translations ?? []),
    description: body.description ?? null,
    tags: JSON.stringify(body.tags ?? []),
    query: body.query,
    materialized: body.materialized,
    ...toScheduleColumns(body),
    visualization_id: body.status?.visualizationId ?? null,
    visualization_href: body.status?.visualizationHref ?? null,
    anonymous_metadata: body.anonymousAccess?.metadata ?? false,
    anonymous_data: body.anonymousAccess?.data ?? false,
    ...(await toAccessColumnsWithDefault(trx, body.access, current, caller.client)),
  }
  return { columns, schema: schema.schema_name }
}

/**
 * Returns the name of the view in the warehouse, and the body's field that contains it: `dataWarehouseViewName` or its
 * older alias `warehouseAViewName`. A field counts only if it differs from the stored name, so that callers can read a
 * view, change one of the two fields and send it back.
 */
function chooseViewName(
  { name, dataWarehouseViewName, warehouseAViewName }: ViewBody,
  stored: string | undefined,
): { name: string; field: 'dataWarehouseViewName' | 'warehouseAViewName' } {
  const isNew = (viewName: string | undefined): viewName is string => viewName !== undefined && viewName !== stored
  const isAliasNew = isNew(warehouseAViewName)
  const isNameNew = isNew(dataWarehouseViewName)
  const areNamesContradictory = isAliasNew && isNameNew && warehouseAViewName !== dataWarehouseViewName
  if (areNamesContradictory)
    throw problems.refused(
      '/warehouseAViewName',
      'Two different names are given. Set dataWarehouseViewName, and leave warehouseAViewName out.',
    )
  if (isAliasNew && !isNameNew) return { name: warehouseAViewName, field: 'warehouseAViewName' }
  const nameFromTitle = () => toUniqueIdentifiers([name])[0]!
  return { name: dataWarehouseViewName ?? stored ?? nameFromTitle(), field: 'dataWarehouseViewName' }
}

/**
 * Returns the warehouse schema of the body. Locks it if the view moves to it. Throws 422 if the caller may not write to
 * it, unless the view is already in it.
 */
async function lockTargetSchema(
  trx: Transaction<DB>,
  { schema: { id } }: ViewBody,
  current: ViewRow | undefined,
  caller: RequestContext['caller'],
) {
  const currentSchema =
    current && (await trx.selectFrom('schemas').selectAll().where('id', '=', current.schema_id).executeTakeFirst())
  const schemaRow = currentSchema?.uid === id.toLowerCase() ? currentSchema : await lockWritableSchema(trx, caller, id)
  if (!schemaRow)
    throw problems.refused('/schema/id', `No schema that you may write to has the id ${id}. Choose another schema.`)
  if (schemaRow.provider_schema === 'NA')
    throw problems.refused(
      '/schema/id',
      `The schema "${schemaRow.name}" has no warehouse: its providerSchema is NA. Choose another schema.`,
    )
  return schemaRow
}

/**
 * Throws 409 if another view of the organisation has this name. Checks this early, because the warehouse creates the
 * view before the row is written.
 */
async function assertNameFree(
  trx: Transaction<DB>,
  client: string,
  name: string,
  current: ViewRow | undefined,
): Promise<void> {
  let viewsWithName = trx.selectFrom('views').select('id').where('client', '=', client).where('name', '=', name)
  if (current) viewsWithName = viewsWithName.where('id', '<>', current.id)
  if (await viewsWithName.executeTakeFirst())
    throw problems.conflict('/name', 'Another view has this name. Choose another name.')
}

/** Throws 409 if another view or a pipeline in the schema already has this name. */
async function assertRelationNameFree(
  trx: Transaction<DB>,
  schema: number,
  name: string,
  current: ViewRow | undefined,
): Promise<void> {
  let views = trx.selectFrom('views').select('id').where('schema_id', '=', schema).where('view_name', '=', name)
  if (current) views = views.where('id', '<>', current.id)
  if (await views.executeTakeFirst())
    throw problems.conflict('/dataWarehouseViewName', 'Another view has this name in the schema. Choose another name.')
  const pipeline = await trx
    .selectFrom('data_pipelines')
    .select('name')
    .where('schema_id', '=', schema)
    .where('table_name', '=', name)
    .executeTakeFirst()
  if (pipeline)
    throw problems.conflict('/dataWarehouseViewName', 'A data pipeline loads this table. Choose another name.')
}

/** Validates the parts of a request body that need no database query. */
export async function checkView(body: ViewBody, input: RequestContext): Promise<void> {
  assertQueryAllowed(body.query)
  assertSchedule(body)
  await assertSharingTargets(body.access, input)
}

/**
 * Throws 422 for a blank query, and for a query with variables, because the warehouse would store their values, and
 * every user could read them there.
 */
export function assertQueryAllowed(query: string): void {
  if (query.trim() === '') throw problems.refused('/query', 'The query must not be blank.')
  for (const { kind, text } of splitSql(query)) {
    if (kind === 'comment') continue
    const variable = /\$\{[^{}\n]*\}/.exec(text)?.[0]
    if (variable !== undefined)
      throw problems.refused(
        '/query',
        `A view cannot use variables such as ${variable.slice(0, 100)}, because the warehouse stores its query. Write the value itself, or filter when you read the view.`,
      )
  }
}
