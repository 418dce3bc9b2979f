import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { SourceProblem } from '@sluice/row-stream'

export type TextEncodingName = 'UTF-8' | 'UTF-16LE' | 'UTF-16BE'

const unsupportedEncodings: Record<string, string> = {
  ENOENT: 'is not on the server any more; upload it again',
  EACCES: 'may not be read by the service; an operator has to mend the permissions of the upload folder',
  EPERM: 'may not be read by the service; an operator has to mend the permissions of the upload folder',
  EISDIR: 'is a folder, not a file',
}

/** A text whose bytes can be read at any position, more than once. */
export interface TextSource {
  /** The name for messages. */
  readonly name: string
  readonly size: number
  readonly encoding: TextEncodingName
  /** Bytes of the byte order mark. */
  readonly skip: number
  /** Copies at most `length` bytes from `position` to `at` in the buffer. Returns their number; 0 at the end. */
  read(into: Uint8Array, at: number, length: number, position: number): number
  /** Throws SourceProblem FILE_CHANGED if the file changed since it was opened. */
  assertUnchanged(): void
}

/** A file that stays open during all passes, so that a file that replaces it is never mixed into it. */
export class TextFile implements TextSource, Disposable {
  readonly name: string
  readonly size: number
  readonly encoding: TextEncodingName
  readonly skip: number
  readonly #descriptor: number
  /** A given descriptor is closed by the caller. */
  readonly #own: boolean
  readonly #modified: bigint

  /**
   * Opens a path, or uses an open descriptor. Throws SourceProblem FILE_NOT_FOUND, FILE_NOT_READABLE, NOT_CSV or
   * ENCODING_NOT_SUPPORTED.
   */
  constructor(path: string | number, name: string) {
    this.name = name
    this.#own = typeof path === 'string'
    let start: Uint8Array = new Uint8Array(64)
    try {
      this.#descriptor = typeof path === 'string' ? openSync(path, 'r') : path
      const stat = fstatSync(this.#descriptor, { bigint: true })
      this.size = Number(stat.size)
      this.#modified = stat.mtimeNs
      start = start.subarray(0, readSync(this.#descriptor, start, 0, start.length, 0))
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? ''
      const why = unsupportedEncodings[code] ?? `cannot be read (${code})`
      throw new SourceProblem(code === 'ENOENT' ? 'FILE_NOT_FOUND' : 'FILE_NOT_READABLE', `${name} ${why}.`, {
        cause: error,
      })
    }
    const { encoding, skip } = detectEncoding(start, name)
    this.encoding = encoding
    this.skip = skip
  }

  read(into: Uint8Array, at: number, length: number, position: number): number {
    return length === 0 ? 0 : readSync(this.#descriptor, into, at, length, position)
  }

  assertUnchanged(): void {
    const { size, mtimeNs } = fstatSync(this.#descriptor, { bigint: true })
    if (Number(size) === this.size && mtimeNs === this.#modified) return
    throw new SourceProblem('FILE_CHANGED', `${this.name} changed while it was being read; run the load again.`)
  }

  [Symbol.dispose](): void {
    if (this.#own) closeSync(this.#descriptor)
  }
}

function detectEncoding(start: Uint8Array, name: string): { encoding: TextEncodingName; skip: number } {
  const [a, b, c, d] = start
  const notCsv = (kind: string) => new SourceProblem('NOT_CSV', `${name} is ${kind}, not a CSV file; export it as CSV.`)
  if (a === 0x50 && b === 0x4b && c === 3 && d === 4) throw notCsv('an Excel workbook or a ZIP archive')
  if (a === 0xd0 && b === 0xcf && c === 0x11 && d === 0xe0) throw notCsv('an old Excel workbook')
  if (a === 0x1f && b === 0x8b) throw notCsv('compressed with gzip')
  if (a === 0x50 && b === 0x41 && c === 0x52 && d === 0x31) throw notCsv('a Parquet file')
  const text = Buffer.from(start).toString('latin1').replace(/^ï»¿/, '')
  if (text.startsWith('%PDF')) throw notCsv('a PDF document')
  if (/^\s*<(!doctype|html|\?xml)/i.test(text)) throw notCsv('a web page or another XML document')
  if (/^\s*(\[\s*)?\{\s*"/.test(text)) throw notCsv('JSON')
  if (a === 0xef && b === 0xbb && c === 0xbf) return { encoding: 'UTF-8', skip: 3 }
  if ((a === 0xff && b === 0xfe && c === 0 && d === 0) || (a === 0 && b === 0 && c === 0xfe && d === 0xff)) {
    throw new SourceProblem('ENCODING_NOT_SUPPORTED', `${name} is encoded as UTF-32; save it as UTF-8.`)
  }
  if (a === 0xff && b === 0xfe) return { encoding: 'UTF-16LE', skip: 2 }
  if (a === 0xfe && b === 0xff) return { encoding: 'UTF-16BE', skip: 2 }
  return { encoding: 'UTF-8', skip: 0 }
}
