import { describe, expect, it } from '@jest/globals'
import { drawCount } from '@sluice/testing/random-case-count'
import { valueText } from '../../src/delimited/dialect/file-sample.ts'
import type { DelimitedGrammar } from '../../src/delimited/dialect/dialect.ts'
import { RecordReader } from '../../src/delimited/record-reader.ts'
import { rawText } from '@sluice/row-stream'
import { rejectionReason } from '../../src/delimited/rejected-row.ts'
import { grammarAtRandom, grammarOf } from './grammar-fixtures.ts'
import { below, pick, seeded } from './random-files.ts'
import { isBlank, type ReferenceGrammar, splitRecords } from './reference-records.ts'

interface Read {
  line: number
  raw: string
  values: string[] | string
}

/** Every record of a text, read in windows of so many bytes. */
function readFast(text: string, grammar: DelimitedGrammar, readBytes: number, recordBytes: number): Read[] {
  const bytes = Buffer.from(text)
  let position = 0
  const reader = {
    position,
    read(into: Uint8Array, at: number, room: number) {
      const read = bytes.copy(into, at, position, Math.min(bytes.length, position + room))
      position += read
      return read
    },
  }
  const records = new RecordReader(reader, grammar, { readBytes, recordBytes } as never)
  const shape = { labels: [], headerRow: true, recordBytes }
  const all: Read[] = []
  while (records.advance()) {
    const { scanner } = records
    const values = Array.from({ length: scanner.count }, (_, index) =>
      valueText(records.bytes, scanner.starts[index]!, scanner.ends[index]!, scanner.fieldFlags[index]!, grammar),
    )
    all.push({
      line: records.line,
      raw: rawText(records.bytes.subarray(records.from, records.next)),
      values: records.fault === undefined ? values : rejectionReason(records, shape),
    })
  }
  return all
}

function expectSame(text: string, grammar: ReferenceGrammar, readBytes = 4096, recordBytes = 100_000): void {
  const fast = readFast(text, grammarOf(grammar), readBytes, recordBytes)
  const expected = splitRecords(text, 0, 1, grammar, recordBytes).filter((record) => !isBlank(record))
  const context = JSON.stringify({ text, grammar, readBytes, recordBytes })
  expect({ context, lines: fast.map(({ line }) => line) }).toEqual({ context, lines: expected.map(({ line }) => line) })
  for (const [index, { values, raw }] of fast.entries()) {
    const record = expected[index]!
    if (record.reason) expect({ context, why: values }).toEqual({ context, why: expect.stringMatching(record.reason) })
    else {
      expect({ context, values }).toEqual({ context, values: record.fields.map((field) => field.bytes) })
      expect({ context, raw }).toEqual({ context, raw: record.raw })
    }
  }
}

/** The reference reader, compared with values written by hand. */
describe('a field', () => {
  it.each<[string, string, string[]]>([
    ['BACKSLASH', '"a\\"b",c', ['a"b', 'c']],
    ['BACKSLASH', '"a""b",c', ['a"b', 'c']],
    ['BACKSLASH', '"a\\\\",c', ['a\\', 'c']],
    ['BACKSLASH', 'a\\,b,c', ['a,b', 'c']],
    ['BACKSLASH', 'a\\nb,\\N', ['a\\nb', '\\N']],
    ['BACKSLASH', 'a\\\r\nb,c', ['a\r\nb', 'c']],
    ['BACKSLASH', 'a,b\\', ['a', 'b\\']],
    ['DOUBLED', '"a\\",c', ['a\\', 'c']],
    ['DOUBLED', "'a','b'", ["'a'", "'b'"]],
  ])('with escape %s is read from %j', (escape, text, values) => {
    const grammar = { delimiter: ',', escape } as ReferenceGrammar
    expect(splitRecords(text, 0, 1, grammar, 1000).map(({ fields }) => fields.map(({ bytes }) => bytes))).toEqual([
      values,
    ])
    expectSame(text, grammar)
  })

  it.each<[ReferenceGrammar, string, string[][]]>([
    [
      { delimiter: ';', quote: 'SINGLE' },
      "'a;b';'it''s'\n\"x\";y",
      [
        ['a;b', "it's"],
        ['"x"', 'y'],
      ],
    ],
    [{ delimiter: ',', quote: 'NONE' }, '"a,b"\n', [['"a', 'b"']]],
    [{ delimiter: ',', trimSpaces: true }, ' a , "b, c" ,  \n', [['a', 'b, c', '']]],
    [{ delimiter: ',', comment: '#' }, '#x\na,#b\n#\n', [['a', '#b']]],
  ])('with grammar %j is read from %j', (grammar, text, values) => {
    expect(splitRecords(text, 0, 1, grammar, 1000).map(({ fields }) => fields.map(({ bytes }) => bytes))).toEqual(
      values,
    )
    expectSame(text, grammar)
  })
})

describe('a random grammar', () => {
  const pieces = [
    '"',
    '""',
    "'",
    "''",
    '\\',
    '\\\\',
    '\\"',
    '\n',
    '\r',
    '\r\n',
    ',',
    ';',
    ' ',
    '  ',
    '#',
    'a',
    'bc',
    '7',
    '\t',
  ]

  it('reads random text like the reference reader, for random buffer sizes', () => {
    const seeds = drawCount({ short: 2_000, long: 60_000 })
    for (let seed = 1; seed <= seeds; seed++) {
      const random = seeded(seed)
      const text = Array.from({ length: below(random, 40) }, () => pick(random, pieces)).join('')
      const limit = random() < 0.3 ? 3 + below(random, 20) : 100_000
      expectSame(text, grammarAtRandom(random), 8 + below(random, 40), limit)
    }
  })
})
