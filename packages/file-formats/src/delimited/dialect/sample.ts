/** A file for detection and preview: it reads bytes at a position, like `readSync`, and has a name for messages. */
export interface ReadableFile {
  readonly name: string
  readonly size: number
  read(into: Uint8Array, at: number, length: number, position: number): number
}

/** The first bytes of a file after its byte order mark and, for a larger file, the last bytes. */
export interface FileSample {
  head: Uint8Array
  /** Position of `head` in the file. */
  from: number
  /** Whether the head is the whole file. */
  complete: boolean
  tail: Uint8Array
  /** The position of `tail` in the file. It begins after a line end, unless it is the whole file. */
  tailFrom: number
}

export const sampleBytes = 256 * 1024
const tailBytes = 64 * 1024

/** Reads the first `headBytes` bytes, including the mark, and the tail. */
export function readSample(file: ReadableFile, headBytes = sampleBytes): FileSample {
  const start = readAt(file, 0, headBytes)
  const from = start[0] === 0xef && start[1] === 0xbb && start[2] === 0xbf ? 3 : 0
  const head = start.subarray(from)
  if (start.length >= file.size) return { head, from, complete: true, tail: head, tailFrom: from }
  const end = readAt(file, Math.max(from, file.size - tailBytes), tailBytes)
  const line = end.findIndex((byte) => byte === 10 || byte === 13) + 1
  return { head, from, complete: false, tail: end.subarray(line), tailFrom: file.size - end.length + line }
}

function readAt(file: ReadableFile, position: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  let filled = 0
  while (filled < length) {
    const read = file.read(bytes, filled, length - filled, position + filled)
    if (read === 0) break
    filled += read
  }
  return bytes.subarray(0, filled)
}
