import { sql, type Expression, type RawBuilder, type SqlBool } from 'kysely'
import { filterOperators, type FilterOperator } from './operators.ts'
import { isNotTrue, wordsOf } from './patterns.ts'
import { getProperty, type Properties, type Property } from './properties.ts'
import { assertStorableText, quoteText, rejectTerm } from './violations.ts'

/** The properties and the free-text condition of a search. */
export interface SearchTarget {
  properties: Properties
  /**
   * Returns the condition for a free text: for the request's `query`, and for each word of an `identifiable` filter.
   */
  query?: (text: string) => Expression<SqlBool>
}

const maxListItems = 500

/**
 * Converts a filter `property:operator[:value]` to a SQL condition in parentheses. The value is everything after the
 * second colon.
 */
export function filterCondition(filter: string, { properties, query }: SearchTarget): RawBuilder<SqlBool> {
  assertStorableText(filter)
  const [name = '', operator, ...rest] = filter.split(':')
  if (operator === undefined) rejectTerm('must have the form property:operator or property:operator:value')
  const value = rest.length > 0 ? rest.join(':') : undefined

  if (name === 'identifiable' && query && !Object.hasOwn(properties, name)) {
    return sql`(${identifiableCondition(operator, value, query)})`
  }
  const property = getProperty(name, properties)
  if (property.location) {
    const condition = relatedRowCondition(property, operator, value)
    if (condition) return sql`(${condition})`
  }
  const condition = conditionOf(property, operatorNamed(operator, property), operator, value)
  return sql`(${property.some ? property.some(sql`(${condition})`) : condition})`
}

/** The positive operator of each negated operator. Negated operators also match missing values. */
const negatedOperators: ReadonlyMap<string, string> = new Map([
  ...['ne', 'neq'].map((name): [string, string] => [name, 'eq']),
  ...[...filterOperators.keys()]
    .filter((name) => name.startsWith('!') && filterOperators.get(name)!.takes === 'value')
    .map((name): [string, string] => [name, name.slice(1)]),
])

/** Returns the condition on a value in a related row, if the operator can be evaluated on that row. */
function relatedRowCondition(
  property: Property,
  name: string,
  value: string | undefined,
): RawBuilder<SqlBool> | undefined {
  const { location, ...shared } = property
  if (!location || operatorNamed(name, property).takes === 'nothing') return undefined
  const positive = negatedOperators.get(name) ?? name
  const related: Property = {
    ...shared,
    column: location.column,
    ...(location.within !== undefined && { within: location.within }),
  }
  const condition = location.where(conditionOf(related, operatorNamed(positive, property), positive, value))
  return positive === name ? condition : sql`(${condition}) is not true`
}

/** Returns the property name of a filter without validating the filter. */
export const propertyNameOf = (filter: string): string => filter.split(':', 1)[0]!

/** Converts the free text `query` to a SQL condition in parentheses. Returns undefined for a blank text. */
export function queryCondition(text: string | undefined, { query }: SearchTarget): RawBuilder<SqlBool> | undefined {
  const trimmed = text?.trim()
  if (!trimmed) return undefined
  assertStorableText(trimmed)
  return query ? sql`(${query(trimmed)})` : rejectTerm('is not supported here: use filter')
}

function operatorNamed(name: string, { type }: Property): FilterOperator {
  const operator = filterOperators.get(name)
  if (!operator)
    rejectTerm(
      `uses ${quoteText(name)}, which is not an operator. Operators: ${[...filterOperators.keys()].join(', ')}`,
    )
  if (!operator.types.includes(type)) {
    const suitable = [...filterOperators].filter(([, { types }]) => types.includes(type)).map(([known]) => known)
    rejectTerm(
      `uses the operator ${quoteText(name)}, which this property does not support. Supported operators: ${suitable.join(', ')}`,
    )
  }
  return operator
}

function conditionOf(
  property: Property,
  operator: FilterOperator,
  name: string,
  value: string | undefined,
): RawBuilder<SqlBool> {
  switch (operator.takes) {
    case 'nothing':
      if (value !== undefined) rejectTerm(`must end after ${quoteText(name)}, which takes no value`)
      return operator.condition(property)
    case 'value':
      return operator.condition(property, requireValue(value, name))
    case 'list':
      return operator.condition(property, itemsOf(requireValue(value, name)))
  }
}

const requireValue = (value: string | undefined, operator: string): string =>
  value ?? rejectTerm(`needs a value: write :value after ${quoteText(operator)}`)

/** Parses `[a,b,c]`. Items cannot contain commas, because escaping is not supported. */
function itemsOf(list: string): string[] {
  if (!list.startsWith('[') || !list.endsWith(']') || list.length < 2)
    rejectTerm('needs a list in brackets, such as [a,b,c]')
  const items = list.slice(1, -1).split(',')
  if (items.includes('')) rejectTerm('must not have an empty item in its list')
  if (items.length > maxListItems) rejectTerm(`must not list more than ${maxListItems} items`)
  return items
}

/** Returns the condition of the virtual property `identifiable`, which searches the same columns as `query`. */
function identifiableCondition(
  operator: string,
  value: string | undefined,
  query: NonNullable<SearchTarget['query']>,
): RawBuilder<SqlBool> {
  const supported = ['token', '!token', 'ilike', '!ilike']
  if (!supported.includes(operator))
    rejectTerm(`uses ${quoteText(operator)}; identifiable supports: ${supported.join(', ')}`)
  const text = requireValue(value, operator)
  // The operators `token` and `!token` search for each word, the others for the text as a whole.
  const words = operator.endsWith('token') ? wordsOf(text) : [text || rejectTerm('needs a text to search for')]
  const everyWord = sql<SqlBool>`${sql.join(
    words.map((word) => sql`(${query(word)})`),
    sql` and `,
  )}`
  return operator.startsWith('!') ? isNotTrue(everyWord) : everyWord
}
