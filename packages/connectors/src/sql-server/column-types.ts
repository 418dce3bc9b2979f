import type { DataType } from '@sluice/contracts'
import type { StoredType } from '@sluice/row-stream'
import { StatementNotAllowedError } from '../database-connector/database-session.ts'
import { removeTrailingZeros, type FilterSyntax, formatNumber } from '../database-connector/increments/row-filter.ts'

/** The server's description of a query column. `system_type_name` is null for CLR types. */
export interface ServerField {
  name: string | null
  system_type_name: string | null
  user_type_name: string | null
  precision: number
  scale: number
}

const columnTypesByName: Record<string, DataType> = {
  bit: 'BOOLEAN',
  tinyint: 'SMALLINT',
  smallint: 'SMALLINT',
  int: 'INTEGER',
  bigint: 'BIGINT',
  decimal: 'DECIMAL',
  numeric: 'DECIMAL',
  money: 'DECIMAL',
  smallmoney: 'DECIMAL',
  real: 'FLOAT',
  float: 'DOUBLE',
  date: 'DATE',
  datetime: 'TIMESTAMP',
  smalldatetime: 'TIMESTAMP',
  datetime2: 'TIMESTAMP',
  datetimeoffset: 'TIMESTAMPTZ',
  json: 'JSONB',
  geometry: 'GEOMETRY',
  geography: 'GEOMETRY',
}

/**
 * SQL expressions to read a value, by type. They are for types of which the driver loses digits or returns no useful
 * value.
 */
const valueExpressions: Record<string, (value: string) => string> = {
  decimal: (value) => `convert(varchar(60), ${value})`,
  numeric: (value) => `convert(varchar(60), ${value})`,
  // Style 2 formats money with four decimal places; the default style has two.
  money: (value) => `convert(varchar(60), ${value}, 2)`,
  smallmoney: (value) => `convert(varchar(60), ${value}, 2)`,
  time: (value) => `convert(varchar(20), ${value})`,
  xml: (value) => `convert(nvarchar(max), ${value})`,
  json: (value) => `convert(nvarchar(max), ${value})`,
  sql_variant: (value) => `convert(nvarchar(4000), ${value})`,
  geometry: (value) => `${value}.STAsText()`,
  geography: (value) => `${value}.STAsText()`,
  hierarchyid: (value) => `${value}.ToString()`,
}

/** Returns the column type for a SQL Server type. Types that are not in the list above become text. */
export function sqlServerColumnType(field: ServerField): StoredType {
  const name = getTypeName(field)
  const dataType = columnTypesByName[name] ?? 'TEXT'
  if (dataType !== 'DECIMAL') return { dataType }
  return { dataType, precision: field.precision, scale: field.scale }
}

/**
 * Returns the SQL expression that reads `column` without loss. Times arrive as JavaScript dates, with the digits below
 * a millisecond in an additional property.
 */
export function readExpression(column: string, field: ServerField): string {
  return valueExpressions[getTypeName(field)]?.(column) ?? column
}

/** Returns the name of a field's type without its length or precision: `decimal` for `decimal(10,2)`. */
const getTypeName = ({ system_type_name: systemType, user_type_name: userType }: ServerField): string =>
  (systemType ?? userType ?? '').replace(/\(.*/, '').toLowerCase()

/** Returns the SQL expression for a number, date or timestamp as text with all its digits. */
export function formatCursorText(value: string, field: ServerField): string {
  const expression = readExpression(value, field)
  // Style 126 is ISO 8601. It has no effect on integers.
  return expression === value ? `convert(varchar(60), ${value}, 126)` : expression
}

/** Returns the filter syntax for a query from `wrapQuery`, which names the columns c1, c2, … */
export const createFilterSyntax = (fields: readonly ServerField[]): FilterSyntax => ({
  column: (index) => `c${index + 1}`,
  literal: (value, kind, index) => (kind === 'NUMBER' ? formatNumber(value) : formatMoment(value, fields[index]!)),
  falseLiteral: '0',
})

/**
 * Returns the literal for a cursor value such as `2026-01-31 12:30:00.250000000` with the column's type. A literal of
 * another type would not be equal, because `datetime` rounds to 1/300 second.
 */
function formatMoment(value: string, field: ServerField): string {
  const [date, time] = value.split(' ')
  const typeName = getTypeName(field)
  if (time === undefined || typeName === 'date') return `cast('${date}' as date)`
  const [timeOfDay, digits = ''] = removeTrailingZeros(time).split('.')
  const moment = `${date}T${timeOfDay}`
  if (typeName === 'datetime') {
    // A `datetime` accepts three decimal places. Only a value of the clock has more, and it may be earlier than the
    // exact time.
    const hasMilliseconds = digits !== '' && digits.length <= 3
    return `cast('${moment}${hasMilliseconds ? `.${digits}` : ''}' as datetime)`
  }
  const fraction = digits === '' ? '' : `.${digits.slice(0, 7)}`
  if (typeName === 'datetimeoffset') return `cast('${moment}${fraction}+00:00' as datetimeoffset(7))`
  return `cast('${moment}${fraction}' as datetime2(7))`
}

export const quoteName = (name: string): string => `[${name.replaceAll(']', ']]')}]`

/**
 * Throws `StatementNotAllowedError` unless the statement starts with SELECT. The query is afterwards embedded in
 * another query, where a second statement, WITH, and ORDER BY without TOP or OFFSET are syntax errors. This is needed
 * because T-SQL statements can follow each other without a separator.
 */
export function assertQuery(text: string): void {
  const start = text.replace(/^(?:\s+|--[^\n\r]*(?:[\n\r]|$)|\/\*[^]*?\*\/)+/, '')
  if (/^with\b/i.test(start))
    throw new StatementNotAllowedError(
      'A query that begins with WITH is not supported. Create a view from it in the database, and read the view.',
    )
  if (!/^select\b/i.test(start)) throw new StatementNotAllowedError()
}
