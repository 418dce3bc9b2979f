/** The grammar of src/grammar.ts once more, as regular expressions over one string of one character per byte. */
export interface SlowGrammar {
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

export interface SlowRecord {
  line: number
  raw: string
  fields: SlowField[]
  /** Why its quoting or its length makes it none. */
  reason: RegExp | undefined
  /** Where it begins, and the one behind it. */
  from: number
  next: number
}

export const isBlank = ({ fields, reason }: SlowRecord) =>
  !reason && fields.length === 1 && fields[0]!.written === '' && !fields[0]!.quoted

/** All records from a place on, comments left out. */
export function splitRecords(
  text: string,
  from: number,
  line: number,
  grammar: SlowGrammar,
  recordBytes: number,
): SlowRecord[] {
  const records: SlowRecord[] = []
  let at = from
  let lines = line
  while (at < text.length) {
    const { fields, reason, next, isComment } = oneRecord(text, at, patterns(grammar), recordBytes)
    const whole = text.slice(at, next)
    if (!isComment) records.push({ line: lines, fields, reason, raw: whole.replace(/[\r\n]+$/, ''), from: at, next })
    lines += countLines(whole)
    at = next
  }
  return records
}

export const countLines = (text: string) => text.match(/\r\n|\r|\n/g)?.length ?? 0

const literal = (character: string) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`

function patterns({ delimiter, quote = 'DOUBLE', escape, comment, trimSpaces = false }: SlowGrammar) {
  const d = literal(delimiter)
  const q = quote === 'NONE' ? '' : literal(quote === 'DOUBLE' ? '"' : "'")
  const escapable = `[${q}${d}\\r\\n\\\\]`
  const escaped = escape === 'BACKSLASH' ? `\\\\(?:\\r\\n|${escapable})` : '(?!)'
  const plain = escape === 'BACKSLASH' ? `[^${q}\\\\]|\\\\(?!${escapable})` : `[^${q}]`
  const pad = trimSpaces ? ' *' : ''
  return {
    delimiter,
    comment,
    trimSpaces,
    pad,
    opening: q === '' ? '(?!)' : `${pad}${q}`,
    quoted: `${q}(?:${escaped}|${plain}|${q}${q})*${q}(?!${q})`,
    unquoted: `(?:${escaped}|[^${d}\\r\\n])*`,
    behindQuote: `$|\\r|\\n|${d}`,
    escapes: new RegExp(`\\\\(\\r\\n|${escapable})`, 'g'),
    escapesInQuotes: new RegExp(`${escape === 'BACKSLASH' ? `\\\\(\\r\\n|${escapable})` : '(?!)()'}|${q}(${q})`, 'g'),
    hasEscapes: escape === 'BACKSLASH',
  }
}

function oneRecord(text: string, from: number, grammar: ReturnType<typeof patterns>, recordBytes: number) {
  const limit = from + recordBytes
  const cut = limit < text.length
  const view = cut ? text.slice(0, limit) : text
  const fields: SlowField[] = []
  const match = (pattern: string, at: number) => {
    const sticky = new RegExp(pattern, 'y')
    sticky.lastIndex = at
    return sticky.exec(view)?.[0]
  }
  const giveUp = (reason: RegExp, position: number) => {
    const end = /\r\n|\r|\n/g
    end.lastIndex = position
    return { fields, reason, next: end.exec(text) ? end.lastIndex : text.length, isComment: false }
  }
  if (view[from] === grammar.comment) {
    const line = match('[^\\r\\n]*', from)!
    const end = match('\\r\\n|\\r|\\n', from + line.length) ?? ''
    const next = from + line.length + end.length
    if (cut && next === limit && end !== '\n' && end !== '\r\n') return giveUp(/^longer than/, next - 1)
    return { fields, reason: undefined, next, isComment: true }
  }
  for (let at = from; ; at += 1) {
    const opening = match(grammar.opening, at)
    if (opening === undefined) {
      const written = match(grammar.unquoted, at)!
      at += written.length
      const trimmed = grammar.trimSpaces ? written.replace(/^ +| +$/g, '') : written
      const bytes = grammar.hasEscapes ? trimmed.replace(grammar.escapes, '$1') : trimmed
      fields.push({ bytes, written: trimmed, quoted: false })
    } else {
      const start = at + opening.length - 1
      const quoted = match(grammar.quoted, start)
      at = start + (quoted?.length ?? 0)
      if (quoted === undefined || (cut && at === limit)) {
        return giveUp(cut ? /is not closed within/ : /is never closed/, start)
      }
      const written = quoted.slice(1, -1)
      const bytes = written.replace(
        grammar.escapesInQuotes,
        (_, escaped?: string, doubled?: string) => escaped || doubled!,
      )
      fields.push({ bytes, written, quoted: true })
      at += match(grammar.pad, at)!.length
      if (match(grammar.behindQuote, at) === undefined) return giveUp(/text after a closing quote/, start)
    }
    if (cut && at === limit) return giveUp(/^longer than/, limit - 1)
    if (view[at] === grammar.delimiter) continue
    if (cut && view[at] === '\r' && at + 1 === limit) return giveUp(/^longer than/, at)
    return { fields, reason: undefined, next: at + match('\\r\\n|\\r|\\n|$', at)!.length, isComment: false }
  }
}
