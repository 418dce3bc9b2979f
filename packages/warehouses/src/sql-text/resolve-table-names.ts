import { assertPlainComments, type SqlToken, tokensOf } from './sql-tokens.ts'
import type { TablePlace } from '../catalog.ts'
import type { AmbiguousTable } from '../warehouse.ts'

/** The context in which `resolveNames` maps users' table names to the server's names. */
export interface QueryScope {
  /** The search path for unqualified names, in order. The statement will run in the first schema. */
  schemas: readonly string[]
  /** True if every table name must be qualified, because the query is stored and runs in another context later. */
  qualifiesAllTables?: boolean
  /** The tables and views in the organisation's schemas. */
  relations: readonly TablePlace[]
  /** The server's SQL syntax. Default: that of ClickHouse and PostgreSQL. */
  language?: SqlLanguage
  /** Returns the server's full name of a table. */
  address(place: TablePlace): string
  /** Returns the text that replaces `$number`, counted from 1. undefined leaves the placeholder as it is. */
  parameter?(number: number): string | undefined
}

export interface ResolvedQuery {
  text: string
  /** The tables and views that the query names after FROM and JOIN. */
  reads: TablePlace[]
  /** The names after FROM and JOIN that have no schema, including those that no schema of the search path contains. */
  unqualifiedNames: string[]
}

/** The properties of a server's SQL syntax that are needed to find table names. */
export interface SqlLanguage {
  tokensOf(sql: string): SqlToken[]
  /** Lower-case keywords that precede a table name. */
  tableKeywords: ReadonlySet<string>
}

/** The syntax of ClickHouse and PostgreSQL. */
export const defaultLanguage: SqlLanguage = { tokensOf, tableKeywords: new Set(['from', 'join']) }

/** Keywords that end a list of tables. After them, a comma does not precede a table name. */
const tableListTerminators = new Set(
  'where prewhere group order limit offset having union except intersect select settings window qualify fetch'.split(
    ' ',
  ),
)

/**
 * Rewrites a query for a server that has other names for the organisation's schemas. After FROM and JOIN,
 * `schema.table` gets the server's name, and an unqualified table resolves to the first schema that contains it. `$1`
 * becomes a parameter of the server. Everything else stays unchanged. Throws `WarehouseProblem` if servers might parse
 * the query differently.
 */
export function resolveNames(sql: string, scope: QueryScope): ResolvedQuery {
  assertPlainComments(sql)
  const resolved: ResolvedQuery = { text: '', reads: [], unqualifiedNames: [] }
  let copiedEnd = 0
  for (const reference of findReferences(sql, scope)) {
    const replacement = 'replacement' in reference ? reference.replacement : resolveTable(reference, scope, resolved)
    if (replacement === undefined) continue
    resolved.text += sql.slice(copiedEnd, reference.first.start) + replacement
    copiedEnd = reference.last.end
  }
  resolved.text += sql.slice(copiedEnd)
  return resolved
}

/** A table name in a query: `schema.name`, or `name` alone. `first` and `last` are its tokens. */
interface TableReference {
  first: SqlToken
  last: SqlToken
  schema?: string
  name: string
}

interface ReplacedParameter {
  first: SqlToken
  last: SqlToken
  replacement: string
}

/**
 * Yields, in their order, the table names of a query and the parameters that have a replacement. A table name follows a
 * table keyword such as FROM, or a comma in the list of tables after the keyword.
 */
