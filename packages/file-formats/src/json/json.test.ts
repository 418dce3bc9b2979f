import { afterAll, describe, expect, it } from '@jest/globals'
import { drawCount } from '@sluice/testing/random-case-count'
import fc from 'fast-check'
import { makeZip } from '../upload/test/make-zip.ts'
import { uploadFolder } from '../upload/test/open-upload-from-bytes.ts'

const folder = uploadFolder()
afterAll(() => folder[Symbol.dispose]())

/** Small enough that every object crosses a boundary somewhere. */
const tiny = { chunkBytes: 7, recordBytes: 2000 }
const open = (bytes: string | Uint8Array, rowsUnder?: string) =>
  folder.open('a.json', bytes, { limits: tiny, ...(rowsUnder !== undefined && { options: { rowsUnder } }) })

describe('the rows of a JSON file', () => {
  it.each([
    ['an array', '[{"a":1},\n {"a":2}]', 'a JSON array of objects'],
    [
      'an array under a key',
      '{"n":{"x":[{}]},"data":[{"a":1},{"a":2}],"next":null}',
      'JSON with an array of objects under data',
    ],
    ['lines', '{"a":1}\n\n{"a":2}\r\n', 'JSON with an object in each line'],
    ['concatenated objects', '{"a":1}{\n"a":2}', 'a sequence of JSON objects'],
  ])('are found in %s', async (_, text, kind) => {
    const opened = await open(text)
    expect(opened).toMatchObject({ text: '"a"\n1\n2\n', how: `a.json is ${kind}.`, rejected: [] })
    expect(opened.dialect).toMatchObject({ delimiter: 'COMMA', headerRow: true, nullValues: [], skipLines: 0 })
  })

  it('are a single row if the file is one object without an array of objects', async () => {
    expect((await open('{\n "a": 1, "tags": ["x"]\n}')).text).toBe('"a","tags"\n1,"[""x""]"\n')
  })

  it('are whole lines if the file name ends with .jsonl or .ndjson', async () => {
    const text = '{"id":1,"items":[{"a":1}]}'
    expect((await folder.open('a.json', text)).text).toBe('"a"\n1\n')
    expect((await folder.open('a.jsonl', text)).text).toBe('"id","items"\n1,"[{""a"":1}]"\n')
    const zip = makeZip([{ name: 'b.ndjson', content: text }])
    expect((await folder.open('a.zip', zip)).text).toBe('"id","items"\n1,"[{""a"":1}]"\n')
  })

  it('are read under the configured key if several keys have arrays of objects', async () => {
    const text = '{"users":[{"a":1}],"groups":[{"b":2}]}'
    await expect(open(text)).rejects.toMatchObject({
      code: 'JSON_AMBIGUOUS',
      message: expect.stringContaining('users and groups'),
    })
    expect((await open(text, 'groups')).text).toBe('"b"\n2\n')
    await expect(open(text, 'more')).rejects.toMatchObject({ code: 'ROWS_NOT_FOUND' })
  })

  it('are searched for in the whole document, beyond the buffered part', async () => {
    const rows = Array.from({ length: 300 }, (_, index) => `{"a":${index}}`).join()
    expect((await open(`{"data":[${rows}],"more":[1]}`)).text.split('\n')).toHaveLength(302)
    await expect(open(`{"data":[${rows}],"more":[{"b":1}]}`)).rejects.toMatchObject({ code: 'JSON_AMBIGUOUS' })
  })

  it.each([
    ['[]', 'EMPTY_SOURCE'],
    ['{"data":[]}', 'ROWS_KEY_NOT_SET'],
    ['[{}]', 'EMPTY_FILE'],
    ['{}\n{}', 'EMPTY_FILE'],
  ])('are missing in %s', async (text, code) => {
    await expect(open(text)).rejects.toMatchObject({ code })
  })

  it.each(['[[1,2],[3,4]]', '[["a"],["b"]]'])('are not found in %s, which has no objects', async (text) => {
    await expect(open(text)).rejects.toMatchObject({ code: 'JSON_NOT_ROWS' })
  })

  it('may be encoded in UTF-16', async () => {
    expect((await open(Buffer.from('\ufeff[{"ä":"€"}]', 'utf16le'))).text).toBe('"ä"\n"€"\n')
  })
})

