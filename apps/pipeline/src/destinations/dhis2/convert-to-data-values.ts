import type { RowCell, QueryRows } from '@sluice/warehouses/warehouse'
import type { Field, MappedColumns } from './data-value-columns.ts'

/** A data value in the format of DHIS2. All fields are text, except the two flags. */
export type DataValue = Partial<Record<Exclude<Field, 'followUp' | 'deleted'>, string>> & {
  followUp?: boolean
  deleted?: boolean
}

/** A converted row of the view: a value to send, EMPTY if the row has no value, or the reason why it cannot be sent. */
export type ConvertedRow = { value: DataValue } | 'EMPTY' | { column: Field; reason: string; value: DataValue }

/**
 * Returns a function that converts a row of a view to a data value. It returns EMPTY for a row without a value, and the
 * column and the reason for a row that lacks another required field.
 */
export function createRowConverter(
  { indexByField }: MappedColumns,
  columns: QueryRows['columns'],
): (row: readonly RowCell[]) => ConvertedRow {
  const fields = [...indexByField].map(([field, index]) => ({
    field,
    index,
    format: createFormatter(field, columns[index]!.dataType),
  }))

  return (row) => {
    const dataValue: DataValue = {}
    for (const { field, index, format } of fields) {
      const cell = row[index] ?? null
      if (cell === null) continue
      if (field === 'followUp' || field === 'deleted') dataValue[field] = cell === true || cell === 'true'
      else dataValue[field] = format(toText(cell))
    }
    // A row that deletes a data value may omit the field `value`.
    if (dataValue.value === undefined && !dataValue.deleted) return 'EMPTY'
    const emptyField = (['dataElement', 'period', 'orgUnit'] as const).find((field) => !dataValue[field]?.trim())
    if (emptyField) return { column: emptyField, reason: `The row has no ${emptyField}.`, value: dataValue }
    return { value: dataValue }
  }
}

/** Returns a function that formats the values of a column for DHIS2: a date as a period, and timestamps in ISO 8601. */
function createFormatter(field: Field, dataType: QueryRows['columns'][number]['dataType']): (text: string) => string {
  if (dataType === 'DATE' && field === 'period') return (text) => text.replaceAll('-', '')
  if (dataType === 'TIMESTAMP' || dataType === 'TIMESTAMPTZ')
    return (text) => text.replace(' ', 'T').replace(/\+00(:00)?$/, 'Z')
  return (text) => text
}

function toText(cell: Exclude<RowCell, null>): string {
  if (typeof cell === 'number') return formatPlainNumber(cell)
  return typeof cell === 'object' ? JSON.stringify(cell) : String(cell)
}

/** Formats a number without an exponent, because DHIS2 cannot parse exponents. */
function formatPlainNumber(value: number): string {
  const text = String(value)
  const scientificNotation = /^(?<sign>-?)(?<firstDigit>\d)(?:\.(?<fractionDigits>\d+))?e(?<exponent>[+-]\d+)$/
  const parts = scientificNotation.exec(text)?.groups
  if (!parts) return text
  const { sign = '', firstDigit = '', fractionDigits = '', exponent } = parts
  const digits = firstDigit + fractionDigits
  // The number of digits before the decimal point. Negative if there are zeros directly after the point.
  const pointPosition = 1 + Number(exponent)
  if (pointPosition <= 0) return `${sign}0.${'0'.repeat(-pointPosition)}${digits}`
  if (pointPosition >= digits.length) return `${sign}${digits.padEnd(pointPosition, '0')}`
  return `${sign}${digits.slice(0, pointPosition)}.${digits.slice(pointPosition)}`
}
