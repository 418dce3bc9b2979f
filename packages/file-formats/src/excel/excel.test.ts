import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, it } from '@jest/globals'
import { drawCount } from '@sluice/testing/random-case-count'
import fc from 'fast-check'
import { dayStyles, makeWorkbook, type WorkbookParts } from '../upload/test/make-workbook.ts'
import { uploadFolder } from '../upload/test/open-upload-from-bytes.ts'
import type { UploadOptions } from '../format/upload-options.ts'
import { meaningOfFormatCode, formatSerialNumber } from './serial-dates.ts'

const folder = uploadFolder()
afterAll(() => folder[Symbol.dispose]())

const open = (parts: WorkbookParts, sheet?: string, limits = {}) =>
  folder.open('a.xlsx', makeWorkbook(parts), { limits, ...(sheet !== undefined && { options: { sheet } }) })
const relationsOf = (types: string[]) =>
  `<Relationships>${types.map((type, index) => `<Relationship Id="r${index}" Type="x/${type}" Target="worksheets/sheet${index}.xml"/>`).join('')}</Relationships>`
const row = (cells: string, number?: number) => `<row${number === undefined ? '' : ` r="${number}"`}>${cells}</row>`

describe('an Excel sheet', () => {
  it('becomes delimited text with the stored values', async () => {
    const texts =
      '<si><t>name</t></si><si><r><t>rich </t></r><r><rPr><b/></rPr><t xml:space="preserve">"text" &amp; more</t></r><rPh><t>spoken</t></rPh></si>'
    const cells = [
      row(
        '<c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><t>n</t></is></c><c r="C1" t="str"><f>1</f><v>ok</v></c><c r="D1" t="str"><v>e</v></c>',
        1,
      ),
      row(
        '<c r="A2" t="s"><v>1</v></c><c r="B2"><f>A1*2</f><v>0.30000000000000004</v></c><c r="C2" t="b"><v>1</v></c><c r="D2" t="e"><v>#N/A</v></c>',
        2,
      ),
      row(
        '<c r="B4"><v>12345678901234567890</v></c><c r="C4" t="b"><v>0</v></c><c r="D4" t="str"><v>line_x000D_&#10;&#x20AC;_x0041_ _x005F_x</v></c>',
        4,
      ),
    ]
    const opened = await open({ sheets: { One: cells.join('') }, texts })
    expect(opened.text).toBe(
      '"name","n","ok","e"\n"rich ""text"" & more",0.30000000000000004,true,\n,12345678901234567890,false,"line\r\n€A _x"\n',
    )
    expect(opened).toMatchObject({ how: 'a.xlsx is an Excel workbook, of which the sheet One was read.', rejected: [] })
    expect(opened.dialect).toEqual({ delimiter: 'COMMA', quote: 'DOUBLE', escape: 'DOUBLED', decimal: 'POINT' })
  })

  it('is rejected if a repeated shared text makes it grow to many times its size', async () => {
    const texts = `<si><t>${'x'.repeat(5_000)}</t></si>`
    const sheets = { One: Array.from({ length: 400 }, () => row('<c t="s"><v>0</v></c>')).join('') }
    await expect(open({ sheets, texts }, undefined, { writtenFrom: 1_000_000, ratio: 20 })).rejects.toMatchObject({
      code: 'SUSPICIOUS_ARCHIVE',
      message: expect.stringContaining('many times its size'),
    })
    expect(
      (await open({ sheets, texts }, undefined, { writtenFrom: 3_000_000, ratio: 20 })).text.length,
    ).toBeGreaterThan(2_000_000)
  })

  it('is the first visible one, or the one with the configured name', async () => {
    const sheets = { Notes: row('<c><v>1</v></c>'), Data: row('<c><v>2</v></c>'), More: row('<c><v>3</v></c>') }
    const attributes = { Notes: 'state="hidden"' }
    expect(await open({ sheets, attributes })).toMatchObject({
      text: '2\n',
      how: expect.stringContaining('Data (2 of 3)'),
    })
    expect((await open({ sheets, attributes }, ' more')).text).toBe('3\n')
    expect((await open({ sheets, attributes }, 'Notes')).text).toBe('1\n')
    await expect(open({ sheets }, 'None')).rejects.toMatchObject({
      code: 'SHEET_NOT_FOUND',
      message:
        'a.xlsx has no sheet called None; it has the sheets "Notes" (number 1), "Data" (number 2), "More" (number 3).',
    })
  })

  it('is selected by its number, which counts hidden sheets but no charts', async () => {
    const sheets = { '2': row('<c><v>20</v></c>'), Plot: '', Notes: row('<c><v>30</v></c>') }
    const attributes = { Notes: 'state="veryHidden"' }
    const parts = { 'xl/_rels/workbook.xml.rels': relationsOf(['worksheet', 'chartsheet', 'worksheet']) }
    const read = (options: UploadOptions) =>
      folder.open('a.xlsx', makeWorkbook({ sheets, attributes, parts }), { options })
    expect((await read({ sheetNumber: 2 })).text).toBe('30\n')
    expect((await read({ sheetNumber: 1 })).text).toBe('20\n')
    expect((await read({ sheet: '2' })).text).toBe('20\n')
    await expect(read({ sheetNumber: 9 })).rejects.toMatchObject({
      code: 'SHEET_NOT_FOUND',
      message: expect.stringMatching(/^a\.xlsx has no sheet number 9; it has .*"Notes" \(hidden, number 2\)/),
    })
  })

  it('is the first visible one with rows by default, and other sheets with rows are reported', async () => {
    const value = row('<c><v>1</v></c>')
    const sheets = { Empty: row('<c r="A1" s="1"/>'), Data: value, Lists: value, Blank: '', Old: value }
    const attributes = { Lists: 'state="hidden"' }
    const opened = await open({ sheets, attributes })
    expect(opened.how).toContain('the sheet Data (2 of 5)')
    expect(opened.sheets?.map(({ hasRows, isHidden, isRead }) => [hasRows, isHidden, isRead])).toEqual([
      [false, false, false],
      [true, false, true],
      [true, true, false],
      [false, false, false],
      [true, false, false],
    ])
    expect(opened.unread).toBe(
      'Only the sheet "Data" (number 2) of a.xlsx was read. Sheets with rows that were not read: "Lists" (hidden, number 3), "Old" (number 5). Choose the sheet with csvOptions.sheet or csvOptions.sheetNumber, or upload a workbook that has only the sheet with the rows.',
    )
    expect((await open({ sheets, attributes }, 'Data')).unread).toBeUndefined()
    expect((await open({ sheets: { Data: value, Blank: '' } })).unread).toBeUndefined()
    await expect(open({ sheets }, 'Empty')).rejects.toMatchObject({
      code: 'SHEET_EMPTY',
      message: expect.stringContaining('Sheets with rows: "Data" (number 2)'),
    })
    await expect(open({ sheets: { Cover: '', Data: value }, attributes: { Data: 'state="hidden"' } })).rejects.toThrow(
      'The sheet Cover of a.xlsx is empty. Sheets with rows: "Data" (hidden, number 2).',
    )
  })

  it('is read even if another sheet is damaged, and that sheet is reported', async () => {
    const parts = { 'xl/worksheets/sheet1.xml': '<worksheet><sheetData><row><c t="z"><v>1</v>' }
    const opened = await open({ sheets: { Data: row('<c><v>1</v></c>'), Broken: '' }, parts })
    expect(opened.text).toBe('1\n')
    expect(opened.unread).toContain('"Broken" (number 2)')
  })

  it('is trimmed to the range of cells with values', async () => {
    const filled = Array.from({ length: 30_000 }, (_, index) =>
      row(`<c r="C${index + 5}"><v>${index}</v></c><c r="D${index + 5}" s="1"/>`, index + 5),
    )
    const late = row('<c r="B40001"><v>1</v></c><c r="E40001"><v>2</v></c>', 40_001)
    const { text } = await open({ sheets: { One: row('<c r="A1"/>', 1) + filled.join('') + row('', 40_000) + late } })
    const lines = text.split('\n')
    expect([lines.length, lines[0], lines.at(-2)]).toEqual([30_002, ',0,,', '1,,,2'])
  })

  it('has the value of merged cells only in their first cell', async () => {
    const cells = row('<c r="A1"><v>1</v></c><c r="B1"/><c r="C1"><v>2</v></c>', 1)
    const parts = {
      'xl/worksheets/sheet0.xml': `<worksheet><sheetData>${cells}</sheetData><mergeCells><mergeCell ref="A1:B1"/></mergeCells></worksheet>`,
    }
    expect((await open({ sheets: { One: '' }, parts })).text).toBe('1,,2\n')
  })

  it('may use namespace prefixes, comments and CDATA, for any chunk size', async () => {
    const sheet =
      '<?xml version="1.0"?><x:worksheet xmlns:x="y"><!-- <row> --><x:sheetData><x:row r="1"><x:c r="A1" t=\'str\'><x:v><![CDATA[a & <b>]]></x:v></x:c></x:row></x:sheetData></x:worksheet>'
    for (const chunkBytes of [64, 67, 73]) {
      const opened = await open({ sheets: { One: '' }, parts: { 'xl/worksheets/sheet0.xml': sheet } }, undefined, {
        chunkBytes,
      })
      expect(opened.text).toBe('"a & <b>"\n')
    }
  })

  it('is rejected if it has no values', async () => {
    for (const cells of ['', row('<c r="A1" s="1"/>', 1), row('<c t="str"><v></v></c>')]) {
      await expect(open({ sheets: { One: cells } })).rejects.toMatchObject({ code: 'EMPTY_FILE' })
    }
  })

  it('is unpacked from an archive for a preview only up to a limit', async () => {
    const bytes = gzipSync(makeWorkbook({ sheets: { One: row('<c><v>1</v></c>') } }))
    const limits = { previewBytes: 300 }
    await expect(folder.open('a.xlsx.gz', bytes, { limits, firstBytes: 1000 })).rejects.toMatchObject({
      code: 'PREVIEW_TOO_LARGE',
    })
    expect((await folder.open('a.xlsx.gz', bytes, { limits })).text).toBe('1\n')
  })

  it('is rejected if it has more columns than a table can have', async () => {
    const cells = row('<c r="A1"><v>1</v></c><c r="BIO1"><v>2</v></c>', 1)
    await expect(open({ sheets: { One: cells } })).rejects.toMatchObject({ code: 'TOO_MANY_COLUMNS' })
  })

  it('reads shared texts from disk if they exceed the memory limit, and rejects too many', async () => {
    const texts = Array.from({ length: 5_000 }, (_, index) => `<si><t>text ${index} ${'ä'.repeat(60)}</t></si>`)
    const rows = Array.from({ length: 5_000 }, (_, index) => row(`<c t="s"><v>${(index * 7919) % 5_000}</v></c>`))
    const { text } = await open({ sheets: { One: rows.join('') }, texts: texts.join('') }, undefined, {
      textBytes: 150_000,
    })
    const expected = rows.map((_, index) => `"text ${(index * 7919) % 5_000} ${'ä'.repeat(60)}"\n`)
    expect(text).toBe(expected.join(''))
    await expect(open({ sheets: { One: '' }, texts: texts.join('') }, undefined, { texts: 10 })).rejects.toMatchObject({
      code: 'EXCEL_TOO_MANY_TEXTS',
    })
  })
})

