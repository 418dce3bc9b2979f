import { describe, expect, it } from '@jest/globals'
import { type DelimitedDialect, plainGrammar } from '../../src/delimited/dialect/dialect.ts'
import { defaultDelimitedLimits } from '../../src/delimited/limits.ts'
import { startScanner } from '../../src/delimited/wasm-scanner.ts'
import { DelimitedReader, type EncodingOutcome } from '../../src/delimited/delimited-reader.ts'
import type { RejectedRow } from '@sluice/row-stream'
import type { TextSource } from '../../src/delimited/text-file.ts'
import { textOf } from './read-text.ts'

const wasm = startScanner()

function dialectOf(text: TextSource, labels: string[]): DelimitedDialect {
  const from = labels.join(',').length + 1
  const place = { from, line: 2, end: text.size, headerLine: 1 }
  return {
    ...plainGrammar(44),
    ...place,
    labels,
    trailing: 0,
    decimal: 46,
    nulls: [],
    columns: labels.map(() => undefined),
  }
}

/** Writes everything once and keeps nothing of it. */
function pass(reading: DelimitedReader): { outcome: EncodingOutcome; rejected: RejectedRow[]; bytes: number } {
  const rejected: RejectedRow[] = []
  let bytes = 0
  const rows = reading.encode(reading.columns)
  for (;;) {
    const step = rows.next()
    if (step.done) return { outcome: step.value, rejected, bytes }
    rejected.push(...step.value.rejected)
    bytes += step.value.tuples.length
  }
}

/** A generated text without a file: `head`, then the given number of letters, then `tail`. */
function endless(head: string, letters: number, tail: string): TextSource {
  const size = head.length + letters + tail.length
  const put = (into: Uint8Array, at: number, text: string, begin: number, position: number, length: number) => {
    for (let i = Math.max(0, position - begin); i < text.length && begin + i < position + length; i++) {
      into[at + begin + i - position] = text.charCodeAt(i)
    }
  }
  return {
    ...textOf(''),
    size,
    read(into, at, length, position) {
      const read = Math.max(0, Math.min(length, size - position))
      into.fill(120, at, at + read)
      put(into, at, head, 0, position, read)
      put(into, at, tail, head.length + letters, position, read)
      return read
    },
  }
}

describe('the memory of the delimited reader', () => {
  it.each([
    ['a line of 400 MB', 'a,b\n1,2\n', ',3\n4,5\n', 'longer than 16 MB'],
    [
      'a field of 400 MB in quotes',
      'a,b\n1,2\n"',
      '",3\n4,5\n',
      'the quote opened in line 3 is not closed within 16 MB',
    ],
  ])('stays below 200 MB for %s, which is rejected', (_, head, tail, reason) => {
    const text = endless(head, 4e8, tail)
    const before = process.memoryUsage.rss()
    const reading = new DelimitedReader(text, dialectOf(text, ['a', 'b']), defaultDelimitedLimits, wasm)
    const { outcome, rejected } = pass(reading)
    expect(process.memoryUsage.rss() - before).toBeLessThan(200e6)
    expect(outcome).toMatchObject({ rows: 3 })
    expect(rejected).toEqual([{ line: 3, column: 'a', reason, raw: expect.stringMatching(/^"?x{4000,}$/) }])
  })

  it('is sufficient for a record of nearly 16 MB, which is read', () => {
    const text = endless('a,b\n1,y\n3,', 15e6, '\n4,z\n')
    const { outcome, rejected, bytes } = pass(
      new DelimitedReader(text, dialectOf(text, ['a', 'b']), defaultDelimitedLimits, wasm),
    )
    expect(rejected).toEqual([])
    expect(outcome).toMatchObject({ rows: 3 })
    expect(bytes).toBe(15e6 + 3 * (2 + 4 + 2 + 4) + 2)
  })
})

describe('types of sampled columns', () => {
  const rows = 2_000_000
  const number = (row: number) => 100_000 + ((row * 7919) % 900_000)
  const plain = Array.from({ length: rows }, (_, row) => `${number(row)},x`)
  /** Two million rows, of which one is odd, at a place that no sample sees. */
  function withOne(odd: string): TextSource {
    return textOf(`n,t\n${plain.with(1_234_567, `${odd},x`).join('\n')}\n`)
  }

  it.each([
    ['n/a', { dataType: 'TEXT' }],
    ['007', { dataType: 'TEXT' }],
    ['NaN', { dataType: 'TEXT' }],
    ['1e+999', { dataType: 'TEXT' }],
    ['0.25', { dataType: 'DECIMAL', precision: 8, scale: 2 }],
    ['9999999999', { dataType: 'BIGINT' }],
    ['1e+5', { dataType: 'DOUBLE' }],
    ['1E5', { dataType: 'TEXT' }],
  ])('are widened if %s occurs outside of the sample', (odd, type) => {
    const text = withOne(odd)
    const reading = new DelimitedReader(text, dialectOf(text, ['n', 't']), defaultDelimitedLimits, wasm)
    expect(reading.columns[0]).toEqual({ label: 'n', dataType: 'INTEGER' })
    const { outcome } = pass(reading)
    expect(outcome).toEqual({
      widened: [
        { label: 'n', ...type },
        { label: 't', dataType: 'TEXT' },
      ],
    })
    expect(pass(reading).outcome).toMatchObject({ rows })
  })

  it('are narrowed if only a sample from inside a quoted field needed the wider type', () => {
    // A field of many lines, of which each looks like a row to a slice that begins inside it.
    const lines = plain.with(1_000_000, `1,"${'text,x\n'.repeat(100_000)}"`)
    const text = textOf(`n,t\n${lines.join('\n')}\n`)
    const reading = new DelimitedReader(text, dialectOf(text, ['n', 't']), defaultDelimitedLimits, wasm)
    expect(reading.columns[0]).toEqual({ label: 'n', dataType: 'TEXT' })
    expect(pass(reading).outcome).toMatchObject({ widened: [{ dataType: 'INTEGER' }, { dataType: 'TEXT' }] })
    expect(pass(reading).outcome).toMatchObject({ rows })
  })
})
