import { refusedName } from '../sql-text/check-identifier.ts'
import type { DialectNames } from '../sql-warehouse/sql-dialect.ts'

/** The schema of Sluice's own tables in each organisation's database. */
export const ledgerSchema = 'sluice'

const quoteIdentifier = (name: string): string => `"${name.replaceAll('"', '""')}"`

/**
 * Returns a SQL literal: a number as it is, any other value as a string. The string contains no backslash, because a
 * server setting decides whether a backslash starts an escape sequence.
 */
export function formatLiteral(value: string | null): string {
  if (value === null) return 'null'
  if (/^-?(0|[1-9]\d{0,30})(\.\d{1,30})?$/.test(value)) return value
  return stringLiteral(value)
}

/**
 * Returns a SQL string expression in which backslashes are written as chr(92). `a\b` becomes `('a' || chr(92) || 'b')`.
 */
export function stringLiteral(value: string): string {
  const literals = value.split('\\').map((text) => `'${text.replaceAll("'", "''")}'`)
  return literals.length === 1 ? literals[0]! : `(${literals.join(' || chr(92) || ')})`
}

/** Each organisation has its own database, so schemas keep the names that users chose. */
export const redshiftNames: DialectNames = {
  quoted: quoteIdentifier,
  literal: formatLiteral,
  place: ({ schema, name }) => `${quoteIdentifier(schema)}.${quoteIdentifier(name)}`,
  ledger: (table) => `${quoteIdentifier(ledgerSchema)}.${quoteIdentifier(table)}`,
  check(kind, name) {
    if (kind === 'schema' && (name === ledgerSchema || name.startsWith('pg_') || name === 'information_schema'))
      throw refusedName(kind, name, 'is reserved')
    if (kind === 'column' && systemColumns.has(name)) throw refusedName(kind, name, 'is one of Redshift’s own columns')
  },
}

const systemColumns = new Set(['oid', 'tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid', 'deletexid', 'insertxid'])
