import { sql, type Expression, type RawBuilder, type SqlBool } from 'kysely'
import type { Role } from '@sluice/contracts'
import { quoteText, rejectTerm } from './violations.ts'

/** Where a property's value is found: a column (`r.name`), or an expression over the tables of the search. */
export type ColumnReference = string | Expression<unknown>

interface PropertyLocation {
  column: ColumnReference
  /** Is there always a value? Then an index may serve an order by it, whatever the direction. */
  required?: boolean
  /**
   * What holds this one's text and others', in lower case by pg_c_utf8, and has an index of trigrams. Whatever
   * looks for a piece of text in the property then looks there too.
   */
  within?: ColumnReference
  /**
   * For a value that stands in another row, of which there may be many fewer than rows that refer to it: the same value where
   * it stands (`a.username`), and what holds for a row whose other row meets a condition (`r.created_by in (select …)`). Filters
   * look there first, rather than once for each row.
   */
  found?: { column: string; within?: ColumnReference; where: (condition: RawBuilder<SqlBool>) => RawBuilder<SqlBool> }
  /** Who may search by it: holders of any of these roles. Absent: everyone who may search. */
  onlyFor?: readonly Role[]
  /**
   * For a property of related records (`userGroups.name`): turns a condition on one of them into "there is one for
   * which", usually by `exists`. A search cannot be ordered by such a property.
   */
  some?: (condition: RawBuilder<SqlBool>) => RawBuilder<SqlBool>
}

/** `uid` is a uuid or text column of uuids, `date-time` a timestamptz, `strings` a text[]; `number` any numeric type. */
export type Property = PropertyLocation &
  (
    | { type: 'string' | 'uid' | 'number' | 'date-time' | 'boolean' | 'strings' }
    | { type: 'enum'; values: readonly string[] }
  )

export type PropertyType = Property['type']

/** All that a search of one resource may name, by its name on the wire (`name`, `client.code`). */
export type Properties = Record<string, Property>

/** The property of that name. Refuses one that is not on the list. */
export function getProperty(name: string, properties: Properties): Property {
  const property = Object.hasOwn(properties, name) ? properties[name] : undefined
  return property ?? rejectTerm(`names ${quoteText(name)}, which is none of: ${Object.keys(properties).join(', ')}`)
}

/** The column in SQL; an expression goes in brackets, so that it stays one operand. */
export function columnOf(column: ColumnReference): RawBuilder<unknown> {
  return typeof column === 'string' ? sql.ref(column) : sql`(${column})`
}
