/**
 * A value as PostgreSQL would print it: bytes as `\x…`, times without a zone of the machine, numbers and booleans as words,
 * anything else as JSON.
 */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return String(value)
  if (value instanceof Date) return dateText(value)
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`
  return JSON.stringify(value, (_key, inner) => (typeof inner === 'bigint' ? String(inner) : inner)) ?? ''
}

function dateText(date: Date): string {
  const { nanosecondsDelta = 0 } = date as { nanosecondsDelta?: number }
  const written = date.toISOString().replace('T', ' ').replace('Z', '')
  const finer = Math.round(nanosecondsDelta * 1e6)
  return finer > 0 ? written + String(finer).padStart(3, '0') : written.replace(/\.000$/, '')
}
