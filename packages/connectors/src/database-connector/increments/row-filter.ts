import type { DataType } from '@sluice/contracts'
import type { CursorKind } from './cursor-value.ts'

/** The rows of a statement that are read. `index` is the position of a column, from 0. */
export interface RowFilter {
  /** Excludes rows with a cursor smaller than `from`. Rows without a cursor are read each time, because they cannot be compared. */
  cursor?: { index: number; kind: CursorKind; from: string }
  /** Excludes rows that are marked as deleted. */
  notDeleted?: { index: number; dataType: DataType }
}

/** The parts of a condition that differ between databases. */
export interface FilterSyntax {
  /** Returns the expression of a column. */
  column(index: number): string
  /** Returns a literal that has the type of the column. `value` is a result of `parseCursorValue`. */
  literal(value: string, kind: CursorKind, index: number): string
  /** The literal that equals a false value of a boolean column. */
  falseLiteral: string
  /** Returns the condition that a date is absent, for databases that have other absent dates than NULL. */
  isAbsentDate?(column: string): string
}

/** Returns a condition that begins with WHERE, or an empty text. */
export function buildWhere({ cursor, notDeleted }: RowFilter, syntax: FilterSyntax): string {
  const conditions: string[] = []
  if (cursor) {
    const column = syntax.column(cursor.index)
    const from = syntax.literal(cursor.from, cursor.kind, cursor.index)
    conditions.push(`(${column} >= ${from} or ${column} is null)`)
  }
  if (notDeleted) {
    const column = syntax.column(notDeleted.index)
    const { dataType } = notDeleted
    if (!/^(DATE|TIMESTAMP)/.test(dataType))
      conditions.push(`(${column} is null or ${column} = ${dataType === 'BOOLEAN' ? syntax.falseLiteral : '0'})`)
    else conditions.push(syntax.isAbsentDate?.(column) ?? `${column} is null`)
  }
  return conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`
}

/** The syntax of PostgreSQL and of databases that derive from it, for the columns of `wrapQuery`. */
export const postgresFilterSyntax: FilterSyntax = {
  column: (index) => `c${index + 1}`,
  literal: formatPostgresLiteral,
  falseLiteral: 'false',
}

function formatPostgresLiteral(value: string, kind: CursorKind): string {
  if (kind === 'NUMBER') return formatNumber(value)
  if (kind === 'TIMESTAMPTZ') return `cast('${dropZeros(value)}+00' as timestamptz)`
  return `cast('${dropZeros(value)}' as ${kind === 'DATE' ? 'date' : 'timestamp'})`
}

/** Encloses a negative number in parentheses, because two minus signs would begin a comment. */
export const formatNumber = (value: string): string => (value.startsWith('-') ? `(${value})` : value)

/** Returns a date or timestamp without the zeros at the end of its fraction. */
export const dropZeros = (value: string): string =>
  value.replace(/\.?0+$/, (zeros) => (value.includes('.') ? '' : zeros))
