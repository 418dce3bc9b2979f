import { sql, type RawBuilder, type SqlBool } from 'kysely'
import {
  startsWithText,
  containsWords,
  isNotTrue,
  occursInTrigrams,
  createTextPattern,
  wordsOf,
  type TextPattern,
} from './text-patterns.ts'
import { columnOf, type Property, type PropertyType } from './properties.ts'
import { arrayOf, collectionSize, valueOf } from './parse-filter-values.ts'

type ConditionBuilder<Operand extends unknown[]> = (property: Property, ...operand: Operand) => RawBuilder<SqlBool>

/**
 * A filter operator: whether it takes a value, the condition that it builds, and the property types that it supports.
 */
export type FilterOperator = { types: readonly PropertyType[] } & (
  | { takes: 'value'; condition: ConditionBuilder<[text: string]> }
  | { takes: 'list'; condition: ConditionBuilder<[texts: string[]]> }
  | { takes: 'nothing'; condition: ConditionBuilder<[]> }
)

const allPropertyTypes: readonly PropertyType[] = ['string', 'uid', 'number', 'date-time', 'boolean', 'enum', 'strings']
const orderedTypes: readonly PropertyType[] = ['number', 'date-time', 'uid']
const textTypes: readonly PropertyType[] = ['string']
const emptiableTypes: readonly PropertyType[] = ['string', 'strings']

/** Returns the operator that compares a property with a value. It compares a collection by its number of elements. */
function createComparisonOperator(
  symbol: '=' | 'is distinct from' | '>' | '>=' | '<' | '<=',
  types: readonly PropertyType[],
): FilterOperator {
  const comparison = sql.raw(symbol)
  const condition: ConditionBuilder<[string]> = (property, value) => {
    const column = columnOf(property.column)
    if (property.type === 'strings') return sql`cardinality(${column}) ${comparison} ${collectionSize(value)}`
    const condition = sql<SqlBool>`${column} ${comparison} ${valueOf(property, value)}`
    return symbol === '=' ? withTrigramCondition(property, condition, [value]) : condition
  }
  return { takes: 'value', types, condition }
}

/**
 * Returns the operator that matches values in a list. For a collection, it matches if any element is in the list. The
 * negated operator matches the other values, but not null.
 */
function listOperator(negated: boolean): FilterOperator {
  const condition: ConditionBuilder<[string[]]> = (property, values) => {
    const column = columnOf(property.column)
    const array = arrayOf(property, values)
    if (property.type === 'strings') return negated ? sql`not (${column} && ${array})` : sql`${column} && ${array}`
    return negated ? sql`${column} <> all(${array})` : sql`${column} = any(${array})`
  }
  return { takes: 'list', types: allPropertyTypes, condition }
}

/**
 * Returns an operator that matches a pattern. `listContainedTexts` returns texts that every match contains, for lookup
 * in a trigram index. Default: none.
 */
function patternOperator(
  match: TextPattern,
  listContainedTexts: (value: string) => string[] = () => [],
): FilterOperator {
  const condition: ConditionBuilder<[string]> = (property, value) =>
    withTrigramCondition(property, match(columnOf(property.column), value), listContainedTexts(value))
  return { takes: 'value', types: textTypes, condition }
}

/**
 * Adds to a condition that each of the texts occurs in the column with the trigram index. The condition already implies
 * this, so the result is the same, but the index can be used. Does nothing for a property without such a column.
 */
function withTrigramCondition(
  { within }: Property,
  condition: RawBuilder<SqlBool>,
  containedTexts: string[],
): RawBuilder<SqlBool> {
  if (within === undefined || containedTexts.length === 0) return condition
  const trigramConditions = containedTexts.map((text) => occursInTrigrams(within, text))
  return sql`(${sql.join([condition, ...trigramConditions], sql` and `)})`
}

/** Returns an operator without a value. */
function unaryOperator(
  types: readonly PropertyType[],
  condition: (column: RawBuilder<unknown>, type: PropertyType) => RawBuilder<SqlBool>,
): FilterOperator {
  return { takes: 'nothing', types, condition: ({ column, type }) => condition(columnOf(column), type) }
}

const [eq, ne] = [
  createComparisonOperator('=', allPropertyTypes),
  createComparisonOperator('is distinct from', allPropertyTypes),
]
const [ge, le] = [createComparisonOperator('>=', orderedTypes), createComparisonOperator('<=', orderedTypes)]
/**
 * Returns the sequences of ASCII characters in a text. They are stored exactly as they are compared, while other
 * characters may have several Unicode forms.
 */
const asciiSequences = (value: string): string[] => value.normalize('NFC').match(/[\w.@+-]{3,}/g) ?? []
const ieq = patternOperator(
  (column, value) => sql`lower(normalize(${column}, NFC)) = lower(${value.normalize('NFC')})`,
  asciiSequences,
)

const patternOperators: Record<string, TextPattern> = {
  like: createTextPattern('like', '%', '%'),
  $like: createTextPattern('like', '', '%'),
  like$: createTextPattern('like', '%', ''),
  ilike: createTextPattern('ilike', '%', '%'),
  $ilike: startsWithText,
  ilike$: createTextPattern('ilike', '%', ''),
  token: containsWords,
}
/** Returns the function that lists the texts that every match of a pattern contains. */
const containedTextsOf = (name: string) => (name === 'token' ? wordsOf : (value: string) => [value])

/**
 * All operators by their names in requests. A row without a value for the property matches only `ne`, the negated
 * patterns, `null`, and for a collection `empty`.
 */
export const filterOperators: ReadonlyMap<string, FilterOperator> = new Map<string, FilterOperator>([
  ...Object.entries({ eq, ne, neq: ne, '!eq': ne, ieq }),
  ...Object.entries({
    gt: createComparisonOperator('>', orderedTypes),
    ge,
    gte: ge,
    lt: createComparisonOperator('<', orderedTypes),
    le,
    lte: le,
  }),
  ...Object.entries(patternOperators).flatMap(([name, match]): [string, FilterOperator][] => [
    [name, patternOperator(match, containedTextsOf(name))],
    [`!${name}`, patternOperator((column, value) => isNotTrue(match(column, value)))],
  ]),
  ['startsWith', patternOperator(startsWithText, containedTextsOf('ilike'))],
  ['endsWith', patternOperator(createTextPattern('ilike', '%', ''), containedTextsOf('ilike'))],
  ['in', listOperator(false)],
  ['!in', listOperator(true)],
  ['null', unaryOperator(allPropertyTypes, (column) => sql`${column} is null`)],
  ['!null', unaryOperator(allPropertyTypes, (column) => sql`${column} is not null`)],
  [
    'empty',
    unaryOperator(emptiableTypes, (column, type) =>
      type === 'strings' ? sql`coalesce(cardinality(${column}), 0) = 0` : sql`${column} = ''`,
    ),
  ],
  [
    '!empty',
    unaryOperator(emptiableTypes, (column, type) =>
      type === 'strings' ? sql`cardinality(${column}) > 0` : sql`${column} <> ''`,
    ),
  ],
])
