import { readFileSync } from 'node:fs'

interface WasmGlobal {
  readonly value: number
}

/** The exports of assembly/table-profiler.ts. Positions are addresses in the module's memory. */
export interface ProfilerModule {
  memory: { readonly buffer: ArrayBuffer }
  IN: WasmGlobal
  IN_BYTES: WasmGlobal
  STORED_BYTES: WasmGlobal
  MAX_COUNTED_VALUES: WasmGlobal
  PIECE_BYTES: WasmGlobal
  REGISTER_COUNT: WasmGlobal
  SLOT_BYTES: WasmGlobal
  SLOT_COUNT: WasmGlobal
  STATES: WasmGlobal
  STATE_BYTES: WasmGlobal
  VALUE_BYTES: WasmGlobal
  registers: WasmGlobal
  sample: WasmGlobal
  slots: WasmGlobal
  values: WasmGlobal
  rows: { readonly value: bigint }
  sampledRows: WasmGlobal
  sampleEnd: WasmGlobal
  start(columns: number, sampleBytes: number): void
  setColumnType(column: number, kind: number): void
  /** Returns 0 if a row is malformed, otherwise 1. */
  measureRows(length: number): number
  startRow(width: number): void
  endRow(): void
  addNull(column: number): void
  /** Returns 0 if the value is too short for its type, otherwise 1. */
  addValue(column: number, length: number): number
  startText(): void
  addPiece(length: number): void
  endText(column: number, length: number): void
}

/** Node provides `WebAssembly`, but its types do not declare it. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object
  Instance: new (module: object, imports: object) => { readonly exports: ProfilerModule }
}

const code = new URL('../../generated/measure.wasm', import.meta.url)
let compiled: object | undefined
/** An idle instance. One is enough, because a load measures one table at a time, and most workers run few loads. */
let idle: ProfilerModule | undefined
/** An instance with more memory than this is not kept for reuse. */
const keptMemoryBytes = 4 * 1024 * 1024

/** Returns an instance for measuring one table. `start` clears the previous table's data from its memory. */
export function acquireProfilerModule(): ProfilerModule {
  const idleModule = idle
  idle = undefined
  if (idleModule) return idleModule
  compiled ??= new WebAssembly.Module(readFileSync(code))
  return new WebAssembly.Instance(compiled, {}).exports
}

/** Keeps an instance for reuse, unless its memory has grown too large. */
export function releaseProfilerModule(module: ProfilerModule): void {
  if (module.memory.buffer.byteLength <= keptMemoryBytes) idle = module
}
