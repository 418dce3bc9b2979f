import type { TypeRules } from './plan-shape.ts'
import type { StoredAs } from './previous-source-columns.ts'

/**
 * Returns the name of a stored type as the API has it: `DECIMAL(12,2)`, `TEXT`. A type that no load creates, such as
 * `uuid` in PostgreSQL, keeps its name in the warehouse.
 */
export function typeName({ storedAs }: Pick<TypeRules, 'storedAs'>, { type, dataType }: StoredAs): string {
  const digits = dataType === 'DECIMAL' ? /\((\d+)(?:, ?(\d+))?\)/.exec(type) : null
  const [precision, scale] = [digits?.[1], digits?.[2] ?? '0']
  const size = precision === undefined ? {} : { precision: Number(precision), scale: Number(scale) }
  if (storedAs({ dataType, ...size }).type !== type) return type
  return precision === undefined || type === storedAs({ dataType }).type ? dataType : `DECIMAL(${precision},${scale})`
}
