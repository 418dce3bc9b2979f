import { readFileSync } from 'node:fs'

/** Result codes of `scan` and `processRecord`, as in assembly/process-record.ts. */
export const STOPPED_AT_IRREGULAR_RECORD = 1
export const OUTPUT_IS_FULL = 2
export const RECORD_PROCESSED = 3
export const VALUE_REJECTED = 4
export const INFERRED_TYPE_TOO_NARROW = 5

/** Modes of `scan` and `processRecord`: only observe the values of records, or encode the records. */
export const OBSERVE = 0
export const ENCODE = 1

interface WasmGlobal {
  readonly value: number
}

/**
 * The exports of assembly/scanner.ts. Positions are addresses in the scanner's memory. `scan` processes the records in
 * a range of the input, and `processRecord` processes the one record that has its fields in FIELDS.
 */
interface ScannerExports {
  memory: { readonly buffer: ArrayBuffer }
  IN: WasmGlobal
  IN_BYTES: WasmGlobal
  OUT: WasmGlobal
  OUT_BYTES: WasmGlobal
  POWERS: WasmGlobal
  COLUMNS: WasmGlobal
  COLUMN_BYTES: WasmGlobal
  FIELDS: WasmGlobal
  FIELD_BYTES: WasmGlobal
  NULL_TEXTS: WasmGlobal
  NULL_TEXTS_BYTES: WasmGlobal
  SUFFIX: WasmGlobal
  SUFFIX_BYTES: WasmGlobal
  rows: WasmGlobal
  lines: WasmGlobal
  stoppedAt: WasmGlobal
  outEnd: WasmGlobal
  unfitColumn: WasmGlobal
  resetColumns(columns: number): void
  setNullTexts(texts: number): void
  isNullText(from: number, to: number): number
  setDecimal(byte: number): void
  inferType(column: number): number
  resetUnconfirmedColumns(width: number): void
  setRecordShape(delimiter: number, fields: number, trailing: number, maxRecordBytes: number): void
  configureOutput(columns: number, chunkBytes: number, hasDeclaredTypes: number): void
  setSuffix(fields: number, bytes: number, numberOffset: number): void
  scan(from: number, end: number, mode: number): number
  processRecord(bytes: number, mode: number): number
  hasOutputSpace(bytes: number): number
  clearOutput(): void
}

/** Node provides `WebAssembly`, but its types do not declare it. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object
  Instance: new (module: object, imports: object) => { readonly exports: ScannerExports }
}

/**
 * The compiled WebAssembly scanner (assembly/) and its memory. A memory page takes space only after the first write to
 * it, so the areas can be as large as the longest record. A scanner reads one file at a time.
 */
export interface WasmScanner {
  run: ScannerExports
  /** The whole memory. Addresses are indexes into it. */
  bytes: Buffer
  /** The memory area for the input text. */
  window: Buffer
  /** The fields of the current record, as four numbers each: start, end, flags, unused. */
  fields: Int32Array
}

/** The scanner reads blocks of 64 bytes, also beyond the end of the text. */
const overreadBytes = 64

/** Instantiates the WebAssembly scanner with its own memory, and provides the functions that it calls. */
export function startScanner(
  code: Uint8Array = readFileSync(new URL('../../generated/scan.wasm', import.meta.url)),
): WasmScanner {
  const readNumberText = (from: number, length: number) =>
    bytes.toString('latin1', from, from + length).replace(',', '.')
  const host = {
    exponentFits: (from: number, length: number) => (fitsDouble(readNumberText(from, length)) ? 1 : 0),
    parseDouble: (from: number, length: number) => Number(readNumberText(from, length)),
    isJson: (from: number, length: number) => (parsesAsJsonb(bytes.toString('utf8', from, from + length)) ? 1 : 0),
  }
  const abort = () => {
    throw new Error('The scanner aborted')
  }
  const { exports: run } = new WebAssembly.Instance(new WebAssembly.Module(code), { host, env: { abort } })
  const bytes = Buffer.from(run.memory.buffer)
  bytes.set(new Uint8Array(powersOfFive().buffer), run.POWERS.value)
  return {
    run,
    bytes,
    window: bytes.subarray(run.IN.value, run.IN.value + run.IN_BYTES.value - overreadBytes),
    fields: new Int32Array(run.memory.buffer, run.FIELDS.value),
  }
}

/** Returns true if a double can represent the number. Warehouses reject numbers that overflow or underflow to zero. */
function fitsDouble(text: string): boolean {
  const value = Number(text)
  const isWrittenAsZero = /^[-.0]*e/i.test(text)
  return Number.isFinite(value) && (value !== 0 || isWrittenAsZero)
}

/**
 * True if PostgreSQL accepts a text as JSONB: it is valid JSON and contains no NUL, no lone surrogates and no exponents
 * that numeric cannot store.
 */
function parsesAsJsonb(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    const hasHugeExponent = /\de\+?\d{6,}/i.test(text)
    if (hasHugeExponent) return false
    const mayHaveUnstorableCharacter = text.includes('\\u')
    return !mayHaveUnstorableCharacter || !hasUnstorableCharacter(value)
  } catch {
    return false
  }
}

/** True if a parsed JSON value contains a NUL or a lone surrogate. `JSON.stringify` escapes these two as `\u…`. */
function hasUnstorableCharacter(value: unknown): boolean {
  const textWithoutBackslashes = JSON.stringify(value).replaceAll('\\\\', '')
  return /\\ud[89a-f]|\\u0000/i.test(textWithoutBackslashes)
}

/**
 * Returns the 651 powers of five from 5^-342 to 5^308, each as its leading 128 bits, low half first. Powers with
 * negative exponents are rounded up, the others are truncated. They are the factors in the method of Eisel and Lemire
 * ("Number parsing at a gigabyte per second", 2021).
 */
function powersOfFive(): BigUint64Array<ArrayBuffer> {
  const [minExponent, maxExponent] = [-342, 308]
  const powers = new BigUint64Array((maxExponent - minExponent + 1) * 2)
  const lowHalfMask = (1n << 64n) - 1n
  for (let exponent = minExponent; exponent <= maxExponent; exponent++) {
    // Down to 5^-27, the power of five in the denominator fits into 64 bits.
    const isSmallDenominator = exponent >= -27
    const bits =
      exponent < 0 ? reciprocalBits(5n ** BigInt(-exponent), isSmallDenominator) : leadingBits(5n ** BigInt(exponent))
    const address = (exponent - minExponent) * 2
    powers[address] = bits & lowHalfMask
    powers[address + 1] = bits >> 64n
  }
  return powers
}

/** Returns the leading 128 bits of a number. */
function leadingBits(value: bigint): bigint {
  const bitLength = BigInt(value.toString(2).length)
  return bitLength > 128n ? value >> (bitLength - 128n) : value << (128n - bitLength)
}

/**
 * Returns the leading 128 bits of the reciprocal of a number. Rounds up before truncation, and computes more bits
 * unless the denominator is small, as the proof of the method requires.
 */
function reciprocalBits(denominator: bigint, isSmallDenominator: boolean): bigint {
  const bitLength = BigInt((denominator - 1n).toString(2).length)
  const numerator = 1n << (isSmallDenominator ? bitLength + 127n : 2n * bitLength + 128n)
  return leadingBits(numerator / denominator + 1n)
}