describe('formatted Excel numbers', () => {
  it('become dates, timestamps, times and durations, also with the 1904 date system', async () => {
    const cells =
      '<c s="1"><v>45000</v></c><c s="2"><v>45000.5</v></c><c s="3"><v>0.25</v></c><c s="4"><v>1.5</v></c><c s="5"><v>45000</v></c><c s="1"><v>45000.75</v></c>'
    const sheets = { One: row(cells) }
    expect((await open({ sheets, styles: dayStyles })).text).toBe(
      '2023-03-15,2023-03-15 12:00:00,06:00:00,36:00:00,45000,2023-03-15 18:00:00\n',
    )
    const properties = '<workbookPr date1904="1"/>'
    expect((await open({ sheets, styles: dayStyles, properties })).text).toMatch(
      /^2027-03-16,2027-03-16 12:00:00,06:00:00,/,
    )
  })

  it('follow the Excel calendar, and stay numbers outside of its range', () => {
    const days = [1, 59, 60, 61, 2_958_465, 2_958_466, -1].map((serial) => formatSerialNumber(serial, 'DATE', false))
    expect(days).toEqual(['1900-01-01', '1900-02-28', '1900-02-29', '1900-03-01', '9999-12-31', undefined, undefined])
    expect(formatSerialNumber(0, 'DATE', true)).toBe('1904-01-01')
    expect(formatSerialNumber(44_197.123456789, 'TIMESTAMP', false)).toBe('2021-01-01 02:57:46.667')
    expect(formatSerialNumber(-0.5, 'ELAPSED', false)).toBe('-12:00:00')
  })

  it('have the day and time of a Date, however many different days a sheet has', () => {
    const dayMs = 86_400_000
    const expected = (day: number, time: number) =>
      new Date(Date.UTC(1899, 11, 30) + day * dayMs + time)
        .toISOString()
        .replace('T', ' ')
        .replace(/(\.000)?Z$/, '')
    fc.assert(
      fc.property(fc.integer({ min: 61, max: 2_958_465 }), fc.nat(dayMs - 1), (day, time) => {
        expect(formatSerialNumber(day + time / dayMs, 'TIMESTAMP', false)).toBe(expected(day, time))
        expect(formatSerialNumber(day, 'DATE', false)).toBe(expected(day, 0).slice(0, 10))
      }),
      { numRuns: drawCount({ short: 500, long: 20_000 }) },
    )
    const days = Array.from({ length: 30_000 }, (_, index) => 61 + index)
    const texts = [...days, ...days].map((day) => formatSerialNumber(day, 'DATE', false))
    expect(texts).toEqual([...days, ...days].map((day) => expected(day, 0).slice(0, 10)))
  })

  it.each([
    ['yyyy-mm-dd', 'DATE'],
    ['mmm-yy', 'DATE'],
    ['mmmm', 'DATE'],
    ['d/m/yyyy h:mm AM/PM', 'TIMESTAMP'],
    ['mm:ss.0', 'TIME'],
    ['[h]:mm', 'ELAPSED'],
    ['[$-409]d\\-mmm\\-yy;@', 'DATE'],
    ['0.00E+00', 'NUMBER'],
    ['#,##0 "days"', 'NUMBER'],
    ['[Red]0;[Blue]-0', 'NUMBER'],
    ['General', 'NUMBER'],
    ['_-* #,##0.00\\ [$€-407]_-', 'NUMBER'],
  ])('with the format %s are of type %s', (code, meaning) => {
    expect(meaningOfFormatCode(code)).toBe(meaning)
  })
})

