import { assertPlainComments } from './sql-tokens.ts'
import { type SqlToken, tokensOf } from './sql-tokens.ts'
import type { TablePlace } from './views.ts'
import type { AmbiguousTable } from './warehouse.ts'

/** What users call a table, and how the server has it. */
export interface QueryScope {
  /** Where names without a schema are looked for, in this order. The first is where the statement runs. */
  schemas: readonly string[]
  /** Every table gets its whole name: for a text that is kept, and run from somewhere else. */
  whole?: boolean
  /** Tables and views of the client's schemas. */
  relations: readonly TablePlace[]
  /** How the server's own SQL is read; usually as ClickHouse and PostgreSQL write it. */
  language?: SqlLanguage
  /** The whole name of a table. */
  address(place: TablePlace): string
  /** What stands for `$1` …, counted from 1; undefined leaves it as it is. */
  parameter?(number: number): string | undefined
}

/** A statement as the server takes it. */
export interface ResolvedQuery {
  text: string
  /** Which tables and views it names behind FROM and JOIN. */
  reads: TablePlace[]
  /** Those of them that it names without a schema. */
  bare: string[]
}

/** What has to be known of a server's SQL to find the names in it. */
export interface SqlLanguage {
  tokensOf(sql: string): SqlToken[]
  /** Words behind which a table is named. */
  opening: ReadonlySet<string>
}

/** As ClickHouse and PostgreSQL write it. */
export const defaultLanguage: SqlLanguage = { tokensOf, opening: new Set(['from', 'join']) }
const closing = new Set(
  'where prewhere group order limit offset having union except intersect select settings window qualify fetch'.split(
    ' ',
  ),
)

/**
 * For servers where a schema has another name than the client calls it. Behind FROM and JOIN `schema.table` gets the server's name
 * for it, and a table without a schema the first one that has it; `$1` becomes a parameter of the server. Nothing else of the text is
 * touched. Throws `WarehouseProblem` where servers might read the text otherwise.
 */
export function resolveNames(sql: string, around: QueryScope): ResolvedQuery {
  assertPlainComments(sql)
  const language = around.language ?? defaultLanguage
  const tokens = language.tokensOf(sql)
  const defined = commonTables(tokens)
  const found: ResolvedQuery = { text: '', reads: [], bare: [] }
  let copied = 0
  const replace = ({ start }: SqlToken, { end }: SqlToken, by: string) => {
    found.text += sql.slice(copied, start) + by
    copied = end
  }
  const lists = [false]
  let expecting = false
  let opened = ''
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index]!
    if (token.kind === 'parameter') {
      const instead = around.parameter?.(Number(token.text.slice(1)))
      if (instead === undefined) continue
      replace(token, token, instead)
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
    if (closing.has(word)) lists[lists.length - 1] = false
    if (!expecting) continue
    expecting = false
    const named = tokens[index + 1]?.text === '.' ? tokens[index + 2] : undefined
    if (named) {
      index += 2
      const [schema, name] = [token.text, named.text]
      if (!around.relations.some((one) => one.schema === schema) && !around.schemas.includes(schema)) continue
      found.reads.push({ schema, name })
      replace(token, named, around.address({ schema, name }))
    } else if ((tokens[index + 1]?.text !== '(' || opened === 'into') && !defined.has(token.text)) {
      found.bare.push(token.text)
      const schema = around.schemas.find((one) =>
        around.relations.some((place) => place.schema === one && place.name === token.text),
      )
      if (schema === undefined) continue
      found.reads.push({ schema, name: token.text })
      if (around.whole || schema !== around.schemas[0])
        replace(token, token, around.address({ schema, name: token.text }))
    }
  }
  found.text += sql.slice(copied)
  return found
}

/** Names that WITH gives: `name AS (`. */
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
 * The first of the names without a schema that several of `schemas` have behind the first `preferred`, none of which has it; see
 * `Warehouse.ambiguousTable`.
 */
export function findAmbiguousTable(
  names: Iterable<string>,
  there: readonly TablePlace[],
  schemas: readonly string[],
  preferred: number,
): AmbiguousTable | undefined {
  const hasOf = (name: string, among: readonly string[]) =>
    there.filter((place) => place.name === name && among.includes(place.schema)).map(({ schema }) => schema)
  for (const name of new Set(names)) {
    const others = hasOf(name, schemas.slice(preferred))
    if (hasOf(name, schemas.slice(0, preferred)).length === 0 && others.length > 1)
      return { name, schemas: others.toSorted() }
  }
  return undefined
}
