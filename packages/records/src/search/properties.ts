import { sql, type Expression, type RawBuilder, type SqlBool } from 'kysely'
import type { Role } from '@sluice/contracts'
import { quoteText, rejectTerm } from './invalid-search.ts'

/** A column (`r.name`), or an expression over the tables of the search. */
export type ColumnReference = string | Expression<unknown>

interface PropertyLocation {
  column: ColumnReference
  /** Whether the value is never null. An index then serves both directions of an order. */
  required?: boolean
  /**
   * A column that contains the text of this and other properties in lower case (pg_c_utf8) and has a trigram index.
   * Text searches of the property use it too.
   */
  within?: ColumnReference
  /**
   * Set for a value of a related row. `column` is the column in the related table (`a.username`). `toCondition`
   * converts a condition on the related row to a condition on `r` (`r.created_by in (select …)`). So filters evaluate
   * the few related rows once, instead of once per row of `r`.
   */
  relatedRow?: {
    column: string
    within?: ColumnReference
    toCondition: (condition: RawBuilder<SqlBool>) => RawBuilder<SqlBool>
  }
  /** A caller needs one of these roles to search by the property. Default: no restriction. */
  onlyFor?: readonly Role[]
  /**
   * Set for a property of several related records (`userGroups.name`). Converts a condition on one related record to
   * the condition that such a record exists. A search cannot be ordered by such a property.
   */
  toExists?: (condition: RawBuilder<SqlBool>) => RawBuilder<SqlBool>
}

/**
 * The type of a property. `uid`: a uuid column or a text column with uuids. `date-time`: a timestamptz. `strings`: a
 * text[]. `number`: any numeric type.
 */
export type Property = PropertyLocation &
  (
    | { type: 'string' | 'uid' | 'number' | 'date-time' | 'boolean' | 'strings' }
    | { type: 'enum'; values: readonly string[] }
  )

export type PropertyType = Property['type']

/** The searchable properties of a resource, by their names in requests (`name`, `client.code`). */
export type Properties = Record<string, Property>

/** Returns the property with this name. Rejects an unknown name. */
export function getProperty(name: string, properties: Properties): Property {
  const property = Object.hasOwn(properties, name) ? properties[name] : undefined
  return property ?? rejectTerm(`names ${quoteText(name)}, which is not one of: ${Object.keys(properties).join(', ')}`)
}

/** Returns the column as SQL. An expression gets parentheses, so that it stays one operand. */
export function columnOf(column: ColumnReference): RawBuilder<unknown> {
  return typeof column === 'string' ? sql.ref(column) : sql`(${column})`
}
