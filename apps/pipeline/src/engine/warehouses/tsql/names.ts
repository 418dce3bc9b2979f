import type { DialectNames } from '../sql-warehouse/sql-dialect.ts'
import { refusedName } from '../identifiers.ts'
import type { TablePlace } from '../views.ts'

/** Which part of a database is a client's. */
export interface DatabaseHome {
  /** Stands before the name of each of its schemas; empty where it has a database of its own. */
  prefix: string
  /** The hidden schema, with the ledger. */
  ledger: string
}

/** A name as SQL takes it. */
export const bracketed = (name: string): string => `[${name.replaceAll(']', ']]')}]`

/** A text as SQL takes it. */
export const literal = (text: string): string => `N'${text.replaceAll("'", "''")}'`

/** Where the server's names come first, and mean something else. */
const serversOwn = /^(sys|dbo|guest|information_schema|db_\w+|sluice)$/i

export function namesOf({ prefix, ledger }: DatabaseHome): DialectNames {
  const schemaOf = (schema: string) => `${prefix}${schema}`
  return {
    quoted: bracketed,
    literal: (value) =>
      value === null ? 'null' : /^-?(0|[1-9]\d{0,37})(\.\d{1,30})?$/.test(value) ? value : literal(value),
    place: ({ schema, name }: TablePlace) => `${bracketed(schemaOf(schema))}.${bracketed(name)}`,
    ledger: (table) => `${bracketed(ledger)}.${bracketed(table)}`,
    check(kind, name) {
      // Names of temporary tables begin so, and comparing names passes over blanks behind them.
      if (name.startsWith('#')) throw refusedName(kind, name, 'begins with #')
      if (name.endsWith(' ')) throw refusedName(kind, name, 'ends with a blank')
      if (kind === 'schema' && prefix === '' && serversOwn.test(name)) throw refusedName(kind, name, 'is reserved')
    },
  }
}
