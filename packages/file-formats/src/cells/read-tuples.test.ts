import { describe, expect, it } from '@jest/globals'
import type { DataType } from '@sluice/contracts'
import type { RowStream } from '@sluice/row-stream'
import { previewRowStream } from '../preview/preview-row-stream.ts'
import { readTuples } from './read-tuples.ts'

/** As numeric_send writes it. */
function numeric(weight: number, scale: number, digits: number[], sign = 0): Buffer {
  const bytes = Buffer.alloc(8 + digits.length * 2)
  for (const [index, part] of [digits.length, weight, sign, scale, ...digits].entries())
    bytes.writeUInt16BE(part & 0xffff, index * 2)
  return bytes
}

function tuple(cells: readonly Buffer[]): Buffer {
  const parts = cells.flatMap((cell) => {
    const length = Buffer.alloc(4)
    length.writeInt32BE(cell.length)
    return [length, cell]
  })
  return Buffer.concat([Buffer.from([cells.length >> 8, cells.length & 255]), ...parts])
}

const cell = (dataType: DataType, value: Buffer, room = 10_000) =>
  readTuples(tuple([value]), [{ dataType }], 1, room).rows[0]?.[0]

describe('a number in a preview', () => {
  it.each<[string, Buffer]>([
    ['1234567.89', numeric(1, 2, [123, 4567, 8900])],
    ['-0.00001234', numeric(-2, 8, [1234], 0x4000)],
    ['1e+131071', numeric(32_767, 0, [1000])],
    ['-1.25e+2001', numeric(500, 0, [12, 5000], 0x4000)],
    ['1.5e-16000', numeric(-4000, 16_001, [1, 5000])],
    ['0', numeric(0, 16_383, [])],
  ])('is shown as %s', (text, value) => expect(cell('DECIMAL', value)).toBe(text))

  it('is truncated to 1,000 digits', () => {
    const digits = Array.from({ length: 30_000 }, () => 1234)
    const shown = cell('DECIMAL', numeric(29_999, 0, digits)) as string
    expect(shown).toMatch(/^1\.234(1234){249}…e\+119999$/)
  })
})

describe('a value that is too long for a preview', () => {
  it('is truncated between characters', () => {
    expect(cell('TEXT', Buffer.from('ä'.repeat(5000)), 1006)).toBe(`${'ä'.repeat(500)}…`)
    expect(cell('TEXT', Buffer.from(`x${'ä'.repeat(5000)}`), 1005)).toBe(`x${'ä'.repeat(499)}…`)
  })

  it('is shown as truncated text if it is JSONB', () => {
    const document = Buffer.concat([Buffer.from([1]), Buffer.from(JSON.stringify(Array(5000).fill(1)))])
    expect(cell('JSONB', document, 1005)).toMatch(/^\[1,.*…$/)
    expect(cell('JSONB', document, 20_000)).toHaveLength(5000)
  })
})

describe('a preview', () => {
  it('stops at about four million characters, even if its tuples have few bytes', async () => {
    const types = Array.from({ length: 1600 }, (_, index) => ({
      name: `c${index}`,
      label: `c${index}`,
      dataType: 'DECIMAL' as const,
    }))
    const digits = Array.from({ length: 4 }, () => 9999)
    const row = tuple(types.map(() => numeric(249, 0, digits)))
    const bytes = Buffer.concat(Array.from({ length: 100 }, () => row))
    async function* rowStreams(): AsyncGenerator<RowStream, void, void> {
      const rows = async function* () {
        for (;;) yield { bytes }
      }
      yield { table: '', columns: types, content: { format: 'copy-binary', rows } }
    }
    const { rows, complete } = await previewRowStream(rowStreams, 100, new AbortController().signal)
    expect(complete).toBe(false)
    const { length } = JSON.stringify(rows)
    expect(length).toBeGreaterThan(3_500_000)
    expect(length).toBeLessThan(6_000_000)
  })
})
