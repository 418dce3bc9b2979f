import type { ByteWindow } from './byte-window.ts'
import type { JsonPass } from './json-pass.ts'
import { afterSpace, BROKEN, MORE, OPEN_OBJECT } from './json-scanner.ts'
import { size } from './problems.ts'

const LF = 10

/** Takes one object from each line. A line that is none costs itself and nothing else; blank lines are nothing. */
export async function walkLines(window: ByteWindow, pass: JsonPass, recordBytes: number): Promise<void> {
  let line = 1
  let looked = 0
  do {
    const held = window.bytes.subarray(0, window.end)
    for (;;) {
      const end = held.indexOf(LF, Math.max(looked, window.from))
      if (end < 0) break
      takeLine(window, pass, window.from, end, line++, recordBytes)
      window.from = end + 1
    }
    if (window.end - window.from > recordBytes) {
      await skipLine(window, pass, line++, recordBytes)
      looked = 0
    } else looked = window.end - window.from
  } while (await window.grow())
  if (window.from < window.end) takeLine(window, pass, window.from, window.end, line, recordBytes)
}

function takeLine(
  window: ByteWindow,
  pass: JsonPass,
  from: number,
  end: number,
  line: number,
  recordBytes: number,
): void {
  const { bytes } = window
  const { record } = pass
  const start = afterSpace(bytes, from, end)
  if (start === end) return
  const reject = (reason: string) => pass.reject(window, from, end, line, reason)
  if (end - from > recordBytes) return reject(`is longer than ${size(recordBytes)}`)
  if (bytes[start] !== OPEN_OBJECT) return reject('is not a JSON object')
  const after = record.read(bytes, start, end)
  if (after === MORE) return reject('ends in the middle of an object')
  if (after === BROKEN) return reject(`${record.scanner.fault} (byte ${record.scanner.faultAt - from + 1} of the line)`)
  if (afterSpace(bytes, after, end) < end)
    return reject(`something stands behind the object (byte ${after - from + 1} of the line)`)
  pass.take(window, from, end, () => line)
}

/** Passes over a line that is too long to be held. */
async function skipLine(window: ByteWindow, pass: JsonPass, line: number, recordBytes: number): Promise<void> {
  pass.reject(window, window.from, window.end, line, `is longer than ${size(recordBytes)}`)
  do {
    const end = window.bytes.subarray(0, window.end).indexOf(LF, window.from)
    window.from = end < 0 ? window.end : end + 1
    if (end >= 0) return
  } while (await window.grow())
}
