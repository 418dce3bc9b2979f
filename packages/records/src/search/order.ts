import { sql, type RawBuilder } from 'kysely'
import { columnOf, getProperty, type Properties, type PropertyType } from './properties.ts'
import { quoteText, rejectTerm } from './invalid-search.ts'

export interface OrderTerm {
  key: RawBuilder<unknown>
  type: PropertyType
  descending: boolean
  /** Whether the value is never null. Nulls come last in either direction. */
  required: boolean
}

const sortDirections = ['asc', 'desc', 'iasc', 'idesc']

/**
 * Returns a parser of the order terms `property[:direction]` of one request. It rejects a property that an earlier term
 * has used, and properties with many values.
 */
export function createOrderParser(properties: Properties) {
  const usedNames = new Set<string>()

  return (term: string): OrderTerm => {
    const [name = '', direction = 'asc', ...rest] = term.split(':')
    const property = getProperty(name, properties)
    if (rest.length > 0 || !sortDirections.includes(direction)) {
      rejectTerm(`must end in one of the directions: ${sortDirections.join(', ')}`)
    }
    if (property.toExists || property.type === 'strings')
      rejectTerm(`cannot order by ${quoteText(name)}, which has many values`)
    const ignoresCase = direction.startsWith('i')
    if (ignoresCase && property.type !== 'string')
      rejectTerm(`must order by asc or desc: ${quoteText(name)} is not text`)
    if (usedNames.has(name)) rejectTerm(`repeats ${quoteText(name)}`)
    usedNames.add(name)

    const column = columnOf(property.column)
    return {
      key: ignoresCase ? sql`lower(${column})` : column,
      type: property.type,
      descending: direction.endsWith('desc'),
      required: property.required ?? false,
    }
  }
}

/**
 * Appends the id, which makes the order total. The id ascends, unless all terms descend and are not null; then one
 * index serves both directions.
 */
export function withId(terms: readonly OrderTerm[], id: Pick<OrderTerm, 'key' | 'type'>): OrderTerm[] {
  const allDescend = terms.length > 0 && terms.every(({ descending, required }) => descending && required)
  return [...terms, { ...id, descending: allDescend, required: true }]
}

/**
 * Returns SQL for an order term. Leaves out `nulls last` for columns that are never null, because PostgreSQL cannot use
 * an ordinary index for `desc nulls last`.
 */
export function orderBy({ key, descending, required }: OrderTerm): RawBuilder<unknown> {
  const direction = sql.raw(descending ? 'desc' : 'asc')
  return required ? sql`${key} ${direction}` : sql`${key} ${direction} nulls last`
}
