import type { ExplainBody } from '@sluice/contracts'
import { problems } from '@sluice/http-server'
import { trimStatementEnd } from '@sluice/warehouses/sql-text/sql-tokens'
import type { UserQuery } from '@sluice/warehouses/warehouse'
import {
  findOwnPosition,
  findVariablesInSql,
  replaceSqlVariables,
  type ReplacedPart,
} from '../../variables/insert-variables-into-sql.ts'
import { getWarehouseLanguage, type SqlLanguage } from '../../variables/sql-language.ts'
import { readVariables } from '../../variables/variables.ts'
import type { RequestContext } from '../operation-context.ts'

/** A query as the warehouse gets it, without limits. */
export interface PreparedQuery {
  query: Pick<UserQuery, 'text' | 'schemas' | 'toOwnPosition'>
  /** Whether the request names the schemas, so that their order decides between tables of one name. */
  hasOrder: boolean
}

type PrepareInput = Pick<RequestContext, 'db' | 'caller' | 'keyRing'> & { body: ExplainBody }

/** The maximum length of a query with the values of its variables, in characters. */
const maxLength = 1_000_000

/** Looks up the schemas and inserts the values of variables. Throws 422 for an unknown schema or variable. */
export async function prepareQuery(input: PrepareInput): Promise<PreparedQuery> {
  const { body } = input
  if (body.sql.trim() === '') throw problems.refused('/sql', 'The query must not be blank.')
  const schemas = await findSchemas(input)
  const parts = await insertVariables(input, schemas)
  const toOwnPosition: UserQuery['toOwnPosition'] = (position) => findOwnPosition(parts, position)
  const text = trimStatementEnd(parts.map(({ sent }) => sent).join(''))
  const query = { text, schemas: schemas.map(({ schema_name }) => schema_name), toOwnPosition }
  return { query, hasOrder: body.schemas !== undefined }
}

interface QueriedSchema {
  uid: string
  name: string
  schema_name: string
  provider_schema: string
}

/** Returns the schemas that the request names, in its order; otherwise all schemas of the organisation by name. */
async function findSchemas({ db, caller, body }: PrepareInput): Promise<QueriedSchema[]> {
  const all = await db
    .selectFrom('schemas')
    .select(['uid', 'name', 'schema_name', 'provider_schema'])
    .where('client', '=', caller.client)
    .orderBy('schema_name')
    .execute()
  if (!body.schemas) return all.filter(({ provider_schema }) => provider_schema !== 'NA')
  return body.schemas.map(({ id }, index) => {
    const found = all.find(({ uid }) => uid === id.toLowerCase())
    const pointer = `/schemas/${index}/id`
    if (!found) throw problems.refused(pointer, `No schema that you may see has the id ${id}.`)
    if (found.provider_schema === 'NA')
      throw problems.refused(pointer, `The schema "${found.name}" has no warehouse (NA). Choose another one.`)
    return found
  })
}

/** The advice for an unknown variable. */
const unknownVariableAdvice = 'Create it, correct its name, or pass its value in `variables`.'

/** Returns the parts of the query. Only variables of the request and variables that are not secured have a value. */
async function insertVariables(input: PrepareInput, schemas: readonly QueriedSchema[]): Promise<ReplacedPart[]> {
  const { db, caller, keyRing, body } = input
  const languages = new Set(schemas.map(({ provider_schema }) => getWarehouseLanguage(provider_schema)))
  const language: SqlLanguage = [...languages][0] ?? 'postgres'
  const used = findVariablesInSql(body.sql, language)
  const given = body.variables ?? []
  const unused = given.findIndex(({ name }) => !used.has(name))
  if (unused >= 0)
    throw problems.refused(
      `/variables/${unused}/name`,
      `The query does not use \${${given[unused]!.name.slice(0, 100)}}. Correct the name, or leave it out.`,
    )
  if (used.size === 0) return [{ own: body.sql, sent: body.sql }]
  if (languages.size > 1)
    throw problems.refused(
      '/schemas',
      'The schemas of your organisation are in several kinds of warehouses, which write values differently. Send the schemas of one kind in `schemas`, or use no variables.',
    )
  const variables = await readVariables(db, caller.client, keyRing, given)
  const names = new Set(given.map(({ name }) => name))
  for (const name of used)
    if (variables.isSecured(name) && !names.has(name))
      throw problems.refused(
        '/sql',
        `The variable \${${name.slice(0, 100)}} is secured, and a query could show its value. Pass a value in \`variables\`, or use another variable.`,
      )
  const parts: ReplacedPart[] = []
  let length = 0
  for (const part of replaceSqlVariables(body.sql, variables, language, unknownVariableAdvice)) {
    parts.push(part)
    length += part.sent.length
    if (length > maxLength)
      throw problems.refused(
        '/sql',
        `With the values of its variables, the query is longer than ${maxLength.toLocaleString('en')} characters. Shorten it.`,
      )
  }
  return parts
}
