import { sql, type RawBuilder } from 'kysely'
import { columnOf, propertyNamed, type Properties } from './properties.ts'
import { quoted, refuse } from './violations.ts'

const directions = ['asc', 'desc', 'iasc', 'idesc']

/** Reads `property[:direction]` terms in their order, and refuses a property that was named before. */
export function orderReader(properties: Properties) {
  const named = new Set<string>()

  return (term: string): RawBuilder<unknown> => {
    const [name = '', direction = 'asc', ...rest] = term.split(':')
    const property = propertyNamed(name, properties)
    if (rest.length > 0 || !directions.includes(direction)) {
      refuse(`must end in one of the directions: ${directions.join(', ')}`)
    }
    if (property.some || property.type === 'strings') refuse(`cannot order by ${quoted(name)}, which has many values`)
    const ignoresCase = direction.startsWith('i')
    if (ignoresCase && property.type !== 'string') refuse(`must order by asc or desc: ${quoted(name)} is not text`)
    if (named.has(name)) refuse(`repeats ${quoted(name)}`)
    named.add(name)

    const column = columnOf(property.column)
    const key = ignoresCase ? sql`lower(${column})` : column
    return direction.endsWith('desc') ? sql`${key} desc nulls last` : sql`${key} asc nulls last`
  }
}
