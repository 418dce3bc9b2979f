import { describe, expect, it } from '@jest/globals'
import type { DelimitedOptions as Dialect } from '../../src/delimited/dialect/delimited-options.ts'
import { defaultDelimitedLimits } from '../../src/delimited/limits.ts'
import { bytes, comma, createFileReader } from './read-user-file.ts'
import { readInPlace } from './read-whole-file.ts'

const { outcome, read } = createFileReader()

describe('a delimited file', () => {
  it.each<[string, string | Uint8Array, Dialect?]>([
    ['EMPTY_FILE', ''],
    ['EMPTY_FILE', '\ufeff'],
    ['EMPTY_FILE', '\n\r\n\n'],
    ['EMPTY_FILE', '', { headerRow: false }],
    ['LINES_ALL_SKIPPED', 'a\n1\n', { skipLines: 10 }],
    ['EMPTY_FILE', '\n\n', { skipLines: 10 }],
    ['TOO_MANY_COLUMNS', `${'a,'.repeat(1600)}a\n1,2\n`],
    ['TOO_MANY_COLUMNS', `${'a,'.repeat(9999)}a\n`, { delimiter: 'COMMA', headerRow: false }],
    [
      'TOO_MANY_COLUMNS',
      `${'1,'.repeat(899)}1${','.repeat(800)}\n`.repeat(3),
      { delimiter: 'COMMA', headerRow: false, trailingDelimiters: 800 },
    ],
    ['HEADER_NOT_READABLE', 'a,"b\n1,2,3\n'],
    ['HEADER_NOT_READABLE', 'a,"b"c\n1,2,3\n'],
    ['HEADER_NOT_READABLE', bytes('a,', 0xe9, '\n')],
    ['HEADER_NOT_READABLE', Buffer.from('a,b\n', 'utf16le')],
    ['HEADER_NOT_READABLE', `${'x'.repeat(2000)},b\n`],
    ['NO_READABLE_ROW', '"a"b\n"c\n', { delimiter: 'COMMA', headerRow: false }],
  ])('is rejected with %s', async (code, content, ...[dialect]) => {
    expect(await outcome(content, dialect)).toEqual({ problem: code })
  })

  it('is rejected with FILE_NOT_FOUND or FILE_NOT_READABLE if it cannot be opened', async () => {
    expect(await readInPlace('/nowhere/input.csv', comma, defaultDelimitedLimits)).toEqual({
      problem: 'FILE_NOT_FOUND',
    })
    expect(await readInPlace('/', comma, defaultDelimitedLimits)).toEqual({ problem: 'FILE_NOT_READABLE' })
  })

  it('is accepted with 1,600 columns', async () => {
    const whole = await read(`${'a,'.repeat(1599)}a\n${'1,'.repeat(1599)}2\n`)
    expect(whole.columns).toHaveLength(1600)
    expect(whole.rows[0]).toHaveLength(1600)
  })
})
