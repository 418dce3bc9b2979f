import { readFileSync } from 'node:fs'
import { parsesAsJsonb } from './jsonb.ts'
import { powersOfFive } from './powers.ts'

/** What a scan or a take came to; assembly/take.ts has the same list. */
export const ODD_RECORD = 1
export const OUT_IS_FULL = 2
export const TAKEN = 3
export const IS_REFUSED = 4
export const IS_UNFIT = 5

/** What records are taken for. */
export const OBSERVE = 0
export const ENCODE = 1

interface Global {
  readonly value: number
}

/** What assembly/scanner.ts exports. Places are addresses in its memory. */
export interface MachineExports {
  memory: { readonly buffer: ArrayBuffer }
  IN: Global
  IN_BYTES: Global
  OUT: Global
  OUT_BYTES: Global
  POWERS: Global
  COLUMNS: Global
  COLUMN_BYTES: Global
  FIELDS: Global
  FIELD_BYTES: Global
  NULLS: Global
  NULLS_BYTES: Global
  PROFILES: Global
  PROFILE_BYTES: Global
  REGISTERS: Global
  REGISTER_COUNT: Global
  rows: Global
  lines: Global
  stoppedAt: Global
  outEnd: Global
  blamed: Global
  forgetColumns(columns: number): void
  setNulls(spellings: number): void
  spellsNull(from: number, to: number): number
  setDecimal(byte: number): void
  columnType(column: number): number
  openColumns(width: number): void
  setShape(delimiter: number, fields: number, trailing: number, recordBytes: number): void
  setUse(columns: number, outBytes: number, given: number): void
  scan(from: number, end: number, use: number): number
  take(bytes: number, use: number): number
  hasRoom(bytes: number): number
  emptyOut(): void
  forgetProfiles(columns: number): void
  setProfile(column: number, kind: number): void
  profile(from: number, to: number): void
}

/** What Node has and its types lack. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object
  Instance: new (module: object, imports: object) => { readonly exports: MachineExports }
}

/**
 * The compiled scanner (assembly/) and its memory. A page of it costs memory from when it is first written to, so that the areas can be as
 * large as the longest record. One machine reads one file at a time.
 */
export interface Machine {
  run: MachineExports
  /** All of its memory; addresses are indexes. */
  bytes: Buffer
  /** The part for the text to read. */
  window: Buffer
  /** The fields of the record at hand, four numbers each: start, end, marks, nothing. */
  fields: Int32Array
}

/** Blocks of 64 bytes are read at once, over the end of the text. */
const slack = 64

export function startMachine(
  code: Uint8Array = readFileSync(new URL('../generated/scan.wasm', import.meta.url)),
): Machine {
  const text = (from: number, length: number) => bytes.toString('latin1', from, from + length).replace(',', '.')
  const host = {
    exponentFits: (from: number, length: number) => (fitsDouble(text(from, length)) ? 1 : 0),
    parseDouble: (from: number, length: number) => Number(text(from, length)),
    isJson: (from: number, length: number) => (parsesAsJsonb(bytes.toString('utf8', from, from + length)) ? 1 : 0),
  }
  const abort = () => {
    throw new Error('The scanner gave up')
  }
  const { exports: run } = new WebAssembly.Instance(new WebAssembly.Module(code), { host, env: { abort } })
  const bytes = Buffer.from(run.memory.buffer)
  bytes.set(new Uint8Array(powersOfFive().buffer), run.POWERS.value)
  return {
    run,
    bytes,
    window: bytes.subarray(run.IN.value, run.IN.value + run.IN_BYTES.value - slack),
    fields: new Int32Array(run.memory.buffer, run.FIELDS.value),
  }
}

/** Warehouses refuse what overflows, and what becomes zero without being zero. */
function fitsDouble(text: string): boolean {
  const value = Number(text)
  return Number.isFinite(value) && (value !== 0 || /^[-.0]*e/i.test(text))
}
