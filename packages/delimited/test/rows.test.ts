import { afterAll, describe, expect, it } from '@jest/globals'
import { defaultLimits, type Limits } from '../src/limits.ts'
import type { DelimitedOptions as Dialect } from '../src/dialect/options.ts'
import { type Cell, inputFolder, readInPlace } from './read-whole.ts'

const folder = inputFolder()
afterAll(() => folder[Symbol.dispose]())

const comma: Dialect = { delimiter: 'COMMA', headerRow: true }

async function read(content: string | Uint8Array, dialect = comma, limits: Partial<Limits> = {}) {
  const whole = await readInPlace(folder.write(content), dialect, { ...defaultLimits, ...limits })
  if ('problem' in whole) throw new Error(whole.problem)
  return whole
}

async function problem(content: string | Uint8Array, dialect = comma, limits: Partial<Limits> = {}) {
  return readInPlace(folder.write(content), dialect, { ...defaultLimits, ...limits })
}

const bytes = (...parts: (string | number)[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from([part]))))

describe('rows', () => {
  it.each<[string, string | Uint8Array, Cell[][]]>([
    [
      'line ends of every kind',
      'a,b\r\n1,x\n2,y\r3,z\r\n4,w',
      [
        ['1', 'x'],
        ['2', 'y'],
        ['3', 'z'],
        ['4', 'w'],
      ],
    ],
    ['quotes, delimiters and line ends inside quotes', 'a,b\n"1,5","x ""y""\r\n\tz\\"\n', [['1,5', 'x "y"\r\n\tz\\']]],
    ['a quote inside an unquoted field as itself', 'a,b\n5" pipe,x"y"\n', [['5" pipe', 'x"y"']]],
    [
      'empty fields as null, quoted ones as empty text',
      'a,b\n,""\nx,y\n',
      [
        [null, ''],
        ['x', 'y'],
      ],
    ],
    [
      'quoted empty fields as null where the type is not text',
      'a,b\n"",x\n1,y\n',
      [
        [null, 'x'],
        ['1', 'y'],
      ],
    ],
    [
      'blank lines between rows as nothing',
      '\n\na,b\n\n1,2\n\r\n3,4\n\n\n',
      [
        ['1', '2'],
        ['3', '4'],
      ],
    ],
    ['blank lines in a file of one column as null', 'a\nx\n\ny\n""\n', [['x'], [null], ['y'], ['']]],
    ['rows of delimiters only as rows of nulls', 'a,b,c\n,,\n', [[null, null, null]]],
    ['surrounding spaces as part of the text', 'a,b\n x , y\n', [[' x ', ' y']]],
    [
      'backslashes and COPY markers as themselves',
      'a,b\n\\N,\\.\n\\t,"\\"\n',
      [
        ['\\N', '\\.'],
        ['\\t', '\\'],
      ],
    ],
    ['formulas as themselves', "a,b\n=cmd|' /C calc'!A0,@x\n", [["=cmd|' /C calc'!A0", '@x']]],
    ['a byte order mark as nothing', '\ufeffa,b\n1,2\n', [['1', '2']]],
    ['a byte order mark inside as itself', 'a,b\n\ufeffx,2\n', [['\ufeffx', '2']]],
    ['nothing but a header', 'a,b\n', []],
    ['nothing but a header without a line end', 'a,b', []],
  ])('read %s', async (_, content, rows) => {
    const whole = await read(content)
    expect(whole.rows).toEqual(rows)
    expect(whole.rejected).toEqual([])
  })

  it('have TEXT columns, and the original as label, when there are none', async () => {
    expect((await read('Größe (cm),"x ""y""",\n')).columns).toEqual([
      { label: 'Größe (cm)', dataType: 'TEXT' },
      { label: 'x "y"', dataType: 'TEXT' },
      { label: '', dataType: 'TEXT' },
    ])
  })

  it('start with the first record where there is no header', async () => {
    const whole = await read('\n1,x\n2,y,z\n', { delimiter: 'COMMA', headerRow: false })
    expect(whole.columns.map(({ label, dataType }) => [label, dataType])).toEqual([
      ['column_1', 'SMALLINT'],
      ['column_2', 'TEXT'],
    ])
    expect(whole.rows).toEqual([['1', 'x']])
    expect(whole.rejected).toEqual([
      {
        line: 3,
        reason: '3 values where the first row has 2: a value that holds "," has to stand in quotes',
        raw: '2,y,z',
      },
    ])
  })

  it('come as chunks that end with a row, a longer row in a chunk of its own', async () => {
    const long = 'ü\\'.repeat(5000)
    const whole = await read(`a,b\n1,x\n2,${long}\n3,\n`, comma, { readBytes: 64, chunkBytes: 32 })
    expect(whole.rows).toEqual([
      ['1', 'x'],
      ['2', long],
      ['3', null],
    ])
  })
})

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
          reason: '3 values where the header has 2: a value that holds "," has to stand in quotes',
          raw: '1,2,',
        },
      ],
      1,
    ],
    [
      'a line number that an editor shows',
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
      'a stray quote, which costs its own line only',
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
            'a character cannot be read (byte 0xE9 is not UTF-8): save the file as UTF-8, in Excel as "CSV UTF-8", or say its encoding',
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
            'a character cannot be read (byte 0xED is not UTF-8): save the file as UTF-8, in Excel as "CSV UTF-8", or say its encoding',
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
  ])('is one for %s', async (_, content, rejected, rows) => {
    for (const readBytes of [8, 9, 10, 11, 13, 17, 100]) {
      const whole = await read(content, comma, { readBytes })
      expect(whole.rejected).toEqual(rejected)
      expect(whole.rows).toHaveLength(rows)
    }
  })

  it('says nothing about types', async () => {
    expect((await read('a,b\n1,2\nx\n3,4\n')).columns.map(({ dataType }) => dataType)).toEqual(['SMALLINT', 'SMALLINT'])
  })

  it('shows at most 4 KB of itself, cut between characters', async () => {
    const { rejected } = await read(`a,b\nx${'é'.repeat(5000)}\n`)
    expect(rejected[0]!.raw).toBe(`x${'é'.repeat(2047)}`)
  })

  it.each([
    ['an unquoted line', `1,${'x'.repeat(5000)}\n`, 'longer than 1000 bytes'],
    ['a quoted line', `1,"${'x'.repeat(5000)}\n`, 'the quote opened in line 3 is not closed within 1000 bytes'],
    ['a field of many lines', `1,"${'x\n'.repeat(999)}`, 'the quote opened in line 3 is not closed within 1000 bytes'],
  ])('is one for %s over the limit, and reading goes on behind it', async (_, record, reason) => {
    const limits = { readBytes: 64, recordBytes: 1000 }
    for (const end of ['', '\r\n4,5\r\n']) {
      const { rejected, rows } = await read(`a,b\n1,2\n${record}3,4${end}`, comma, limits)
      expect(rejected[0]).toMatchObject({ line: 3, reason })
      expect(rows.slice(0, 2)).toEqual([
        ['1', '2'],
        ['3', '4'],
      ])
    }
  })
})

