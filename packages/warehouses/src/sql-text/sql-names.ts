import { assertPlainComments, type SqlToken, tokensOf } from './sql-tokens.ts'
import type { TablePlace } from '../catalog.ts'
import type { AmbiguousTable } from '../warehouse.ts'

/** The context in which `resolveNames` maps users' table names to the server's names. */
export interface QueryScope {
  /** The search path for unqualified names, in order. The statement will run in the first schema. */
  schemas: readonly string[]
  /** True if every table name must be qualified, because the query is stored and runs in another context later. */
  whole?: boolean
  /** The tables and views in the organisation's schemas. */
  relations: readonly TablePlace[]
  /** The server's SQL syntax. Default: that of ClickHouse and PostgreSQL. */
  language?: SqlLanguage
  /** Returns the server's full name of a table. */
  address(place: TablePlace): string
  /** Returns the text that replaces `$number`, counted from 1. undefined keeps the placeholder. */
  parameter?(number: number): string | undefined
}

export interface ResolvedQuery {
  text: string
  /** The tables and views that the query names after FROM and JOIN. */
  reads: TablePlace[]
  bare: string[]
}

/** The properties of a server's SQL syntax that are needed to find table names. */
export interface SqlLanguage {
  tokensOf(sql: string): SqlToken[]
  /** Keywords that precede a table name. */
  opening: ReadonlySet<string>
}

/** The syntax of ClickHouse and PostgreSQL. */
export const defaultLanguage: SqlLanguage = { tokensOf, opening: new Set(['from', 'join']) }
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
export function resolveNames(sql: string, around: QueryScope): ResolvedQuery {
  assertPlainComments(sql)
  const language = around.language ?? defaultLanguage
  const tokens = language.tokensOf(sql)
  const defined = commonTables(tokens)
  const resolved: ResolvedQuery = { text: '', reads: [], bare: [] }
  let copied = 0
  const replace = ({ start }: SqlToken, { end }: SqlToken, replacement: string) => {
    resolved.text += sql.slice(copied, start) + replacement
    copied = end
  }
  const lists = [false]
  let expecting = false
  let opened = ''
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index]!
    if (token.kind === 'parameter') {
      const parameterText = around.parameter?.(Number(token.text.slice(1)))
      if (parameterText === undefined) continue
      replace(token, token, parameterText)
      expecting = false
      continue
    }
    if (token.kind === 'sign') {
      if (token.text === '(') lists.push(false)
      if (token.text === ')' && lists.length > 1) lists.pop()
      expecting = token.text === ',' && lists.at(-1)!
      continue
    }
    const word = token.kind === 'word' ? token.text.toLowerCase() : ''
    if (language.opening.has(word)) {
      lists[lists.length - 1] = true
      expecting = true
      opened = word
      continue
    }
    if (tableListTerminators.has(word)) lists[lists.length - 1] = false
    if (!expecting) continue
    expecting = false
    const nameToken = tokens[index + 1]?.text === '.' ? tokens[index + 2] : undefined
    if (nameToken) {
      index += 2
      const [schema, name] = [token.text, nameToken.text]
      if (!around.relations.some((one) => one.schema === schema) && !around.schemas.includes(schema)) continue
      resolved.reads.push({ schema, name })
      replace(token, nameToken, around.address({ schema, name }))
    } else if ((tokens[index + 1]?.text !== '(' || opened === 'into') && !defined.has(token.text)) {
      resolved.bare.push(token.text)
      const schema = around.schemas.find((one) =>
        around.relations.some((place) => place.schema === one && place.name === token.text),
      )
      if (schema === undefined) continue
      resolved.reads.push({ schema, name: token.text })
      if (around.whole || schema !== around.schemas[0])
        replace(token, token, around.address({ schema, name: token.text }))
    }
  }
  resolved.text += sql.slice(copied)
  return resolved
}

/** Removes duplicates and sorts by schema and name. */
export function uniquePlaces(places: readonly TablePlace[]): TablePlace[] {
  const byKey = new Map(places.map((place) => [`${place.schema}\0${place.name}`, place]))
  return [...byKey].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, place]) => place)
}

/** Returns the names that WITH clauses define: `name AS (`. */
function commonTables(tokens: readonly SqlToken[]): Set<string> {
  const names = new Set<string>()
  for (let index = 0; index + 2 < tokens.length; index++) {
    const [name, as, next] = [tokens[index]!, tokens[index + 1]!, tokens[index + 2]!]
    if (as.kind !== 'word' || as.text.toLowerCase() !== 'as') continue
    if (next.text === '(' || next.text.toLowerCase() === 'materialized') names.add(name.text)
  }
  return names
}

/**
 * Returns the first unqualified name that exists in several of the `schemas` after the first `preferredCount`, and in
 * none of those first ones. See `QueryRunner.findAmbiguousTable`.
 */
export function findAmbiguousTable(
  names: Iterable<string>,
  relations: readonly TablePlace[],
  schemas: readonly string[],
  preferredCount: number,
): AmbiguousTable | undefined {
  const hasOf = (name: string, among: readonly string[]) =>
    relations.filter((place) => place.name === name && among.includes(place.schema)).map(({ schema }) => schema)
  for (const name of new Set(names)) {
    const otherSchemas = hasOf(name, schemas.slice(preferredCount))
    if (hasOf(name, schemas.slice(0, preferredCount)).length === 0 && otherSchemas.length > 1)
      return { name, schemas: otherSchemas.toSorted() }
  }
  return undefined
}
