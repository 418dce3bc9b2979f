import type { Place } from '../views.ts'
import { databaseOf, qualified } from './names.ts'
import { type Token, tokensOf } from './sql-tokens.ts'

/** What users call a table, and where it is. */
export interface Surroundings {
  key: string
  /** Where names without a schema are looked for, in this order. The first is the database of the statement. */
  schemas: readonly string[]
  /** Every table gets its database: for a text that is kept, and run from somewhere else. */
  whole?: boolean
  /** Tables and views of the client's schemas. */
  relations: readonly Place[]
}

/** A statement as the server takes it. */
export interface Readdressed {
  text: string
  parameters: Record<string, string | null>
  /** Which tables and views it names behind FROM and JOIN. */
  reads: Place[]
  /** Those of them that it names without a schema. */
  bare: string[]
}

const opening = new Set(['from', 'join'])
const closing = new Set(
  'where prewhere group order limit offset having union except intersect select settings window qualify fetch'.split(
    ' ',
  ),
)

/**
 * A schema is a database with a longer name here. So behind FROM and JOIN `schema.table` gets that name, and a table without a
 * schema the first one that has it; `$1` becomes a parameter of the server. Nothing else of the text is touched.
 */
export function readdressed(sql: string, values: readonly (string | null)[], around: Surroundings): Readdressed {
  const tokens = tokensOf(sql)
  const defined = commonTables(tokens)
  const found: Readdressed = { text: '', parameters: {}, reads: [], bare: [] }
  let copied = 0
  const replace = ({ start }: Token, { end }: Token, by: string) => {
    found.text += sql.slice(copied, start) + by
    copied = end
  }
  const lists = [false]
  let expecting = false
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index]!
    if (token.kind === 'parameter') {
      const number = Number(token.text.slice(1))
      const value = values[number - 1]
      if (value === undefined) continue
      found.parameters[`v${number}`] = value
      replace(token, token, `{v${number}:${typeOf(value)}}`)
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
    if (opening.has(word)) {
      lists[lists.length - 1] = true
      expecting = true
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
      replace(token, named, qualified(databaseOf({ key: around.key, schema }), name))
    } else if (tokens[index + 1]?.text !== '(' && !defined.has(token.text)) {
      found.bare.push(token.text)
      const schema = around.schemas.find((one) =>
        around.relations.some((place) => place.schema === one && place.name === token.text),
      )
      if (schema === undefined) continue
      found.reads.push({ schema, name: token.text })
      if (around.whole || schema !== around.schemas[0])
        replace(token, token, qualified(databaseOf({ key: around.key, schema }), token.text))
    }
  }
  found.text += sql.slice(copied)
  return found
}

/** Names that WITH gives: `name AS (`. */
function commonTables(tokens: readonly Token[]): Set<string> {
  const names = new Set<string>()
  for (let index = 0; index + 2 < tokens.length; index++) {
    const [name, as, next] = [tokens[index]!, tokens[index + 1]!, tokens[index + 2]!]
    if (as.kind !== 'word' || as.text.toLowerCase() !== 'as') continue
    if (next.text === '(' || next.text.toLowerCase() === 'materialized') names.add(name.text)
  }
  return names
}

/** Of a number, its own, so that it is compared as a number. Everything else is text. */
function typeOf(value: string | null): string {
  if (value === null) return 'Nullable(String)'
  if (!/^-?(0|[1-9]\d{0,30})(\.\d{1,30})?$/.test(value)) return 'String'
  const [, fraction] = value.split('.')
  if (fraction !== undefined) return `Decimal(76, ${fraction.length})`
  return BigInt.asIntN(64, BigInt(value)) === BigInt(value) ? 'Int64' : 'Int256'
}
