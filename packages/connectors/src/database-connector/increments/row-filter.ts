import type { DataType } from '@sluice/contracts'
import type { CursorKind } from './cursor-value.ts'

/** Selects the rows of a statement that are read. `index` is the position of a column, from 0. */
export interface RowFilter {
  /**
   * Excludes rows with a cursor value below `from`. Rows without a value are always read, because they cannot be
   * compared.
   */
  cursor?: { index: number; kind: CursorKind; from: string }
  /** Excludes rows that are marked as deleted. */
  notDeleted?: { index: number; dataType: DataType }
}

/** The syntax of a filter that differs between databases. */
export interface FilterSyntax {
  /** Returns the SQL expression for a column. */
  column(index: number): string
  /** Returns a literal of the column's type. `value` is a result of `parseCursorValue`. */
  literal(value: string, kind: CursorKind, index: number): string
  /** The literal for false in a boolean column. */
  falseLiteral: string
  /**
   * Returns the condition that a date is absent. Defined for databases that store absent dates as other values than
   * NULL.
   */
  isAbsentDate?(column: string): string
}

/** Returns the SQL of a filter: a clause that starts with WHERE, or an empty string for a filter without conditions. */
export function buildWhere({ cursor, notDeleted }: RowFilter, syntax: FilterSyntax): string {
  const conditions = [
    ...(cursor ? [buildCursorCondition(cursor, syntax)] : []),
    ...(notDeleted ? [buildNotDeletedCondition(notDeleted, syntax)] : []),
  ]
  return conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`
}

/** Returns the condition that a row has at least the cursor value `from`, or NULL, which cannot be compared with it. */
function buildCursorCondition({ index, kind, from }: NonNullable<RowFilter['cursor']>, syntax: FilterSyntax): string {
  const column = syntax.column(index)
  return `(${column} >= ${syntax.literal(from, kind, index)} or ${column} is null)`
}

/** Returns the condition that the column has no deletion time, or is false, 0 or NULL. */
function buildNotDeletedCondition(
  { index, dataType }: NonNullable<RowFilter['notDeleted']>,
  syntax: FilterSyntax,
): string {
  const column = syntax.column(index)
  const isDeletionTime = /^(DATE|TIMESTAMP)/.test(dataType)
  if (isDeletionTime) return syntax.isAbsentDate?.(column) ?? `${column} is null`
  const falseLiteral = dataType === 'BOOLEAN' ? syntax.falseLiteral : '0'
  return `(${column} is null or ${column} = ${falseLiteral})`
}

/** The filter syntax of PostgreSQL and databases that derive from it. Columns are named as in `wrapQuery`. */
export const postgresFilterSyntax: FilterSyntax = {
  column: (index) => `c${index + 1}`,
  literal: formatPostgresLiteral,
  falseLiteral: 'false',
}

function formatPostgresLiteral(value: string, kind: CursorKind): string {
  if (kind === 'NUMBER') return formatNumber(value)
  if (kind === 'TIMESTAMPTZ') return `cast('${removeTrailingZeros(value)}+00' as timestamptz)`
  return `cast('${removeTrailingZeros(value)}' as ${kind === 'DATE' ? 'date' : 'timestamp'})`
}

/**
 * Formats a number for SQL. A negative number gets parentheses, because two minus signs in a row would start a comment.
 */
export const formatNumber = (value: string): string => (value.startsWith('-') ? `(${value})` : value)

/** Removes trailing zeros from the fractional seconds of a timestamp. Leaves a value without a fraction unchanged. */
export const removeTrailingZeros = (value: string): string =>
  value.includes('.') ? value.replace(/\.?0+$/, '') : value
