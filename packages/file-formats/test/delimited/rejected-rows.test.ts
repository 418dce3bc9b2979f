import { describe, expect, it } from '@jest/globals'
import { bytes, comma, createFileReader } from './read-user-file.ts'

const { read } = createFileReader()

describe('a rejected row', () => {
  it.each<[string, string | Uint8Array, { line: number; column?: string; reason: string; raw: string }[], number]>([
    [
      'too few fields',
      'a,b\n1\n2,3\n',
      [
        {
          line: 2,
          reason: '1 value where the header has 2: something is missing, or the row was broken into two lines',
          raw: '1',
        },
      ],
      1,
    ],
    [
      'too many fields',
      'a,b\n1,2,\n3,4\n',
      [
        {
          line: 2,
          reason:
            '3 values where the header has 2: put a value that contains "," in quotes, or remove the value that is too many',
          raw: '1,2,',
        },
      ],
      1,
    ],
    [
      'a row after quoted line ends, with the line number that an editor shows',
      'a,b\r\n"x\ny\r\nz\rw",1\r\r\n\n2\r\n',
      [
        {
          line: 8,
          reason: '1 value where the header has 2: something is missing, or the row was broken into two lines',
          raw: '2',
        },
      ],
      1,
    ],
    [
      'text after a closing quote',
      'a,b\n"x"y,1\n2,3\n',
      [
        {
          line: 2,
          column: 'a',
          reason: 'text after a closing quote: a quote that is part of the text has to be doubled',
          raw: '"x"y,1',
        },
      ],
      1,
    ],
    [
      'a stray quote, which affects only its own line',
      'a,b\n1,"x\n2,y\n3,"z"\n4,w\n',
      [
        {
          line: 2,
          column: 'b',
          reason: 'text after a closing quote: a quote that is part of the text has to be doubled',
          raw: '1,"x',
        },
      ],
      3,
    ],
    [
      'a quote that is never closed',
      'a,b\n1,2\n"x\ny","z\n3,4\n5,6',
      [
        {
          line: 3,
          column: 'b',
          reason: 'the quote opened in line 4 is never closed: close it, or double it if it is part of the text',
          raw: '"x\ny","z',
        },
      ],
      3,
    ],
    [
      'bytes that are not UTF-8',
      bytes('a,b\n1,caf', 0xe9, '\n2,café\n'),
      [
        {
          line: 2,
          column: 'b',
          reason:
            'a character cannot be read (byte 0xE9 is not UTF-8): save the file as UTF-8, in Excel as "CSV UTF-8", or set its encoding',
          raw: '1,caf\ufffd',
        },
      ],
      1,
    ],
    [
      'a surrogate in UTF-8',
      bytes('a,b\n', 0xed, 0xa0, 0x80, ',1\n'),
      [
        {
          line: 2,
          column: 'a',
          reason:
            'a character cannot be read (byte 0xED is not UTF-8): save the file as UTF-8, in Excel as "CSV UTF-8", or set its encoding',
          raw: '\ufffd\ufffd\ufffd,1',
        },
      ],
      0,
    ],
    [
      'a NUL byte',
      'a,b\n1,x\0y\n2,z\n',
      [{ line: 2, column: 'b', reason: 'holds a NUL byte, which no text has: the file is damaged', raw: '1,x␀y' }],
      1,
    ],
  ])('is reported for %s', async (_, content, rejected, rows) => {
    for (const readBytes of [8, 9, 10, 11, 13, 17, 100]) {
      const whole = await read(content, comma, { readBytes })
      expect(whole.rejected).toEqual(rejected)
      expect(whole.rows).toHaveLength(rows)
    }
  })

  it('does not affect the column types', async () => {
    expect((await read('a,b\n1,2\nx\n3,4\n')).columns.map(({ dataType }) => dataType)).toEqual(['SMALLINT', 'SMALLINT'])
  })

  it('is reported with at most 4 KB of its text, cut between characters', async () => {
    const { rejected } = await read(`a,b\nx${'é'.repeat(5000)}\n`)
    expect(rejected[0]!.raw).toBe(`x${'é'.repeat(2047)}`)
  })

  it.each([
    ['an unquoted line', `1,${'x'.repeat(5000)}\n`, 'longer than 1000 bytes'],
    ['a quoted line', `1,"${'x'.repeat(5000)}\n`, 'the quote opened in line 3 is not closed within 1000 bytes'],
    ['a field of many lines', `1,"${'x\n'.repeat(999)}`, 'the quote opened in line 3 is not closed within 1000 bytes'],
  ])('is reported with its column for %s over the limit, and the next rows are read', async (_, record, reason) => {
    const limits = { readBytes: 64, recordBytes: 1000 }
    for (const end of ['', '\r\n4,5\r\n']) {
      const { rejected, rows } = await read(`a,b\n1,2\n${record}3,4${end}`, comma, limits)
      expect(rejected[0]).toMatchObject({ line: 3, column: 'b', reason })
      expect(rows.slice(0, 2)).toEqual([
        ['1', '2'],
        ['3', '4'],
      ])
    }
  })

  it('has no column if many values together make the record too long', async () => {
    const limits = { readBytes: 64, recordBytes: 1000 }
    const { rejected } = await read(`a,b\n1,2\n${'1,'.repeat(2000)}\n3,4\n`, comma, limits)
    expect(rejected).toEqual([{ line: 3, reason: 'longer than 1000 bytes', raw: expect.any(String) }])
  })
})
