/** Commas, quotes, line breaks inside quotes: the obvious way, everything in memory. Empty is null. */
export function readSimply(content: string): { header: string[]; rows: (string | null)[][] } {
  const records: string[][] = []
  let record: string[] = []
  for (const [, quoted, plain, end] of content.matchAll(/(?:"((?:[^"]|"")*)"|([^,\r\n]*))(,|\r?\n|$)/g)) {
    record.push(quoted?.replaceAll('""', '"') ?? plain ?? '')
    if (end === ',') continue
    if (record.length > 1 || record[0] !== '') records.push(record)
    record = []
  }
  const [header = [], ...rows] = records
  return { header, rows: rows.map((row) => row.map((value) => (value === '' ? null : value))) }
}

/** The type that a person would give a column. */
export function typeOf(values: readonly (string | null)[]): string {
  const present = values.filter((value) => value !== null)
  const all = (pattern: RegExp) => present.length > 0 && present.every((value) => pattern.test(value))
  if (all(/^-?(0|[1-9]\d*)$/)) {
    const largest = Math.max(...present.map((value) => Math.abs(Number(value))))
    return largest < 2 ** 15 ? 'SMALLINT' : largest < 2 ** 31 ? 'INTEGER' : 'BIGINT'
  }
  if (all(/^-?(0|[1-9]\d*)(\.\d+)?$/)) return 'DECIMAL'
  if (all(/^\d{4}-\d\d-\d\d$/)) return 'DATE'
  if (all(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)) return 'TIMESTAMPTZ'
  if (all(/^(true|false)$/)) return 'BOOLEAN'
  return 'TEXT'
}

/** A value as it can be compared: numbers exactly, without zeros that say nothing; moments by when they are. */
export function comparable(value: unknown, type: string): unknown {
  if (value === null) return null
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  switch (type) {
    case 'SMALLINT':
    case 'INTEGER':
    case 'BIGINT':
    case 'DECIMAL':
      return text.includes('.') ? text.replace(/\.?0+$/, '') : text
    case 'TIMESTAMPTZ':
      return new Date(text).toISOString()
    default:
      return text
  }
}
