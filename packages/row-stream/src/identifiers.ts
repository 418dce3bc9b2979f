const maxBytes = 63

/**
 * The number of UTF-16 code units of a label that are used for its name. Normalising a label with very many combining
 * marks would take hours and cannot be interrupted.
 */
const maxLabelLength = 1_000

/** Transliterations of Latin characters that Unicode does not decompose into a base character and an accent. */
const latinTransliterations: Record<string, string> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  ł: 'l',
  þ: 'th',
  ħ: 'h',
  ı: 'i',
}

/** System columns of every PostgreSQL table. Their names are not available, even if quoted. */
const systemColumns = new Set(['tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid'])

/**
 * Converts labels to identifiers: snake_case, lower case, unique, at most 63 bytes of UTF-8. Latin characters lose
 * their accents; characters and digits of other scripts stay. A label without any becomes `column_` and its position.
 * If several labels result in the same name, the first keeps it and the others get `_2`, `_3`, …; such a suffix never
 * takes the name of another label. The result may be a reserved word of SQL, so SQL must quote identifiers.
 */
export function toUniqueIdentifiers(labels: readonly string[]): string[] {
  const baseNames = labels.map(toBaseName)
  const usedNames = new Set(baseNames)
  /** For each base name, the number from which a free suffix is searched. Absent if the base name itself is free. */
  const nextNumbers = new Map<string, number>()
  return baseNames.map((base, index) => {
    if (base === '') return createPositionName(index, usedNames)
    const nextNumber = nextNumbers.get(base)
    const isFirstWithBase = nextNumber === undefined
    if (isFirstWithBase) {
      nextNumbers.set(base, 2)
      return base
    }
    const { name, number } = findFreeName(base, usedNames, nextNumber)
    nextNumbers.set(base, number + 1)
    usedNames.add(name)
    return name
  })
}

/**
 * Returns `column_` and the position from 1, or a numbered variant if another label has that name. Adds the name to
 * `usedNames`.
 */
function createPositionName(index: number, usedNames: Set<string>): string {
  const base = `column_${index + 1}`
  const name = usedNames.has(base) ? findFreeName(base, usedNames, 2).name : base
  usedNames.add(name)
  return name
}

/** The places before a capital that starts a word, as in `firstName` and `HTTPServer`. */
const camelCaseBoundary = /(?<=\p{Ll}|\p{N})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/gu
const otherCharacters = /[^\p{L}\p{M}\p{N}]+/gu

/**
 * Converts a label to a name in snake_case, which several labels can have. Returns an empty text if the label has no
 * letter and no digit.
 */
function toBaseName(label: string): string {
  const splitLabel = label.slice(0, maxLabelLength).replace(camelCaseBoundary, '_')
  const plainLetters = removeLatinAccents(splitLabel.toLowerCase())
  const words = plainLetters.replace(otherCharacters, '_').replace(/^_+|_+$/g, '')
  const startsWithDigit = /^\p{N}/u.test(words)
  const name = startsWithDigit ? `_${words}` : words
  return systemColumns.has(name) ? `${name}_value` : truncateToBytes(name, maxBytes)
}

/** Removes the accents of Latin letters in a lower-case text. Accents of other scripts stay. */
function removeLatinAccents(text: string): string {
  const decomposed = text.normalize('NFKD')
  const withoutAccents = decomposed
    .replace(/(?<=\p{Script=Latin})\p{Mn}+/gu, '')
    .replace(/[ßæœøđðłþħı]/g, (letter) => latinTransliterations[letter]!)
  // NFKD converts compatibility forms such as the Kelvin sign to capitals, so they are lower-cased here.
  return withoutAccents.normalize('NFC').toLowerCase()
}

/** Returns the first unused name among `base_2`, `base_3`, …, starting with the number `from`. */
function findFreeName(base: string, usedNames: ReadonlySet<string>, from: number): { name: string; number: number } {
  for (let number = from; ; number++) {
    const suffix = `_${number}`
    const name = truncateToBytes(base, maxBytes - suffix.length) + suffix
    if (!usedNames.has(name)) return { name, number }
  }
}

/** Truncates a name to at most this many bytes, without splitting a character. */
function truncateToBytes(name: string, bytes: number): string {
  if (Buffer.byteLength(name) <= bytes) return name
  let shortText = ''
  let length = 0
  for (const character of name) {
    length += Buffer.byteLength(character)
    if (length > bytes) break
    shortText += character
  }
  return shortText.replace(/_+$/, '')
}

/** Returns why a name cannot be the name of a schema or table in the warehouse, or undefined if it can. */
export function identifierProblem(name: string): string | undefined {
  if (!/^[\p{L}_][\p{L}\p{M}\p{N}_]*$/u.test(name))
    return `"${name}" is not usable in the warehouse: start with a letter, then letters, digits and _ only.`
  if (name !== name.toLowerCase()) return `"${name}" has capital letters: names in the warehouse are lower case.`
  if (Buffer.byteLength(name) > 63) return `"${name}" is longer than 63 bytes: choose a shorter name.`
  if (/^pg_|^(sluice|public|information_schema)$/.test(name))
    return `"${name}" is reserved by the warehouse: choose another name.`
  return undefined
}
