import {
  type ColumnProfile as FeedProfile,
  dateText,
  epochDays,
  epochMicroseconds,
  floatText,
  type StoredType,
  timestampText,
} from '@sluice/row-stream'
import { isTextType, stateCodeOf } from './column-state.ts'
import type { WasmScanner } from './wasm-scanner.ts'

/** Statistics of one column over all encoded rows. `distinct` is an estimate; `min` and `max` are written as PostgreSQL prints them. */
export type ColumnProfile = Omit<FeedProfile, 'column'>

export function startProfiles({ run }: WasmScanner, stored: readonly StoredType[]): void {
  run.forgetProfiles(stored.length)
  for (const [column, { dataType }] of stored.entries()) run.setProfile(column, stateCodeOf(dataType))
}

/** Returns the statistics since `startProfiles`; `rows` is the number of encoded rows. */
export function readProfiles(wasm: WasmScanner, stored: readonly StoredType[], rows: number): ColumnProfile[] {
  const { bytes, run } = wasm
  return stored.map((type, column) => {
    const { dataType } = type
    const address = run.PROFILES.value + column * run.PROFILE_BYTES.value
    const state = bytes.subarray(address, address + run.PROFILE_BYTES.value)
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
  return isTextType(dataType) ? 'text' : 'key'
}

const keptBytes = 64

/** Returns the smallest (`index` is 0) or largest (1) value of a column as text. */
function extremeText(state: Buffer, index: 0 | 1, { dataType, scale }: StoredType): string {
  const textBytes = state.subarray(40 + index * keptBytes)
  const length = Math.min(state.readUInt32LE(32 + index * 4), keptBytes)
  const key = state.readBigInt64LE(16 + index * 8)
  switch (dataType) {
    case 'DECIMAL':
      return numericText(textBytes.subarray(0, length), scale)
    case 'BOOLEAN':
      return key === 0n ? 'false' : 'true'
    case 'SMALLINT':
    case 'INTEGER':
    case 'BIGINT':
      return String(key)
    case 'DATE':
      return dateText(Number(key) + epochDays)
    case 'TIMESTAMP':
    case 'TIMESTAMPTZ':
      return timestampText(key + epochMicroseconds, dataType === 'TIMESTAMPTZ' ? '+00' : '')
    case 'DOUBLE':
    case 'FLOAT':
      return floatText(doubleOf(key), dataType)
    default:
      return wholeCharacters(textBytes.subarray(0, length))
  }
}

/** Decodes a text that may end inside a character. */
function wholeCharacters(bytes: Buffer): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true })
}

/** Returns HyperLogLog's estimate of the number of distinct values; for few values, the estimate from the number of empty registers. */
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

function doubleOf(ordered: bigint): number {
  const view = new DataView(new ArrayBuffer(8))
  view.setBigInt64(0, ordered < 0n ? ordered ^ 0x7fffffffffffffffn : ordered)
  return view.getFloat64(0)
}

/** Converts PostgreSQL's binary numeric to digits, with the scale of its column if the column has one. */
function numericText(bytes: Buffer, columnScale?: number): string {
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
