import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from '@jest/globals'
import { drawCount } from '@sluice/testing/random-case-count'
import fc from 'fast-check'
import { SpoolWriter } from './spool-writer.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-spool-writer-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const half = 256 * 1024
/** Small ones, and those about the size from which a chunk goes past the buffer. */
const length = fc.oneof(
  fc.integer({ min: 0, max: 2000 }),
  fc.integer({ min: half - 2, max: half + 2 }),
  fc.integer({ min: 0, max: 3 * half }),
)

describe('a spool writer', () => {
  it('writes chunks of any length in their order', () => {
    let files = 0
    fc.assert(
      fc.property(fc.array(fc.record({ length, inRoom: fc.boolean() }), { maxLength: 12 }), (pieces) => {
        const path = join(folder, String(files++))
        const writer = new SpoolWriter(openSync(path, 'w'), Number.MAX_SAFE_INTEGER, 'x')
        const expected = pieces.map(({ length: bytes }, index) => Buffer.alloc(bytes, index + 1))
        for (const [index, piece] of expected.entries()) {
          if (!pieces[index]!.inRoom) writer.put(piece)
          else {
            writer.reserve(piece.length)
            writer.bytes.set(piece, writer.at)
            writer.at += piece.length
          }
        }
        writer.flush()
        const whole = Buffer.concat(expected)
        expect([readFileSync(path).equals(whole), writer.size]).toEqual([true, whole.length])
      }),
      { numRuns: drawCount({ short: 40, long: 2_000 }) },
    )
  })

  it('fails with TOO_LARGE or SUSPICIOUS_ARCHIVE above its limits', () => {
    const fill = (limit: number, dense: number) => () => {
      const writer = new SpoolWriter(openSync(join(folder, 'limited'), 'w'), limit, 'x.xlsx', dense)
      for (let at = 0; at < 8; at += 1) writer.put(Buffer.alloc(half))
    }
    expect(fill(7 * half, Infinity)).toThrow(expect.objectContaining({ code: 'TOO_LARGE' }))
    expect(fill(100 * half, 7 * half)).toThrow(expect.objectContaining({ code: 'SUSPICIOUS_ARCHIVE' }))
    fill(8 * half, 8 * half)()
  })
})
