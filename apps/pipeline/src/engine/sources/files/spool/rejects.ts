import { readSync } from 'node:fs'
import type { RejectedRow } from '../../source.ts'
import type { SpoolWriter } from './spool-writer.ts'

const rawBytes = 4096
const readBytes = 64 * 1024
const LF = 10

/** Rows that were set aside while a spool was written, in a file beside it: there may be millions. */
export class Rejects {
  count = 0
  readonly #writer: SpoolWriter

  constructor(writer: SpoolWriter) {
    this.#writer = writer
  }

  /** `raw` is cut to 4 KB, and its NULs are shown, since a report has to be storable as text. */
  add(line: number, reason: string, raw: Uint8Array, column?: string): void {
    const row: RejectedRow = { line, reason, raw: shown(raw), ...(column !== undefined && { column }) }
    this.count++
    this.#writer.put(Buffer.from(`${JSON.stringify(row)}\n`))
  }

  startOver(): void {
    this.count = 0
    this.#writer.startOver()
  }

  flush(): void {
    this.#writer.flush()
  }
}

function shown(raw: Uint8Array): string {
  let end = raw.length
  while (end > 0 && (raw[end - 1] === LF || raw[end - 1] === 13)) end--
  if (end > rawBytes) {
    end = rawBytes
    while (end > 0 && (raw[end]! & 0xc0) === 0x80) end--
  }
  return Buffer.from(raw.buffer, raw.byteOffset, end).toString('utf8').replaceAll('\0', '␀')
}

/** The rows of such a file, read from its start. */
export function* readRejects(descriptor: number): Generator<RejectedRow, void, void> {
  const chunk = Buffer.allocUnsafe(readBytes)
  let held = Buffer.alloc(0)
  for (let position = 0; ; ) {
    const read = readSync(descriptor, chunk, 0, chunk.length, position)
    if (read === 0) return
    position += read
    const bytes = Buffer.concat([held, chunk.subarray(0, read)])
    let from = 0
    for (let end = bytes.indexOf(LF); end >= 0; end = bytes.indexOf(LF, from)) {
      yield JSON.parse(bytes.toString('utf8', from, end)) as RejectedRow
      from = end + 1
    }
    held = Buffer.from(bytes.subarray(from))
  }
}
