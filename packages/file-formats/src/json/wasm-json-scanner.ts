import { readFileSync } from 'node:fs'

interface WasmGlobal {
  readonly value: number
}

/** The exports of assembly/json/json-scanner.ts. Positions are addresses in the scanner's memory. */
interface JsonExports {
  memory: { readonly buffer: ArrayBuffer }
  IN: WasmGlobal
  IN_BYTES: WasmGlobal
  MAX_COLUMNS: WasmGlobal
  OUT: WasmGlobal
  OUT_BYTES: WasmGlobal
  SEEN: WasmGlobal
  fault: WasmGlobal
  faultAt: WasmGlobal
  unstorableColumn: WasmGlobal
  unstorableFlags: WasmGlobal
  width: WasmGlobal
  outEnd: WasmGlobal
  processedLines: WasmGlobal
  stoppedAt: WasmGlobal
  writtenRows: WasmGlobal
  scanValue(from: number, end: number): number
  scanKey(from: number, end: number): number
  scanString(from: number, end: number): number
  countLines(from: number, to: number): number
  resetColumns(): void
  addColumn(from: number, length: number): void
  readObject(from: number, end: number): number
  /** Adds the last read object to the area of written lines. Returns WRITTEN, BATCH_IS_FULL or another code. */
  writeRow(bytes: number): number
  /**
   * Returns 0 if the rest has no line end, 1 if the area of written lines is full, or 2 if the host must read the next
   * line.
   */
  writeLines(from: number, end: number, maxLineBytes: number): number
  clearOutput(): void
}

/** Node provides `WebAssembly`, but its types do not declare it. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object
  Instance: new (module: object, imports: object) => { readonly exports: JsonExports }
}

type FindOrAddColumn = (from: number, to: number) => number

/** The compiled WebAssembly JSON scanner and its memory. It scans one text at a time. */
interface WasmJson {
  run: JsonExports
  /** The memory area for the input text. */
  window: Buffer
  /** The bytes of this area that a text has used until now. They take memory until the thread ends. */
  usedBytes: number
  /** The memory area for written lines. */
  out: Buffer
  /** Bits for the kinds of values in each column. */
  seen: Uint8Array
  /**
   * Returns the column for the key between two positions of the window. The current owner of the columns sets this
   * function.
   */
  findOrAddColumn: FindOrAddColumn
}

/** The scanner reads up to 16 bytes beyond the end of the text. */
const overreadBytes = 16

/**
 * Instantiates the WebAssembly JSON scanner with its own memory. Until the owner of the columns sets `findOrAddColumn`,
 * no key has a column.
 */
function startJson(): WasmJson {
  const code = readFileSync(new URL('../../generated/json.wasm', import.meta.url))
  const host = {
    findOrAddColumn: (from: number, length: number) => wasm.findOrAddColumn(from - inStart, from - inStart + length),
  }
  const abort = () => {
    throw new Error('The JSON scanner aborted')
  }
  const { exports: run } = new WebAssembly.Instance(new WebAssembly.Module(code), { host, env: { abort } })
  const bytes = Buffer.from(run.memory.buffer)
  const inStart = run.IN.value
  const area = (start: number, length: number) => bytes.subarray(start, start + length)
  const wasm: WasmJson = {
    run,
    window: area(inStart, run.IN_BYTES.value - overreadBytes),
    usedBytes: 0,
    out: area(run.OUT.value, run.OUT_BYTES.value),
    seen: area(run.SEEN.value, run.MAX_COLUMNS.value),
    findOrAddColumn: () => -1,
  }
  return wasm
}

/** The scanner. The next text on this thread reuses its memory and compiled code. */
export const wasmJson = startJson()
