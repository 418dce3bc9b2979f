import { sql, type RawBuilder, type SqlBool } from 'kysely'
import { begins, containsWords, not, occursIn, pattern, wordsOf, type Pattern } from './patterns.ts'
import { columnOf, type Property, type PropertyType } from './properties.ts'
import { arrayOf, sizeOf, valueOf } from './values.ts'

type Condition<Operand extends unknown[]> = (property: Property, ...operand: Operand) => RawBuilder<SqlBool>

/** What comes after the operator, how it becomes a condition, and which types of property it suits. */
export type Operator = { types: readonly PropertyType[] } & (
  | { takes: 'value'; condition: Condition<[text: string]> }
  | { takes: 'list'; condition: Condition<[texts: string[]]> }
  | { takes: 'nothing'; condition: Condition<[]> }
)

const every: readonly PropertyType[] = ['string', 'uid', 'number', 'date-time', 'boolean', 'enum', 'strings']
const ordered: readonly PropertyType[] = ['number', 'date-time', 'uid']
const text: readonly PropertyType[] = ['string']
const emptiable: readonly PropertyType[] = ['string', 'strings']

function compared(
  symbol: '=' | 'is distinct from' | '>' | '>=' | '<' | '<=',
  types: readonly PropertyType[],
): Operator {
  const comparison = sql.raw(symbol)
  const condition: Condition<[string]> = (property, value) => {
    const column = columnOf(property.column)
    if (property.type === 'strings') return sql`cardinality(${column}) ${comparison} ${sizeOf(value)}`
    const condition = sql<SqlBool>`${column} ${comparison} ${valueOf(property, value)}`
    return symbol === '=' ? alsoWithin(property, condition, [value]) : condition
  }
  return { takes: 'value', types, condition }
}

/** Is one of the list; of a collection: shares an element with it. */
function listed(negated: boolean): Operator {
  const condition: Condition<[string[]]> = (property, values) => {
    const column = columnOf(property.column)
    const array = arrayOf(property, values)
    if (property.type === 'strings') return negated ? sql`not (${column} && ${array})` : sql`${column} && ${array}`
    return negated ? sql`${column} <> all(${array})` : sql`${column} = any(${array})`
  }
  return { takes: 'list', types: every, condition }
}

/** `pieces` are what the text of a row that matches has in it, for an index to look them up. */
function matched(match: Pattern, pieces: (value: string) => string[] = () => []): Operator {
  const condition: Condition<[string]> = (property, value) =>
    alsoWithin(property, match(columnOf(property.column), value), pieces(value))
  return { takes: 'value', types: text, condition }
}

/** The same condition, with what follows from it for a column that has an index. */
function alsoWithin({ within }: Property, condition: RawBuilder<SqlBool>, pieces: string[]): RawBuilder<SqlBool> {
  if (within === undefined || pieces.length === 0) return condition
  const occurring = pieces.map((piece) => occursIn(within, piece))
  return sql`(${sql.join([condition, ...occurring], sql` and `)})`
}

function tested(
  types: readonly PropertyType[],
  condition: (column: RawBuilder<unknown>, type: PropertyType) => RawBuilder<SqlBool>,
): Operator {
  return { takes: 'nothing', types, condition: ({ column, type }) => condition(columnOf(column), type) }
}

const [eq, ne] = [compared('=', every), compared('is distinct from', every)]
const [ge, le] = [compared('>=', ordered), compared('<=', ordered)]
/** The pieces that are stored as they are compared. Of other letters there may be another form. */
const plainPieces = (value: string): string[] => value.normalize('NFC').match(/[\w.@+-]{3,}/g) ?? []
const ieq = matched(
  (column, value) => sql`lower(normalize(${column}, NFC)) = lower(${value.normalize('NFC')})`,
  plainPieces,
)

const patterns: Record<string, Pattern> = {
  like: pattern('like', '%', '%'),
  $like: pattern('like', '', '%'),
  like$: pattern('like', '%', ''),
  ilike: pattern('ilike', '%', '%'),
  $ilike: begins,
  ilike$: pattern('ilike', '%', ''),
  token: containsWords,
}
const piecesOf = (name: string) => (name === 'token' ? wordsOf : (value: string) => [value])

/**
 * Every operator by its name on the wire. Where a row has no value for the property, `ne` and the negated patterns hold;
 * nothing else does but `null`, and `empty` for a collection.
 */
export const operators: ReadonlyMap<string, Operator> = new Map<string, Operator>([
  ...Object.entries({ eq, ne, neq: ne, '!eq': ne, ieq }),
  ...Object.entries({ gt: compared('>', ordered), ge, gte: ge, lt: compared('<', ordered), le, lte: le }),
  ...Object.entries(patterns).flatMap(([name, match]): [string, Operator][] => [
    [name, matched(match, piecesOf(name))],
    [`!${name}`, matched((column, value) => not(match(column, value)))],
  ]),
  ['startsWith', matched(begins, piecesOf('ilike'))],
  ['endsWith', matched(pattern('ilike', '%', ''), piecesOf('ilike'))],
  ['in', listed(false)],
  ['!in', listed(true)],
  ['null', tested(every, (column) => sql`${column} is null`)],
  ['!null', tested(every, (column) => sql`${column} is not null`)],
  [
    'empty',
    tested(emptiable, (column, type) =>
      type === 'strings' ? sql`coalesce(cardinality(${column}), 0) = 0` : sql`${column} = ''`,
    ),
  ],
  [
    '!empty',
    tested(emptiable, (column, type) => (type === 'strings' ? sql`cardinality(${column}) > 0` : sql`${column} <> ''`)),
  ],
])