function* findReferences(sql: string, scope: QueryScope): Generator<TableReference | ReplacedParameter> {
  const language = scope.language ?? defaultLanguage
  const tokens = language.tokensOf(sql)
  const withNames = namesInWithClauses(tokens)
  // One entry for the text outside parentheses and one for each open parenthesis: true within a list of tables.
  const isTableListByDepth = [false]
  const setTableList = (isTableList: boolean) => (isTableListByDepth[isTableListByDepth.length - 1] = isTableList)
  // True if the next token may be a table name.
  let expectsTable = false
  let lastTableKeyword = ''
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index]!
    if (token.kind === 'parameter') {
      const replacement = scope.parameter?.(Number(token.text.slice(1)))
      if (replacement === undefined) continue
      yield { first: token, last: token, replacement }
      expectsTable = false
      continue
    }
    if (token.kind === 'sign') {
      if (token.text === '(') isTableListByDepth.push(false)
      if (token.text === ')' && isTableListByDepth.length > 1) isTableListByDepth.pop()
      expectsTable = token.text === ',' && isTableListByDepth.at(-1)!
      continue
    }
    const word = token.kind === 'word' ? token.text.toLowerCase() : ''
    if (language.tableKeywords.has(word)) {
      setTableList(true)
      expectsTable = true
      lastTableKeyword = word
      continue
    }
    if (tableListTerminators.has(word)) setTableList(false)
    if (!expectsTable) continue
    expectsTable = false
    const nameAfterSchema = tokens[index + 1]?.text === '.' ? tokens[index + 2] : undefined
    if (nameAfterSchema) {
      yield { first: token, last: nameAfterSchema, schema: token.text, name: nameAfterSchema.text }
      // Skips the dot and the name.
      index += 2
      continue
    }
    // A name before a parenthesis is a function, except after INTO: there a list of columns follows the table.
    const isFunction = tokens[index + 1]?.text === '(' && lastTableKeyword !== 'into'
    const isDefinedByWith = withNames.has(token.text)
    if (!isFunction && !isDefinedByWith) yield { first: token, last: token, name: token.text }
  }
}

/**
 * Returns the server's name of a table, or undefined if the name in the query stays unchanged. Adds the table to
 * `resolved.reads`, if it belongs to the organisation, and an unqualified name to `resolved.unqualifiedNames`.
 */
function resolveTable(
  { schema, name }: TableReference,
  scope: QueryScope,
  resolved: ResolvedQuery,
): string | undefined {
  if (schema !== undefined) {
    const isKnownSchema =
      scope.relations.some((relation) => relation.schema === schema) || scope.schemas.includes(schema)
    if (!isKnownSchema) return undefined
    resolved.reads.push({ schema, name })
    return scope.address({ schema, name })
  }
  resolved.unqualifiedNames.push(name)
  const firstSchemaWithTable = scope.schemas.find((candidate) =>
    scope.relations.some((relation) => relation.schema === candidate && relation.name === name),
  )
  if (firstSchemaWithTable === undefined) return undefined
  const place = { schema: firstSchemaWithTable, name }
  resolved.reads.push(place)
  // The statement runs in the first schema, so the server finds the tables of that schema itself.
  const isFoundByServer = firstSchemaWithTable === scope.schemas[0]
  return isFoundByServer && !scope.qualifiesAllTables ? undefined : scope.address(place)
}

/** Returns the places without duplicates, sorted by schema and name. */
export function uniquePlaces(places: readonly TablePlace[]): TablePlace[] {
  const byKey = new Map(places.map((place) => [`${place.schema}\0${place.name}`, place]))
  return [...byKey].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, place]) => place)
}

/** Returns the names that WITH clauses define: `name AS (` or `name AS MATERIALIZED (`. */
function namesInWithClauses(tokens: readonly SqlToken[]): Set<string> {
  const names = new Set<string>()
  for (let index = 0; index + 2 < tokens.length; index++) {
    const [name, as, next] = [tokens[index]!, tokens[index + 1]!, tokens[index + 2]!]
    if (as.kind !== 'word' || as.text.toLowerCase() !== 'as') continue
    if (next.text === '(' || next.text.toLowerCase() === 'materialized') names.add(name.text)
  }
  return names
}

/**
 * Returns the first name that is ambiguous: none of the first `preferredCount` schemas contains it, and several of the
 * other schemas do. Returns the name with those schemas. See `QueryRunner.findAmbiguousTable`.
 */
export function findAmbiguousTable(
  names: Iterable<string>,
  relations: readonly TablePlace[],
  schemas: readonly string[],
  preferredCount: number,
): AmbiguousTable | undefined {
  const schemasWith = (name: string, candidates: readonly string[]) =>
    relations.filter((place) => place.name === name && candidates.includes(place.schema)).map(({ schema }) => schema)
  const preferredSchemas = schemas.slice(0, preferredCount)
  const otherSchemas = schemas.slice(preferredCount)
  for (const name of new Set(names)) {
    if (schemasWith(name, preferredSchemas).length > 0) continue
    const schemasWithName = schemasWith(name, otherSchemas)
    if (schemasWithName.length > 1) return { name, schemas: schemasWithName.toSorted() }
  }
  return undefined
}