describe('an invalid workbook', () => {
  it.each([
    ['declares entities', '<!DOCTYPE x [<!ENTITY a "b">]><worksheet/>'],
    ['is truncated', '<worksheet><sheetData><row><c><v>1</v>'],
    [
      'refers to a missing shared text',
      '<worksheet><sheetData><row><c t="s"><v>9</v></c></row></sheetData></worksheet>',
    ],
    ['has unordered cells', '<worksheet><row><c r="B1"><v>1</v></c><c r="A1"><v>1</v></c></row></worksheet>'],
    ['has unordered rows', '<worksheet><row r="2"/><row r="1"/></worksheet>'],
    ['has cells outside of the sheet limits', '<worksheet><row><c r="XFE1"><v>1</v></c></row></worksheet>'],
    ['has invalid characters', '<worksheet><row><c t="str"><v>&#0;</v></c></row></worksheet>'],
    ['is truncated inside of a tag', '<worksheet><sheetData><row '],
  ])('is rejected if a sheet %s', async (_, sheet) => {
    const parts = { 'xl/worksheets/sheet0.xml': sheet }
    const opening = folder.open('a.xlsx', makeWorkbook({ sheets: { One: '' }, parts }))
    await expect(opening).rejects.toMatchObject({ code: 'EXCEL_DAMAGED' })
  })

  it.each([
    ['EncryptedPackage', 'EXCEL_PROTECTED'],
    ['Workbook', 'OLD_EXCEL'],
  ])('is rejected if it is an OLE container with the stream %s', async (stream, code) => {
    const bytes = Buffer.concat([
      Buffer.from('d0cf11e0a1b11ae1', 'hex'),
      Buffer.alloc(1016),
      Buffer.from(stream, 'utf16le'),
      Buffer.alloc(500),
    ])
    await expect(folder.open('a.xlsx', bytes)).rejects.toMatchObject({ code })
  })
})