describe('the columns of a JSON file', () => {
  it('are all keys in the order of their first occurrence', async () => {
    const early = Array.from({ length: 30_000 }, (_, index) => `{"id":${index},"name":"some text to fill it"}`)
    const { text } = await folder.open('a.ndjson', `${early.join('\n')}\n{"late":true,"name":null}\n`)
    expect(text.slice(0, 54)).toBe('"id","name","late"\n0,"some text to fill it",\n1,"some t')
    expect(text.endsWith('29999,"some text to fill it",\n,,true\n')).toBe(true)
  })

  it('are declared as TEXT or JSONB by their JSON values, except for dates and numbers', async () => {
    const { dialect } = await open(
      '[{"code":"12","day":"2024-01-05","n":1,"o":{"k":1},"mixed":[1],"e":""},{"day":null,"n":"","o":[],"mixed":"x"}]',
    )
    expect(dialect?.columns).toEqual([
      { index: 0, dataType: 'TEXT', declared: true },
      { index: 2, dataType: 'TEXT', declared: true },
      { index: 3, dataType: 'JSONB', declared: true, hasValidJson: true },
      { index: 4, dataType: 'TEXT', declared: true },
      { index: 5, dataType: 'TEXT', declared: true },
    ])
  })

  it('have the configured names and types instead of the types of the JSON values', async () => {
    const columns = [
      { label: 'a', name: 'first' },
      { index: 1, dataType: 'VARCHAR_50' as const },
      { label: 'c', dateFormat: 'DD.MM.YYYY' as const },
    ]
    const opened = await folder.open('a.json', '[{"a":"1","b":"2","c":"03.04.2025","d":"4"}]', { options: { columns } })
    expect(opened.dialect?.columns).toEqual([
      { label: 'a', name: 'first', dataType: 'TEXT', declared: true },
      ...columns.slice(1),
      { index: 3, dataType: 'TEXT', declared: true },
    ])
  })

  it('are rejected if there are more than a table can have', async () => {
    const keys = Array.from({ length: 1601 }, (_, index) => `"k${index}":1`).join()
    await expect(folder.open('a.json', `[{${keys}}]`)).rejects.toMatchObject({ code: 'TOO_MANY_COLUMNS' })
  })

  it('are matched by unescaped key, and have the last value of a duplicate key', async () => {
    expect((await open('{"a":1,"é":2}\n{"\\u0061":3,"\\u00e9":4,"a":5}')).text).toBe('"a","é"\n1,2\n5,4\n')
  })
})

describe('the values of a JSON file', () => {
  it('keep every digit, and distinguish null from empty text', async () => {
    const text = '[{"a":123456789012345678901234567890.1000,"b":-0,"c":1E400,"d":null},{"a":"","b":true,"d":"x"}]'
    expect((await open(text)).text).toBe(
      '"a","b","c","d"\n123456789012345678901234567890.1000,-0,1E400,\n"",true,,"x"\n',
    )
  })

  it('equal the result of JSON.parse', async () => {
    const value = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string(), fc.integer(), fc.boolean(), fc.constant(null))
    const nested = fc.array(fc.dictionary(fc.string(), value, { maxKeys: 3 }), { maxLength: 3 })
    const row = fc.record({ id: fc.integer(), value, nested }).filter((one) => !JSON.stringify(one).includes('\\u0000'))
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 2, maxLength: 8 }), fc.boolean(), async (rows, lines) => {
        const text = lines ? rows.map((one) => JSON.stringify(one)).join('\n') : JSON.stringify(rows, undefined, 1)
        const opened = await open(text)
        expect(cells(opened.text).slice(1)).toEqual(
          rows.map((one) => [String(one.id), asCell(one.value), JSON.stringify(one.nested)].map(normalised)),
        )
      }),
      { numRuns: drawCount({ short: 12, long: 500 }) },
    )
  })
})

