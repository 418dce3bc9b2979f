import { sql, type Expression, type RawBuilder, type SqlBool } from 'kysely'
import type { Role } from '@sluice/contracts'
import { quoteText, rejectTerm } from './violations.ts'

/** A column (`r.name`), or an expression over the tables of the search. */
export type ColumnReference = string | Expression<unknown>

interface PropertyLocation {
  column: ColumnReference
  /** Whether the value is never null. Then an index can serve either direction of an order. */
  required?: boolean
  /**
   * A column that contains the text of this and other properties in lower case (pg_c_utf8) and has a trigram index.
   * Text searches of the property use it as well.
   */
  within?: ColumnReference
  /**
   * For a value of a related row: the column in the related table (`a.username`). `where` converts a condition on the related row to one
   * on `r` (`r.created_by in (select …)`). Filters evaluate the few related rows first instead of once for each row.
   */
  location?: {
    column: string
    within?: ColumnReference
    where: (condition: RawBuilder<SqlBool>) => RawBuilder<SqlBool>
  }
  /** A caller needs one of these roles to search by the property. Default: no restriction. */
  onlyFor?: readonly Role[]
  /**
   * For a property of related records (`userGroups.name`): converts a condition on one related record to the condition that
   * one such record exists, usually by `exists`. A search cannot be ordered by such a property.
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

/** The searchable properties of a resource by wire name (`name`, `client.code`). */
export type Properties = Record<string, Property>

/** Returns the property with this name. Rejects an unknown name. */
export function getProperty(name: string, properties: Properties): Property {
  const property = Object.hasOwn(properties, name) ? properties[name] : undefined
  return property ?? rejectTerm(`names ${quoteText(name)}, which is not one of: ${Object.keys(properties).join(', ')}`)
}

/** Returns the column in SQL. An expression is put in parentheses, so that it stays one operand. */
export function columnOf(column: ColumnReference): RawBuilder<unknown> {
  return typeof column === 'string' ? sql.ref(column) : sql`(${column})`
}