describe('a file is refused', () => {
  it.each<[string, string | Uint8Array, Dialect?]>([
    ['EMPTY_FILE', ''],
    ['EMPTY_FILE', '\ufeff'],
    ['EMPTY_FILE', '\n\r\n\n'],
    ['EMPTY_FILE', '', { headerRow: false }],
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
    ['NOT_CSV', bytes('PK', 3, 4, 'xl/workbook.xml')],
    ['NOT_CSV', bytes(0x1f, 0x8b, 8, 0)],
    ['NOT_CSV', bytes('PAR1')],
    ['NOT_CSV', bytes('%PDF-1.7')],
    ['NOT_CSV', bytes('\n<!DOCTYPE html><html>')],
    ['NOT_CSV', bytes('[\n  {"a": 1}]')],
    ['NOT_CSV', bytes(0xef, 0xbb, 0xbf, '{"a":1}')],
    ['ENCODING_NOT_SUPPORTED', bytes(0xff, 0xfe, 0, 0, 'a', 0, 0, 0)],
  ])('with %s', async (code, content, ...[dialect]) => {
    expect(await problem(content, dialect)).toEqual({ problem: code })
  })

  it('with FILE_NOT_FOUND or FILE_NOT_READABLE when it cannot be opened', async () => {
    expect(await readInPlace('/nowhere/input.csv', comma, defaultLimits)).toEqual({ problem: 'FILE_NOT_FOUND' })
    expect(await readInPlace('/', comma, defaultLimits)).toEqual({ problem: 'FILE_NOT_READABLE' })
  })

  it('not with 1,600 columns', async () => {
    const whole = await read(`${'a,'.repeat(1599)}a\n${'1,'.repeat(1599)}2\n`)
    expect(whole.columns).toHaveLength(1600)
    expect(whole.rows[0]).toHaveLength(1600)
  })
})

describe('UTF-16', () => {
  const text = '\ufeffname;größe\n"日本 😀";1,5\n\n"a\r\nb";2,5\nü;\n'
  const swapped = Buffer.from(text, 'utf16le').swap16()

  it.each([
    ['little-endian', Buffer.from(text, 'utf16le')],
    ['big-endian', swapped],
  ])('%s is read over every boundary', async (_, content) => {
    for (let readBytes = 7; readBytes < 40; readBytes++) {
      const whole = await read(content, { headerRow: true }, { readBytes })
      expect(whole.columns.map(({ label }) => label)).toEqual(['name', 'größe'])
      expect(whole.rows).toEqual([
        ['日本 😀', '1,5'],
        ['a\r\nb', '2,5'],
        ['ü', null],
      ])
    }
  })

  it('that is broken is rejected by the row', async () => {
    const content = Buffer.concat([
      Buffer.from('\ufeffa,b\n1,\ud83d\n2,\ude00x\n3,😀\n4,', 'utf16le'),
      Buffer.from([65]),
    ])
    for (let readBytes = 7; readBytes < 40; readBytes++) {
      const { rows, rejected } = await read(content, comma, { readBytes })
      expect(rows).toEqual([['3', '😀']])
      expect(rejected.map(({ line, column }) => [line, column])).toEqual([
        [2, 'b'],
        [3, 'b'],
        [5, 'b'],
      ])
    }
  })
})