const asCell = (value: string | number | boolean | null) => (value === null ? undefined : String(value))
/** Nested JSON is compared without its spaces. */
const normalised = (text: string | undefined) => (text?.startsWith('[') ? tight(text) : text)

function tight(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text))
  } catch {
    return text
  }
}

/** Delimited text as the spool writes it, read the slow way; an unquoted empty field is undefined. */
function cells(text: string): (string | undefined)[][] {
  const fields = text.matchAll(/("(?:[^"]|"")*"|[^,\n]*)([,\n])/g)
  const rows: (string | undefined)[][] = [[]]
  for (const [, field = '', end] of fields) {
    const value = field.startsWith('"') ? field.slice(1, -1).replaceAll('""', '"') : field === '' ? undefined : field
    rows.at(-1)!.push(normalised(value))
    if (end === '\n') rows.push([])
  }
  return rows.slice(0, -1)
}

describe('an invalid JSON record', () => {
  it('is rejected without other lines if the file has one object in each line', async () => {
    const lines = [
      '{"a":1}',
      '{"a":2',
      '{"a":3} x',
      '[4]',
      '{"a":5}',
      '{"a":"\\u0000"}',
      '{"b":"\\ud83d"}',
      '{"c":[1e99999]}',
      `{"a":"${'x'.repeat(3000)}"}`,
      '{"a":06}',
      '{"a":7}',
    ]
    const { text, rejected } = await open(lines.join('\n'))
    expect(text).toBe('"a","b","c"\n1,,\n5,,\n7,,\n')
    expect(rejected.map(({ line, reason, column }) => `${line} ${column ?? ''} ${reason}`)).toEqual([
      '2  ends in the middle of an object',
      '3  the line has more text after the object (byte 8 of the line)',
      '4  is not a JSON object',
      '6 a holds the character U+0000, which no text column can store',
      '7 b holds half a surrogate pair, which is not a character',
      '8 c holds a number that is too long or too large for JSONB',
      '9  is longer than 2000 bytes',
      '10  a number does not have the form of a JSON number (byte 6 of the line)',
    ])
    expect(rejected[0]?.raw).toBe('{"a":2')
  })

  it('may be the first line', async () => {
    const { text, rejected } = await open('{"a":01}\n{"a":2}\n{"a":3}\n')
    expect([text, rejected.map(({ line }) => line)]).toEqual(['"a"\n2\n3\n', [1]])
  })

  it('is rejected if it is not valid UTF-8', async () => {
    const bytes = Buffer.concat([Buffer.from('{"a":"x"}\n{"a":"'), Buffer.of(0xe4), Buffer.from('"}\n{"a":"ä"}\n')])
    const { text, rejected } = await open(bytes)
    expect(text).toBe('"a"\n"x"\n"ä"\n')
    expect(rejected).toMatchObject([{ line: 2, reason: 'is not valid UTF-8; save the file as UTF-8' }])
  })

  it('is rejected with its line number if it is an array element', async () => {
    const { text, rejected } = await open('[{"a":1},\n\n7,\n{"a":"\\u0000"}]')
    expect(text).toBe('"a"\n1\n')
    expect(rejected).toMatchObject([
      { line: 3, raw: '7' },
      { line: 4, column: 'a' },
    ])
  })

  it.each([
    ['[{"a":1},\n{"a":01}]', 'line 2, byte 16'],
    ['[{"a":1},\n{"a":1}', 'ends in the middle of a value'],
    ['[{"a":1}] {', 'the document has more text after its end'],
    ['[{"a":1},]', 'a value is expected'],
    ['[{"a":1 "b":2}]', 'a comma or } is expected'],
    ['[{"a":"\t"}]', 'control character'],
    ['[{"a":"\\x"}]', 'does not escape'],
    ['{"data":[{"a":1}]', 'ends in the middle'],
    ['{"a":[1,}', 'a value is expected'],
    [`[{"a":${'['.repeat(600)}`, 'nested deeper than 512'],
  ])('fails the whole document if its JSON syntax is invalid: %s', async (text, message) => {
    await expect(open(text)).rejects.toMatchObject({ code: 'JSON_BROKEN', message: expect.stringContaining(message) })
  })

  it.each([
    ['an array', (long: string) => `[{"a":1},\n${long},\n{"a":2}]`],
    ['an array, first', (long: string) => `[${long},{"a":1},{"a":2}]`],
    ['an array, last', (long: string) => `[{"a":1},{"a":2},${long} ]`],
    ['an array under a key', (long: string) => `{"data":[{"a":1},${long},{"a":2}],"n":{"x":1}}`],
    ['concatenated objects', (long: string) => `{"a":1}{"a":2}${long}`],
  ])('is rejected in %s if it is too long', async (_, text) => {
    const values = [`\\"]},{[`.repeat(500), 'x'.repeat(2500)]
    for (const value of values) {
      const { text: written, rejected } = await open(text(`{"a":[{"b":${JSON.stringify(value)}},[],{}]}`))
      expect([written, rejected]).toMatchObject(['"a"\n1\n2\n', [{ reason: 'is longer than 2000 bytes' }]])
    }
  })

  it('fails the document if an element that is too long does not end', async () => {
    await expect(open(`[{"a":1},{"a":"${'x'.repeat(9000)}]`)).rejects.toMatchObject({ code: 'JSON_BROKEN' })
  })

  it('does not include the white space after an array element in its length', async () => {
    const blank = ' \n'.repeat(5000)
    const number = '1'.repeat(3000)
    for (const text of [`[{"a":1}${blank},{"a":2}${blank}]`, `[{"a":1},${number}${blank},{"a":2}]`]) {
      const { text: written, rejected } = await open(text)
      expect([written, rejected.length]).toEqual(['"a"\n1\n2\n', text.includes(number) ? 1 : 0])
    }
  })

  it('is rejected if its line is too long', async () => {
    const { text, rejected } = await open(`{"a":1}\n{"a":"${'x'.repeat(100_000)}"}\n{"a":2}\n`)
    expect(text).toBe('"a"\n1\n2\n')
    expect(rejected).toHaveLength(1)
  })
})

