/** The plainest reading of a CSV file with commas, the whole text in memory: what a load is compared with. */
export const plainCsv = (text: string): string[][] => {
  const records: string[][] = []
  let record: string[] = []
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/gy
  while (field.lastIndex < text.length) {
    const at = field.lastIndex
    const [, quoted, bare = '', end] = field.exec(text) ?? []
    if (end === undefined) throw new Error(`Not a CSV file at character ${at}.`)
    record.push(quoted?.replaceAll('""', '"') ?? bare)
    if (end === ',') continue
    records.push(record)
    record = []
  }
  return records
}

/** One way to write each value: null for nothing, numbers without a sign, zeros or an exponent that say nothing. */
export const plainValue = (value: unknown, isNumber: boolean): string | null => {
  if (value === null || value === '') return null
  const text = String(value)
  return isNumber ? plainDecimal(text) : text
}

const plainDecimal = (text: string): string => {
  const [, sign = '', whole = '', part = '', power = '0'] = /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  if (!whole && !part) return text
  const shift = Number(power)
  const digits = `${'0'.repeat(Math.max(0, -shift))}${whole}${part}${'0'.repeat(Math.max(0, shift))}`
  const point = digits.length - part.length - Math.max(0, shift) + shift
  const before = digits.slice(0, point).replace(/^0+/, '') || '0'
  const after = digits.slice(point).replace(/0+$/, '')
  const amount = after ? `${before}.${after}` : before
  return sign === '-' && amount !== '0' ? `-${amount}` : amount
}
