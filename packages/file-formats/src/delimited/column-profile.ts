import type { StoredType } from '@sluice/row-stream'
import { isText, profileCode } from './column-state.ts'
import type { WasmScanner } from './wasm-scanner.ts'

/** Measures of one column over all encoded rows. `distinct` is an estimate; `min` and `max` are written as PostgreSQL prints them. */
export interface ColumnProfile {
  nulls: number
  distinct: number
  min?: string
  max?: string
  /** In characters; only for texts. */
  maxLength?: number
}

export function startProfiles({ run }: WasmScanner, stored: readonly StoredType[]): void {
  run.forgetProfiles(stored.length)
  for (const [column, { dataType }] of stored.entries()) run.setProfile(column, profileCode(dataType))
}

/** Returns the measures since `startProfiles`; `rows` is the number of encoded rows. */
export function readProfiles(wasm: WasmScanner, stored: readonly StoredType[], rows: number): ColumnProfile[] {
  const { bytes, run } = wasm
  return stored.map((type, column) => {
    const { dataType } = type
    const at = run.PROFILES.value + column * run.PROFILE_BYTES.value
    const state = bytes.subarray(at, at + run.PROFILE_BYTES.value)
    const registers = run.REGISTERS.value + column * run.REGISTER_COUNT.value
    const nulls = Number(state.readBigUInt64LE(0))
    const estimated = estimateDistinct(bytes.subarray(registers, registers + run.REGISTER_COUNT.value))
    // The estimate can be some per cent too high.
    const distinct = Math.min(estimated, rows - nulls)
    const profile: ColumnProfile = { nulls, distinct }
    const kind = profileKindOf(dataType)
    if (kind === 'text' && distinct > 0) profile.maxLength = state.readUInt32LE(8)
    if (state[13] === 0 || kind === 'none') return profile
    return { ...profile, min: extremeText(state, 0, type), max: extremeText(state, 1, type) }
  })
}

function profileKindOf(dataType: StoredType['dataType']): 'text' | 'numeric' | 'none' | 'key' {
  if (dataType === 'JSONB') return 'none'
  if (dataType === 'DECIMAL') return 'numeric'
  return isText(dataType) ? 'text' : 'key'
}

const keptBytes = 64

function extremeText(state: Buffer, which: 0 | 1, { dataType, scale }: StoredType): string {
  const kept = state.subarray(40 + which * keptBytes)
  const length = Math.min(state.readUInt32LE(32 + which * 4), keptBytes)
  const key = state.readBigInt64LE(16 + which * 8)
  switch (dataType) {
    case 'DECIMAL':
      return numericText(kept.subarray(0, length), scale)
    case 'BOOLEAN':
      return key === 0n ? 'false' : 'true'
    case 'SMALLINT':
    case 'INTEGER':
    case 'BIGINT':
      return String(key)
    case 'DATE':
      return dateText(key)
    case 'TIMESTAMP':
    case 'TIMESTAMPTZ':
      return momentText(key, dataType === 'TIMESTAMPTZ')
    case 'DOUBLE':
    case 'FLOAT':
      return doubleText(key, dataType === 'FLOAT')
    default:
      return wholeCharacters(kept.subarray(0, length))
  }
}

/** Decodes a text that may end inside a character. */
function wholeCharacters(bytes: Buffer): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true })
}

/** HyperLogLog's estimate. For few values it counts empty registers. */
function estimateDistinct(registers: Uint8Array): number {
  const count = registers.length
  let sum = 0
  let empty = 0
  for (const rank of registers) {
    sum += 2 ** -rank
    if (rank === 0) empty++
  }
  const raw = ((0.7213 / (1 + 1.079 / count)) * count * count) / sum
  return Math.round(raw <= 2.5 * count && empty > 0 ? count * Math.log(count / empty) : raw)
}

const dayMilliseconds = 86_400_000
const epoch = Date.UTC(2000, 0, 1)

