import { sql, type Expression, type RawBuilder, type SqlBool } from 'kysely'
import { operators, type Operator } from './operators.ts'
import { not, wordsOf } from './patterns.ts'
import { propertyNamed, type Properties, type Property } from './properties.ts'
import { checkText, quoted, refuse } from './violations.ts'

/** What filters may look at. */
export interface Searched {
  properties: Properties
  /** Which rows a free text finds: the request's `query`, and each word of an `identifiable` filter. */
  query?: (text: string) => Expression<SqlBool>
}

const mostItems = 500

/** `property:operator[:value]` as one condition in brackets. The value is all after the second colon. */
export function filterCondition(filter: string, { properties, query }: Searched): RawBuilder<SqlBool> {
  checkText(filter)
  const [name = '', operator, ...rest] = filter.split(':')
  if (operator === undefined) refuse('must have the form property:operator or property:operator:value')
  const value = rest.length > 0 ? rest.join(':') : undefined

  if (name === 'identifiable' && query && !Object.hasOwn(properties, name)) {
    return sql`(${identifiable(operator, value, query)})`
  }
  const property = propertyNamed(name, properties)
  if (property.found) {
    const condition = foundFirst(property, operator, value)
    if (condition) return sql`(${condition})`
  }
  const condition = conditionOf(property, operatorNamed(operator, property), operator, value)
  return sql`(${property.some ? property.some(sql`(${condition})`) : condition})`
}

/** What an operator that also holds where there is no value is the contrary of. */
const contraries: ReadonlyMap<string, string> = new Map([
  ...['ne', 'neq'].map((name): [string, string] => [name, 'eq']),
  ...[...operators.keys()]
    .filter((name) => name.startsWith('!') && operators.get(name)!.takes === 'value')
    .map((name): [string, string] => [name, name.slice(1)]),
])

/** The condition on a value that stands in another row, if it can be asked there. */
function foundFirst(property: Property, name: string, value: string | undefined): RawBuilder<SqlBool> | undefined {
  const { found, ...own } = property
  if (!found || operatorNamed(name, property).takes === 'nothing') return undefined
  const positive = contraries.get(name) ?? name
  const there: Property = { ...own, column: found.column, ...(found.within !== undefined && { within: found.within }) }
  const condition = found.where(conditionOf(there, operatorNamed(positive, property), positive, value))
  return positive === name ? condition : sql`(${condition}) is not true`
}

/** What a filter looks at, as far as that can be told without reading it. */
export const propertyNameOf = (filter: string): string => filter.split(':', 1)[0]!

/** The text of `query` as one condition in brackets; none when there is nothing to look for. */
export function queryCondition(text: string | undefined, { query }: Searched): RawBuilder<SqlBool> | undefined {
  const wanted = text?.trim()
  if (!wanted) return undefined
  checkText(wanted)
  return query ? sql`(${query(wanted)})` : refuse('is not offered here: use filter')
}

function operatorNamed(name: string, { type }: Property): Operator {
  const operator = operators.get(name)
  if (!operator) refuse(`uses ${quoted(name)}, which is none of the operators: ${[...operators.keys()].join(', ')}`)
  if (!operator.types.includes(type)) {
    const suitable = [...operators].filter(([, { types }]) => types.includes(type)).map(([known]) => known)
    refuse(`uses the operator ${quoted(name)}, which is not for this property; these are: ${suitable.join(', ')}`)
  }
  return operator
}

function conditionOf(
  property: Property,
  operator: Operator,
  name: string,
  value: string | undefined,
): RawBuilder<SqlBool> {
  switch (operator.takes) {
    case 'nothing':
      if (value !== undefined) refuse(`must end after ${quoted(name)}, which takes no value`)
      return operator.condition(property)
    case 'value':
      return operator.condition(property, demand(value, name))
    case 'list':
      return operator.condition(property, itemsOf(demand(value, name)))
  }
}

const demand = (value: string | undefined, operator: string): string =>
  value ?? refuse(`needs a value: write :value after ${quoted(operator)}`)

/** The items of `[a,b,c]`. There is no escaping, so no item can hold a comma. */
function itemsOf(list: string): string[] {
  if (!list.startsWith('[') || !list.endsWith(']') || list.length < 2)
    refuse('needs a list in brackets, such as [a,b,c]')
  const items = list.slice(1, -1).split(',')
  if (items.includes('')) refuse('must not have an empty item in its list')
  if (items.length > mostItems) refuse(`must not list more than ${mostItems} items`)
  return items
}

/** The made-up property over whatever identifies a record, as `query` sees it. */
function identifiable(
  operator: string,
  value: string | undefined,
  query: NonNullable<Searched['query']>,
): RawBuilder<SqlBool> {
  const known = ['token', '!token', 'ilike', '!ilike']
  if (!known.includes(operator)) refuse(`uses ${quoted(operator)}; identifiable goes with: ${known.join(', ')}`)
  const text = demand(value, operator)
  const words = operator.endsWith('token') ? wordsOf(text) : [text || refuse('needs some text to look for')]
  const all = sql<SqlBool>`${sql.join(
    words.map((word) => sql`(${query(word)})`),
    sql` and `,
  )}`
  return operator.startsWith('!') ? not(all) : all
}
