const COMMA = 44
const POINT = 46

/** Common spellings of a missing value. The empty field is always null. */
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

export const isNullSpelling = (text: string): boolean => nullSpellings.includes(text.trim())

const decimalPoint = /^-?(0|[1-9]\d*)\.\d+$/
const thousandsPoint = /^-?[1-9]\d{0,2}(\.\d{3})+$/

/**
 * Returns the decimal sign that the values prove. A comma is proven if all values of a column are numbers with one
 * comma, at least one of these commas cannot separate thousands, and no value has a point that can only be decimal.
 *
 * 1,234 alone is ambiguous and stays text. So does 1.234 in a file with decimal commas, where its point probably
 * separates thousands, and in a file without a proven sign, unless its fields are separated by commas.
 */
export function guessDecimal(columns: readonly (readonly string[])[], delimiter: number): DecimalGuess {
  if (delimiter === COMMA) return { sign: POINT, decided: columns.some(hasPoint), ambiguous: [] }
  let hasDecimalComma = false
  for (const values of columns) {
    const filledValues = values.filter((value) => value !== '')
    if (hasPoint(filledValues)) return { sign: POINT, decided: true, ambiguous: [] }
    if (filledValues.length === 0 || !filledValues.every((value) => /^-?(\d+|\d*,\d+)$/.test(value))) continue
    if (filledValues.some((value) => /^-?(0,\d+|\d{4,},\d+|\d*,(\d{1,2}|\d{4,}))$/.test(value))) hasDecimalComma = true
  }
  if (hasDecimalComma) return { sign: COMMA, decided: true, ambiguous: [] }
  const ambiguous = columns.flatMap((values, index) => (mayHaveThousands(values) ? [index] : []))
  return { sign: POINT, decided: false, ambiguous }
}

/** True if all values would be integers with points as thousands separators, and some have such a point. */
function mayHaveThousands(values: readonly string[]): boolean {
  const filledValues = values.filter((value) => value !== '')
  return (
    filledValues.some((value) => thousandsPoint.test(value)) &&
    filledValues.every((value) => /^-?\d+$/.test(value) || thousandsPoint.test(value))
  )
}

/** The decimal sign. `decided` is true if the values prove it. */
export interface DecimalGuess {
  sign: number
  decided: boolean
  /** The indexes of columns in which points may be decimal points or thousands separators. */
  ambiguous: readonly number[]
}

const hasPoint = (values: readonly string[]): boolean =>
  values.some((value) => decimalPoint.test(value) && !thousandsPoint.test(value))

/** True if all values are numbers with this decimal sign, and some contain the sign. */
export function areDecimals(values: readonly string[], sign: number): boolean {
  const filledValues = values.filter((value) => value !== '')
  const number = sign === COMMA ? /^-?(\d+|\d*,\d+)$/ : /^-?(\d+|\d*\.\d+)$/
  return (
    filledValues.every((value) => number.test(value)) &&
    filledValues.some((value) => value.includes(String.fromCharCode(sign)))
  )
}

/** Returns spellings of missing values that occur in columns in which all other values are numbers or times. */
export function suggestNulls(columns: readonly (readonly string[])[]): string[] {
  const suggestedNulls = new Set<string>()
  for (const values of columns) {
    const spellings = new Set(values.filter((value) => nullSpellings.includes(value)))
    const otherValues = values.filter((value) => value !== '' && !spellings.has(value))
    const isTypedColumn =
      otherValues.length > 0 &&
      otherValues.every((value) => /^[-+]?[\d.,]*\d([eE][-+]?\d+)?$|^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}/.test(value))
    for (const spelling of spellings)
      if (isTypedColumn || /^(NULL|null|Null|\\N|#?N\/A)$/.test(spelling)) suggestedNulls.add(spelling)
  }
  return [...suggestedNulls].toSorted()
}
