import { SourceProblem } from '@sluice/row-stream'

export interface TextEncoding {
  /** TextDecoder's name of the encoding, such as `utf-8`, `utf-16le`, `windows-1252`. */
  encoding: string
  /** The length of the byte order mark in bytes. */
  skip: number
  /** How the encoding was determined, as the end of a sentence. Empty for the default. */
  because: string
}

/**
 * The minimum share of 16-bit units with one zero byte in UTF-16. Nearly all units of Latin text have one, and any file
 * with rows contains delimiters and digits.
 */
const minShareOfZeroBytes = 0.1

/**
 * Detects the encoding of a text from its first bytes. A byte order mark takes precedence over the declared encoding.
 * If both are absent, the encoding is UTF-16 if nearly all zero bytes are in the same half of the 16-bit units,
 * otherwise UTF-8. Throws SourceProblem ENCODING_NOT_KNOWN, or ENCODING_NOT_SUPPORTED for UTF-32.
 */
export function textEncoding(start: Uint8Array, declared: string | undefined, name: string): TextEncoding {
  const [a, b, c, d] = start
  if (a === 0xef && b === 0xbb && c === 0xbf)
    return { encoding: 'utf-8', skip: 3, because: 'as its byte order mark says' }
  const hasUtf32LeMark = a === 0xff && b === 0xfe && c === 0 && d === 0
  const hasUtf32BeMark = a === 0 && b === 0 && c === 0xfe && d === 0xff
  if (hasUtf32LeMark || hasUtf32BeMark) throw utf32Problem(name)
  if (a === 0xff && b === 0xfe) return { encoding: 'utf-16le', skip: 2, because: 'as its byte order mark says' }
  if (a === 0xfe && b === 0xff) return { encoding: 'utf-16be', skip: 2, because: 'as its byte order mark says' }
  if (declared !== undefined) return { encoding: parseEncodingLabel(declared, name), skip: 0, because: 'as declared' }
  const guessed = guessByZeroBytes(start, name)
  if (guessed) return { encoding: guessed, skip: 0, because: 'as its zero bytes show' }
  return { encoding: 'utf-8', skip: 0, because: '' }
}

/** Returns TextDecoder's name of an encoding. Throws SourceProblem ENCODING_NOT_KNOWN or ENCODING_NOT_SUPPORTED. */
function parseEncodingLabel(label: string, name: string): string {
  if (/^\s*utf-?32/i.test(label)) throw utf32Problem(name)
  try {
    return new TextDecoder(label).encoding
  } catch (cause) {
    const text = `${label} is not a known encoding. Use utf-8, utf-16le, windows-1252, iso-8859-15 or another standard name.`
    throw new SourceProblem('ENCODING_NOT_KNOWN', text, { cause })
  }
}

/**
 * Returns the UTF-16 encoding that the positions of zero bytes show, or undefined if they show none. Throws
 * SourceProblem ENCODING_NOT_SUPPORTED if they show UTF-32.
 */
function guessByZeroBytes(start: Uint8Array, name: string): string | undefined {
  const bytesInWholeQuadruples = Math.floor(start.length / 4) * 4
  const countedBytes = Math.max(bytesInWholeQuadruples, Math.min(start.length, 2))
  // The number of zero bytes at each position modulo 4.
  const zeros: ZeroCounts = [0, 0, 0, 0]
  for (let i = 0; i < countedBytes; i++) if (start[i] === 0) zeros[i % 4]!++
  const evenZeros = zeros[0] + zeros[2]
  const oddZeros = zeros[1] + zeros[3]
  const units = countedBytes / 2
  const minZeros = Math.max(1, units * minShareOfZeroBytes)
  // In Latin text, the high byte of a 16-bit unit is zero. It is the second byte in UTF-16LE, the first in UTF-16BE.
  if (oddZeros >= minZeros && oddZeros > evenZeros * 3) return 'utf-16le'
  if (evenZeros >= minZeros && evenZeros > oddZeros * 3) return 'utf-16be'
  const hasManyZeros = oddZeros >= minZeros || evenZeros >= minZeros
  if (hasManyZeros && looksLikeUtf32(zeros, countedBytes / 4)) throw utf32Problem(name)
  return undefined
}

/** The number of zero bytes at each position modulo 4. */
type ZeroCounts = [number, number, number, number]

/**
 * True if the zero bytes are those of UTF-32: nearly all bytes of the high halves of the characters, and nearly none of
 * their lowest bytes.
 */
function looksLikeUtf32(zeros: ZeroCounts, characters: number): boolean {
  // A high half has two bytes.
  const minZerosInHighHalves = characters * 1.9
  const maxZerosInLowestBytes = characters * 0.1
  const isLittleEndian = zeros[2] + zeros[3] > minZerosInHighHalves && zeros[0] < maxZerosInLowestBytes
  const isBigEndian = zeros[0] + zeros[1] > minZerosInHighHalves && zeros[3] < maxZerosInLowestBytes
  return isLittleEndian || isBigEndian
}

const utf32Problem = (name: string) =>
  new SourceProblem('ENCODING_NOT_SUPPORTED', `${name} is encoded as UTF-32; save it as UTF-8.`)
