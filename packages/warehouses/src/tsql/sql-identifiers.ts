import type { DialectNames } from '../sql-warehouse/sql-dialect.ts'
import { refusedName } from '../sql-text/check-identifier.ts'
import type { TablePlace } from '../catalog.ts'

/** The location of an organisation's tables within a database. */
export interface DatabaseHome {
  /** The prefix of the organisation's schema names. Empty if the organisation has its own database. */
  prefix: string
  /** The hidden schema with the ledger (Sluice's own tables of loads). */
  ledger: string
}

/** Returns the name in brackets, which makes any text a valid identifier. */
export const quoteIdentifier = (name: string): string => `[${name.replaceAll(']', ']]')}]`

/** Returns a Unicode string literal. */
export const formatLiteral = (text: string): string => `N'${text.replaceAll("'", "''")}'`

/** Schema names that the server resolves first and with another meaning. */
const reservedSchemas = /^(sys|dbo|guest|information_schema|db_\w+|sluice)$/i

/** Returns the functions that quote, map and check names for one organisation. */
export function namesOf({ prefix, ledger }: DatabaseHome): DialectNames {
  const schemaOf = (schema: string) => `${prefix}${schema}`
  return {
    quoted: quoteIdentifier,
    literal(value) {
      if (value === null) return 'null'
      return /^-?(0|[1-9]\d{0,37})(\.\d{1,30})?$/.test(value) ? value : formatLiteral(value)
    },
    place: ({ schema, name }: TablePlace) => `${quoteIdentifier(schemaOf(schema))}.${quoteIdentifier(name)}`,
    ledger: (table) => `${quoteIdentifier(ledger)}.${quoteIdentifier(table)}`,
    check(kind, name) {
      // Names of temporary tables start with #. Comparisons of names ignore trailing blanks.
      if (name.startsWith('#')) throw refusedName(kind, name, 'begins with #')
      if (name.endsWith(' ')) throw refusedName(kind, name, 'ends with a blank')
      if (kind === 'schema' && prefix === '' && reservedSchemas.test(name)) throw refusedName(kind, name, 'is reserved')
    },
  }
}
