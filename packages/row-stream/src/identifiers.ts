const maxBytes = 63

/** UTF-16 units of a label that are used for its name. Unicode normalization of an endless run of marks would take hours, and cannot be interrupted. */
const longestLabel = 1_000

/** Latin letters that Unicode does not decompose into a base letter and an accent. */
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

/** Columns that every PostgreSQL table already has; not even quoting makes the names available. */
const systemColumns = new Set(['tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid'])

/**
 * Converts labels to identifiers in the same order: snake_case, lower case, unique, at most 63 bytes of UTF-8. Latin letters lose their
 * accents; letters and digits of other scripts stay. A label without letters and digits becomes `column_` and its position. If several
 * labels result in the same name, the first keeps the name and the others get `_2`, `_3` …; such a suffix never takes the name of another
 * label. Reserved words of SQL are possible, so SQL must quote the identifiers.
 */
export function toUniqueIdentifiers(labels: readonly string[]): string[] {
  const bases = labels.map(baseName)
  const taken = new Set(bases)
  /** The next free number of each base: all lower numbers are taken. */
  const numbers = new Map<string, number>()
  return bases.map((base, index) => {
    if (base === '') return createPositionName(index, taken)
    const from = numbers.get(base)
    numbers.set(base, from ?? 2)
    if (from === undefined) return base
    const { name, number } = firstFree(base, taken, from)
    numbers.set(base, number + 1)
    taken.add(name)
    return name
  })
}

/** Returns `column_` and the position, or a numbered variant if a label has that name. */
function createPositionName(index: number, taken: Set<string>): string {
  const base = `column_${index + 1}`
  const name = taken.has(base) ? firstFree(base, taken, 2).name : base
  taken.add(name)
  return name
}

function baseName(label: string): string {
  const letters = label
    .slice(0, longestLabel)
    .replace(/(?<=\p{Ll}|\p{N})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/gu, '_')
    .toLowerCase()
    .normalize('NFKD')
    .replace(/(?<=\p{Script=Latin})\p{Mn}+/gu, '')
    .replace(/[ßæœøđðłþħı]/g, (letter) => latinTransliterations[letter]!)
    .normalize('NFC')
    // NFKD turns compatibility forms such as the Kelvin sign into capitals, which are lower-cased here.
    .toLowerCase()
  const words = letters.replace(/[^\p{L}\p{M}\p{N}]+/gu, '_').replace(/^_+|_+$/g, '')
  const name = /^\p{N}/u.test(words) ? `_${words}` : words
  return systemColumns.has(name) ? `${name}_value` : truncateToBytes(name, maxBytes)
}

function firstFree(base: string, taken: ReadonlySet<string>, from: number): { name: string; number: number } {
  for (let number = from; ; number++) {
    const suffix = `_${number}`
    const name = truncateToBytes(base, maxBytes - suffix.length) + suffix
    if (!taken.has(name)) return { name, number }
  }
}

/** Cuts a name to at most this many bytes, never inside a character. */
function truncateToBytes(name: string, bytes: number): string {
  if (Buffer.byteLength(name) <= bytes) return name
  let kept = ''
  let length = 0
  for (const character of name) {
    length += Buffer.byteLength(character)
    if (length > bytes) break
    kept += character
  }
  return kept.replace(/_+$/, '')
}

/** Describes why a name cannot be that of a schema or table in the warehouse; undefined for a valid name. */
export function identifierProblem(name: string): string | undefined {
  if (!/^[\p{L}_][\p{L}\p{M}\p{N}_]*$/u.test(name))
    return `"${name}" is not usable in the warehouse: start with a letter, then letters, digits and _ only.`
  if (name !== name.toLowerCase()) return `"${name}" has capital letters: names in the warehouse are lower case.`
  if (Buffer.byteLength(name) > 63) return `"${name}" is longer than 63 bytes.`
  if (/^pg_|^(sluice|public|information_schema)$/.test(name))
    return `"${name}" is reserved by the warehouse: choose another name.`
  return undefined
}
