const COMMA = 44
const POINT = 46

/** Common texts for a missing value. The empty field is always null. */
const nullTexts = [
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

export const isNullText = (text: string): boolean => nullTexts.includes(text.trim())

const numberWithDecimalPoint = /^-?(0|[1-9]\d*)\.\d+$/
const numberWithThousandsPoints = /^-?[1-9]\d{0,2}(\.\d{3})+$/
/** An integer, or a number with a comma that may be a decimal comma. */
const numberWithOptionalComma = /^-?(\d+|\d*,\d+)$/
/**
 * A number with a comma that cannot separate thousands: after 0 or four digits, or before a group that has not three digits.
 */
const numberWithDecimalComma = /^-?(0,\d+|\d{4,},\d+|\d*,(\d{1,2}|\d{4,}))$/

/**
 * Returns the decimal sign that the values of the columns prove, or else a point. A comma is proven if all values of a
 * column are integers or numbers with one comma, at least one of these commas cannot separate thousands, and no value
 * in any column has a point that can only be a decimal point.
 *
 * 1,234 alone is ambiguous and stays text. So does 1.234 in a file with decimal commas, where its point probably
 * separates thousands, and in a file without a proven sign, unless its fields are separated by commas.
 */
export function guessDecimal(columns: readonly (readonly string[])[], delimiter: number): DecimalGuess {
  if (delimiter === COMMA) return { sign: POINT, decided: columns.some(hasDecimalPoint), ambiguous: [] }
  let hasDecimalComma = false
  for (const values of columns) {
    const filledValues = values.filter((value) => value !== '')
    if (hasDecimalPoint(filledValues)) return { sign: POINT, decided: true, ambiguous: [] }
    const areNumbers = filledValues.every((value) => numberWithOptionalComma.test(value))
    if (areNumbers && filledValues.some((value) => numberWithDecimalComma.test(value))) hasDecimalComma = true
  }
  if (hasDecimalComma) return { sign: COMMA, decided: true, ambiguous: [] }
  const ambiguous = columns.flatMap((values, index) => (mayHaveThousands(values) ? [index] : []))
  return { sign: POINT, decided: false, ambiguous }
}

/** True if all values would be integers with points as thousands separators, and some have such a point. */
function mayHaveThousands(values: readonly string[]): boolean {
  const filledValues = values.filter((value) => value !== '')
  return (
    filledValues.some((value) => numberWithThousandsPoints.test(value)) &&
    filledValues.every((value) => /^-?\d+$/.test(value) || numberWithThousandsPoints.test(value))
  )
}

/** The decimal sign. `decided` is true if the values prove it. */
export interface DecimalGuess {
  sign: number
  decided: boolean
  /** The indexes of columns in which points may be decimal points or thousands separators. */
  ambiguous: readonly number[]
}

/** True if a value has a point that cannot separate thousands. */
const hasDecimalPoint = (values: readonly string[]): boolean =>
  values.some((value) => numberWithDecimalPoint.test(value) && !numberWithThousandsPoints.test(value))

/** True if all values are numbers with this decimal sign, and some contain the sign. */
export function areDecimals(values: readonly string[], sign: number): boolean {
  const filledValues = values.filter((value) => value !== '')
  const numberPattern = sign === COMMA ? numberWithOptionalComma : /^-?(\d+|\d*\.\d+)$/
  return (
    filledValues.every((value) => numberPattern.test(value)) &&
    filledValues.some((value) => value.includes(String.fromCharCode(sign)))
  )
}

/** A number, or a text that starts with a date. */
const numberOrDate = /^[-+]?[\d.,]*\d([eE][-+]?\d+)?$|^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}/
const unmistakableNull = /^(NULL|null|Null|\\N|#?N\/A)$/

/**
 * Returns the common texts for a missing value that occur in columns in which all other values are numbers or dates.
 * The texts that hardly mean anything else, such as NULL, are returned for any column. Sorts them.
 */
export function suggestNulls(columns: readonly (readonly string[])[]): string[] {
  const suggestedNulls = new Set<string>()
  for (const values of columns) {
    const nullTextsInColumn = new Set(values.filter((value) => nullTexts.includes(value)))
    const otherValues = values.filter((value) => value !== '' && !nullTextsInColumn.has(value))
    const isTypedColumn = otherValues.length > 0 && otherValues.every((value) => numberOrDate.test(value))
    for (const text of nullTextsInColumn) if (isTypedColumn || unmistakableNull.test(text)) suggestedNulls.add(text)
  }
  return [...suggestedNulls].toSorted()
}
