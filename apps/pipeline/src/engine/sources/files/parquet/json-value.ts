import { type ColumnVector, vectorText } from '@sluice/tuples'

/** The value of a row that is not null as JSON. Exact numbers keep their digits; times are ISO 8601 text. */
export function jsonOf(vector: ColumnVector, row: number): string {
  const text = vectorText(vector, row)
  switch (vector.kind) {
    case 'boolean':
    case 'integer':
    case 'decimal':
    case 'json':
      return text
    case 'float':
    case 'double':
      return Number.isFinite(vector.values[row]!) ? text : `"${text}"`
    case 'timestamp':
      return JSON.stringify(text.replace(' ', 'T'))
    case 'timestamptz':
      return JSON.stringify(text.replace(' ', 'T').replace('+00', '+00:00'))
    case 'date':
    case 'text':
      return JSON.stringify(text)
  }
}