describe('a preview of JSON with a long record', () => {
  const preview = (name: string, text: string, rowsUnder?: string) =>
    folder.open(name, text, {
      limits: { ...tiny, recordBytes: 20_000 },
      firstBytes: 3_000,
      ...(rowsUnder !== undefined && { options: { rowsUnder } }),
    })
  const long = `{"a":"${'x'.repeat(5_000)}"}`

  it('reads the records before it', async () => {
    const { text } = await preview('a.json', `{"type":"FeatureCollection","features":[{"a":"1"},${long}]}`)
    expect(text).toBe('"a"\n"1"\n')
  })

  it.each([
    ['a.json', `{"type":"FeatureCollection","features":[${long}]}`, undefined],
    ['a.json', `[${long}]`, undefined],
    ['a.ndjson', `${long}\n{"a":"1"}\n`, undefined],
    ['a.json', `{"n":"${'x'.repeat(5_000)}","rows":[{"a":1}]}`, 'rows'],
  ])('fails with PREVIEW_TOO_LARGE if the first record is not complete: %s', async (name, text, rowsUnder) => {
    await expect(preview(name, text, rowsUnder)).rejects.toMatchObject({
      code: 'PREVIEW_TOO_LARGE',
      message: expect.stringContaining('this part has no complete record'),
    })
  })
})
