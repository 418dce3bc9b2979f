/** The grammar of src/grammar.ts once more, as regular expressions over one string of one character per byte. */
export interface ReferenceGrammar {
  /** The character itself. */
  delimiter: string
  quote?: 'DOUBLE' | 'SINGLE' | 'NONE'
  escape?: 'DOUBLED' | 'BACKSLASH'
  comment?: string
  trimSpaces?: boolean
}

export interface SlowField {
  /** The value, and what it is made of inside its quotes. */
  bytes: string
  written: string
  quoted: boolean
}

export interface ReferenceRecord {
  line: number
  raw: string
  fields: SlowField[]
  /** Why its quoting or its length makes it none. */
  reason: RegExp | undefined
  /** Where it begins, and the one behind it. */
  from: number
  next: number
}

export const isBlank = ({ fields, reason }: ReferenceRecord) =>
  !reason && fields.length === 1 && fields[0]!.written === '' && !fields[0]!.quoted

/** All records from a place on, comments left out. */
export function splitRecords(
  text: string,
  from: number,
  line: number,
  grammar: ReferenceGrammar,
  recordBytes: number,
): ReferenceRecord[] {
  const records: ReferenceRecord[] = []
  const regular = expressionsOf(grammar)
  let at = from
  let lines = line
  while (at < text.length) {
    const { fields, reason, next, isComment } = oneRecord(text, at, regular, recordBytes)
    const whole = text.slice(at, next)
    if (!isComment) records.push({ line: lines, fields, reason, raw: whole.replace(/[\r\n]+$/, ''), from: at, next })
    lines += countLines(whole)
    at = next
  }
  return records
}

export const countLines = (text: string) => text.match(/\r\n|\r|\n/g)?.length ?? 0

const literal = (character: string) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`

/** Made once for each grammar: making them takes longer than reading a short text. */
const made = new Map<string, Expressions>()

function expressionsOf({ delimiter, quote, escape, comment, trimSpaces }: ReferenceGrammar): Expressions {
  const key = JSON.stringify([delimiter, quote, escape, comment, trimSpaces])
  const known = made.get(key) ?? expressions({ delimiter, quote, escape, comment, trimSpaces } as ReferenceGrammar)
  made.set(key, known)
  return known
}

type Expressions = ReturnType<typeof expressions>

function expressions({ delimiter, quote = 'DOUBLE', escape, comment, trimSpaces = false }: ReferenceGrammar) {
  const d = literal(delimiter)
  const q = quote === 'NONE' ? '' : literal(quote === 'DOUBLE' ? '"' : "'")
  const escapable = `[${q}${d}\\r\\n\\\\]`
  const never = '(?!)'
  const escaped = escape === 'BACKSLASH' ? `\\\\(\\r\\n|${escapable})` : `${never}()`
  const plain = escape === 'BACKSLASH' ? `[^${q}\\\\]|\\\\(?!${escapable})` : `[^${q}]`
  const pad = trimSpaces ? ' *' : ''
  const sticky = (pattern: string) => new RegExp(pattern, 'y')
  return {
    delimiter,
    comment,
    trimSpaces,
    pad: sticky(pad),
    opening: sticky(q === '' ? never : `${pad}${q}`),
    quoted: sticky(`${q}(?:${escaped}|${plain}|${q}${q})*${q}(?!${q})`),
    unquoted: sticky(`(?:${escaped}|[^${d}\\r\\n])*`),
    behindQuote: sticky(`$|\\r|\\n|${d}`),
    lineEnd: sticky('\\r\\n|\\r|\\n|$'),
    line: sticky('[^\\r\\n]*'),
    escapes: new RegExp(escaped, 'g'),
    escapesInQuotes: new RegExp(`${escaped}|${q}(${q})`, 'g'),
  }
}

function oneRecord(text: string, from: number, regular: Expressions, recordBytes: number) {
  const limit = from + recordBytes
  const cut = limit < text.length
  const view = cut ? text.slice(0, limit) : text
  const fields: SlowField[] = []
  const match = (expression: RegExp, at: number) => {
    expression.lastIndex = at
    return expression.exec(view)?.[0]
  }
  const giveUp = (reason: RegExp, position: number) => {
    const end = /\r\n|\r|\n/g
    end.lastIndex = position
    return { fields, reason, next: end.exec(text) ? end.lastIndex : text.length, isComment: false }
  }
  if (view[from] === regular.comment) {
    const behind = from + match(regular.line, from)!.length
    const end = match(regular.lineEnd, behind)!
    const next = behind + end.length
    if (cut && next === limit && !end.endsWith('\n')) return giveUp(/^longer than/, next - 1)
    return { fields, reason: undefined, next, isComment: true }
  }
  for (let at = from; ; at += 1) {
    const opening = match(regular.opening, at)
    if (opening === undefined) {
      const whole = match(regular.unquoted, at)!
      at += whole.length
      const written = regular.trimSpaces ? whole.replace(/^ +| +$/g, '') : whole
      fields.push({ bytes: written.replace(regular.escapes, '$1'), written, quoted: false })
    } else {
      const start = at + opening.length - 1
      const quoted = match(regular.quoted, start)
      at = start + (quoted?.length ?? 0)
      if (quoted === undefined || (cut && at === limit)) {
        return giveUp(cut ? /is not closed within/ : /is never closed/, start)
      }
      const written = quoted.slice(1, -1)
      fields.push({ bytes: written.replace(regular.escapesInQuotes, '$1$2'), written, quoted: true })
      at += match(regular.pad, at)!.length
      if (match(regular.behindQuote, at) === undefined) return giveUp(/text after a closing quote/, start)
    }
    if (cut && at === limit) return giveUp(/^longer than/, limit - 1)
    if (view[at] === regular.delimiter) continue
    if (cut && view[at] === '\r' && at + 1 === limit) return giveUp(/^longer than/, at)
    return { fields, reason: undefined, next: at + match(regular.lineEnd, at)!.length, isComment: false }
  }
}