/** Days since 2000-01-01 as `yyyy-mm-dd`. */
export function dateText(days: bigint): string {
  const { day, era } = dayOf(new Date(epoch + Number(days) * dayMilliseconds))
  return day + era
}

/** Microseconds since 2000-01-01 as `yyyy-mm-dd hh:mm:ss[.ffffff]`, with `+00` if it has a time zone. */
export function momentText(microseconds: bigint, zoned: boolean): string {
  const second = (microseconds - modulo(microseconds, 1_000_000n)) / 1_000_000n
  const fraction = String(modulo(microseconds, 1_000_000n)).padStart(6, '0').replace(/0+$/, '')
  const date = new Date(epoch + Number(second) * 1000)
  const { day, era } = dayOf(date)
  return `${day} ${date.toISOString().slice(-13, -5)}${fraction && `.${fraction}`}${zoned ? '+00' : ''}${era}`
}

/** With an offset, a year can have more or fewer than four digits. */
function dayOf(date: Date): { day: string; era: string } {
  const year = date.getUTCFullYear()
  const shown = String(year > 0 ? year : 1 - year).padStart(4, '0')
  return { day: shown + date.toISOString().slice(-20, -14), era: year > 0 ? '' : ' BC' }
}

const modulo = (value: bigint, by: bigint) => ((value % by) + by) % by

/** A double from the bits that order it, in PostgreSQL's shortest form. */
export function doubleText(ordered: bigint, single: boolean): string {
  const view = new DataView(new ArrayBuffer(8))
  view.setBigInt64(0, ordered < 0n ? ordered ^ 0x7fffffffffffffffn : ordered)
  const value = view.getFloat64(0)
  const digits = single ? shortestSingle(value) : value.toExponential()
  const [mantissa, power] = [digits.slice(0, digits.indexOf('e')), Number(digits.slice(digits.indexOf('e') + 1))]
  if (Object.is(value, -0)) return '-0'
  if (value === 0) return '0'
  if (power < -4 || power >= (single ? 6 : 15)) {
    return `${mantissa}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`
  }
  return plainNotation(mantissa, power)
}

function shortestSingle(value: number): string {
  for (let digits = 0; digits < 9; digits++) {
    const text = value.toExponential(digits)
    if (Math.fround(Number(text)) === value) return text
  }
  return value.toExponential(8)
}

/** `-1.25`, 3 as `-1250`. */
function plainNotation(mantissa: string, power: number): string {
  const sign = mantissa.startsWith('-') ? '-' : ''
  const digits = mantissa.replace(/[-.]/g, '')
  if (power < 0) return `${sign}0.${'0'.repeat(-power - 1)}${digits}`
  const whole = digits.slice(0, power + 1).padEnd(power + 1, '0')
  const fraction = digits.slice(power + 1)
  return `${sign}${whole}${fraction && `.${fraction}`}`
}

/** PostgreSQL's binary numeric as digits, with the scale of its column if the column has one. */
export function numericText(bytes: Buffer, columnScale?: number): string {
  const count = bytes.readUInt16BE(0)
  const weight = bytes.readInt16BE(2)
  const scale = columnScale ?? bytes.readUInt16BE(6)
  const group = (power: number) => {
    const index = weight - power
    const there = index >= 0 && index < count && 10 + index * 2 <= bytes.length
    return String(there ? bytes.readUInt16BE(8 + index * 2) : 0).padStart(4, '0')
  }
  let whole = ''
  for (let power = Math.max(weight, 0); power >= 0; power--) whole += group(power)
  let fraction = ''
  for (let power = -1; fraction.length < scale; power--) fraction += group(power)
  const text = whole.replace(/^0+(?=\d)/, '') + (scale > 0 ? `.${fraction.slice(0, scale)}` : '')
  return bytes.readUInt16BE(4) === 0x4000 ? `-${text}` : text
}
