import { describe, expect, it } from '@jest/globals'
import { comma, createFileReader } from './read-user-file.ts'
import type { Cell } from './read-whole-file.ts'

const { read } = createFileReader()

describe('the delimited reader', () => {
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
    ['a byte order mark inside of the file as itself', 'a,b\n\ufeffx,2\n', [['\ufeffx', '2']]],
    ['a file with only a header', 'a,b\n', []],
    ['a file with only a header and no line end', 'a,b', []],
  ])('reads %s', async (_, content, rows) => {
    const whole = await read(content)
    expect(whole.rows).toEqual(rows)
    expect(whole.rejected).toEqual([])
  })

  it('returns TEXT columns with the original labels if there are no rows', async () => {
    expect((await read('Größe (cm),"x ""y""",\n')).columns).toEqual([
      { label: 'Größe (cm)', dataType: 'TEXT', evidence: 'NOTHING' },
      { label: 'x "y"', dataType: 'TEXT', evidence: 'NOTHING' },
      { label: '', dataType: 'TEXT', evidence: 'NOTHING' },
    ])
  })

  it('starts with the first record of a file without a header', async () => {
    const whole = await read('\n1,x\n2,y,z\n', { delimiter: 'COMMA', headerRow: false })
    expect(whole.columns.map(({ label, dataType }) => [label, dataType])).toEqual([
      ['column_1', 'SMALLINT'],
      ['column_2', 'TEXT'],
    ])
    expect(whole.rows).toEqual([['1', 'x']])
    expect(whole.rejected).toEqual([
      {
        line: 3,
        reason:
          '3 values where the first row has 2: put a value that contains "," in quotes, or remove the value that is too many',
        raw: '2,y,z',
      },
    ])
  })

  it('reads rows that are longer than the chunk size', async () => {
    const long = 'ü\\'.repeat(5000)
    const whole = await read(`a,b\n1,x\n2,${long}\n3,\n`, comma, { readBytes: 64, chunkBytes: 32 })
    expect(whole.rows).toEqual([
      ['1', 'x'],
      ['2', long],
      ['3', null],
    ])
  })
})
