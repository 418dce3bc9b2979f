import { unitAt } from './json-scanner.ts'

const QUOTE = 34
const BACKSLASH = 92

/** Meanings of the letters after a backslash; other characters stand for themselves. */
const meanings: Readonly<Record<number, number>> = { 98: 8, 102: 12, 110: 10, 114: 13, 116: 9 }

/** Writes bytes with doubled quotes. Returns the position after them. */
export function putDoubled(bytes: Uint8Array, from: number, to: number, out: Uint8Array, start: number): number {
  let at = start
  for (let i = from; i < to; i++) {
    const byte = bytes[i]!
    if (byte === QUOTE) out[at++] = QUOTE
    out[at++] = byte
  }
  return at
}

/** Writes the decoded value of a well-formed JSON text as UTF-8 with doubled quotes. The output is never longer than the JSON text. */
export function putUnescaped(bytes: Uint8Array, from: number, to: number, out: Uint8Array, start: number): number {
  let at = start
  for (let i = from; i < to; i++) {
    const byte = bytes[i]!
    if (byte !== BACKSLASH) {
      out[at++] = byte
      continue
    }
    const letter = bytes[++i]!
    if (letter === 117) {
      let point = unitAt(bytes, i - 1)
      i += 4
      if ((point & 0xfc00) === 0xd800) {
        point = 0x10000 + ((point & 0x3ff) << 10) + (unitAt(bytes, i + 1) & 0x3ff)
        i += 6
      }
      at = putPoint(point, out, at)
    } else {
      if (letter === QUOTE) out[at++] = QUOTE
      out[at++] = meanings[letter] ?? letter
    }
  }
  return at
}

function putPoint(point: number, out: Uint8Array, start: number): number {
  let at = start
  if (point === QUOTE) out[at++] = QUOTE
  if (point < 0x80) out[at++] = point
  else if (point < 0x800) {
    out[at++] = 0xc0 | (point >> 6)
    out[at++] = 0x80 | (point & 63)
  } else if (point < 0x10000) {
    out[at++] = 0xe0 | (point >> 12)
    out[at++] = 0x80 | ((point >> 6) & 63)
    out[at++] = 0x80 | (point & 63)
  } else {
    out[at++] = 0xf0 | (point >> 18)
    out[at++] = 0x80 | ((point >> 12) & 63)
    out[at++] = 0x80 | ((point >> 6) & 63)
    out[at++] = 0x80 | (point & 63)
  }
  return at
}
