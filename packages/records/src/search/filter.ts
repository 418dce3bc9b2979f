import { sql, type Expression, type RawBuilder, type SqlBool } from 'kysely'
import { filterOperators, type FilterOperator } from './operators.ts'
import { isNotTrue, wordsOf } from './text-patterns.ts'
import { getProperty, type Properties, type Property } from './properties.ts'
import { assertStorableText, quoteText, rejectTerm } from './invalid-search.ts'

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
export function buildFilterCondition(filter: string, { properties, query }: SearchTarget): RawBuilder<SqlBool> {
  assertStorableText(filter)
  const [name = '', operator, ...rest] = filter.split(':')
  if (operator === undefined) rejectTerm('must have the form property:operator or property:operator:value')
  const value = rest.length > 0 ? rest.join(':') : undefined

  const isVirtualProperty = name === 'identifiable' && !Object.hasOwn(properties, name)
  if (isVirtualProperty && query) return sql`(${buildIdentifiableCondition(operator, value, query)})`
  const property = getProperty(name, properties)
  const relatedCondition = buildRelatedRowCondition(property, operator, value)
  if (relatedCondition) return sql`(${relatedCondition})`
  const condition = buildCondition(property, operator, value)
  return sql`(${property.toExists ? property.toExists(sql`(${condition})`) : condition})`
}

/** The positive operator of each negated operator. Negated operators also match missing values. */
const negatedOperators: ReadonlyMap<string, string> = new Map([
  ...['ne', 'neq'].map((name): [string, string] => [name, 'eq']),
  ...[...filterOperators.keys()]
    .filter((name) => name.startsWith('!') && filterOperators.get(name)!.takes === 'value')
    .map((name): [string, string] => [name, name.slice(1)]),
])

/**
 * Returns the condition for a property of a related row, such as the name of the record's author. A negated operator
 * becomes the negation of the positive condition, because there may be no related row. Returns undefined if the
 * property is not in a related row, and for an operator without a value, such as `null`.
 */
function buildRelatedRowCondition(
  property: Property,
  operatorName: string,
  value: string | undefined,
): RawBuilder<SqlBool> | undefined {
  const { relatedRow, ...commonFields } = property
  if (!relatedRow || getOperator(operatorName, property).takes === 'nothing') return undefined
  const positiveName = negatedOperators.get(operatorName) ?? operatorName
  const { column, within, toCondition } = relatedRow
  const relatedProperty: Property = { ...commonFields, column, ...(within !== undefined && { within }) }
  const condition = toCondition(buildCondition(relatedProperty, positiveName, value))
  const isNegated = positiveName !== operatorName
  return isNegated ? isNotTrue(condition) : condition
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

/**
 * Returns the operator with this name. Rejects an unknown operator, and one that the property's type does not support.
 */
function getOperator(name: string, { type }: Property): FilterOperator {
  const operator = filterOperators.get(name)
  if (!operator)
    rejectTerm(
      `uses ${quoteText(name)}, which is not an operator. Operators: ${[...filterOperators.keys()].join(', ')}`,
    )
  if (!operator.types.includes(type)) {
    const supportedNames = [...filterOperators.keys()].filter((key) => filterOperators.get(key)!.types.includes(type))
    rejectTerm(
      `uses the operator ${quoteText(name)}, which this property does not support. Supported operators: ${supportedNames.join(', ')}`,
    )
  }
  return operator
}

/**
 * Returns the condition of an operator on a property. Rejects an unsuitable operator, and a value where the operator
 * takes none or the reverse.
 */
function buildCondition(property: Property, operatorName: string, value: string | undefined): RawBuilder<SqlBool> {
  const operator = getOperator(operatorName, property)
  switch (operator.takes) {
    case 'nothing':
      if (value !== undefined) rejectTerm(`must end after ${quoteText(operatorName)}, which takes no value`)
      return operator.condition(property)
    case 'value':
      return operator.condition(property, requireValue(value, operatorName))
    case 'list':
      return operator.condition(property, parseList(requireValue(value, operatorName)))
  }
}

const requireValue = (value: string | undefined, operatorName: string): string =>
  value ?? rejectTerm(`needs a value: write :value after ${quoteText(operatorName)}`)

/** Parses `[a,b,c]`. Items cannot contain commas, because escaping is not supported. */
function parseList(list: string): string[] {
  const hasBrackets = list.length >= 2 && list.startsWith('[') && list.endsWith(']')
  if (!hasBrackets) rejectTerm('needs a list in brackets, such as [a,b,c]')
  const items = list.slice(1, -1).split(',')
  if (items.includes('')) rejectTerm('must not have an empty item in its list')
  if (items.length > maxListItems) rejectTerm(`must not list more than ${maxListItems} items`)
  return items
}

/**
 * Returns the condition of the virtual property `identifiable`, which searches the same columns as `query`. The
 * operator `token` searches for each word of the value, `ilike` for the value as a whole; `!` negates. Rejects other
 * operators.
 */
function buildIdentifiableCondition(
  operator: string,
  value: string | undefined,
  query: NonNullable<SearchTarget['query']>,
): RawBuilder<SqlBool> {
  const supportedNames = ['token', '!token', 'ilike', '!ilike']
  if (!supportedNames.includes(operator))
    rejectTerm(`uses ${quoteText(operator)}; identifiable supports: ${supportedNames.join(', ')}`)
  const text = requireValue(value, operator)
  const searchTexts = operator.endsWith('token') ? wordsOf(text) : [text || rejectTerm('needs a text to search for')]
  const containsAllTexts = sql<SqlBool>`${sql.join(
    searchTexts.map((searchText) => sql`(${query(searchText)})`),
    sql` and `,
  )}`
  return operator.startsWith('!') ? isNotTrue(containsAllTexts) : containsAllTexts
}
