const COMMA = 44
const POINT = 46

/** Spellings of "nothing" that people use; the empty field needs no mention. */
const nullSpellings = [
  'NA',
  'N/A',
  'n/a',
  'NULL',
  'null',
  'Null',
  '\\N',
  'NaN',
  'nan',
  'None',
  '#N/A',
  '-',
  '--',
  '.',
  '..',
  '?',
]

const decimalPoint = /^-?(0|[1-9]\d*)\.\d+$/
const thousandsPoint = /^-?[1-9]\d{0,2}(\.\d{3})+$/

/**
 * The decimal sign that leaves no other reading: a comma where a column is made of numbers with one comma, one of which cannot be
 * a thousands separator, and no value anywhere has a point that can only be for decimals. 1,234 alone could be either, so it
 * stays text; so does 1.234 beside decimal commas, where it is more likely a thousand.
 */
export function guessDecimal(columns: readonly (readonly string[])[], delimiter: number): DecimalGuess {
  if (delimiter === COMMA) return { sign: POINT, decided: columns.some(hasPoint) }
  let comma = false
  for (const values of columns) {
    const filled = values.filter((value) => value !== '')
    if (hasPoint(filled)) return { sign: POINT, decided: true }
    if (filled.length === 0 || !filled.every((value) => /^-?(\d+|\d*,\d+)$/.test(value))) continue
    if (filled.some((value) => /^-?(0,\d+|\d{4,},\d+|\d*,(\d{1,2}|\d{4,}))$/.test(value))) comma = true
  }
  return comma ? { sign: COMMA, decided: true } : { sign: POINT, decided: false }
}

/** `decided`: the values leave no other reading. */
export interface DecimalGuess {
  sign: number
  decided: boolean
}

const hasPoint = (values: readonly string[]): boolean =>
  values.some((value) => decimalPoint.test(value) && !thousandsPoint.test(value))

/** Whether all values are numbers with this decimal sign, and some have it. */
export function areDecimals(values: readonly string[], sign: number): boolean {
  const filled = values.filter((value) => value !== '')
  const number = sign === COMMA ? /^-?(\d+|\d*,\d+)$/ : /^-?(\d+|\d*\.\d+)$/
  return (
    filled.every((value) => number.test(value)) && filled.some((value) => value.includes(String.fromCharCode(sign)))
  )
}

/** The spellings among a column's values that stand for nothing, judging by the others: numbers, or times. */
export function suggestNulls(columns: readonly (readonly string[])[]): string[] {
  const found = new Set<string>()
  for (const values of columns) {
    const spellings = new Set(values.filter((value) => nullSpellings.includes(value)))
    const others = values.filter((value) => value !== '' && !spellings.has(value))
    const typed =
      others.length > 0 &&
      others.every((value) => /^[-+]?[\d.,]*\d([eE][-+]?\d+)?$|^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}/.test(value))
    for (const spelling of spellings) if (typed || /^(NULL|null|Null|\\N|#?N\/A)$/.test(spelling)) found.add(spelling)
  }
  return [...found].toSorted()
}
