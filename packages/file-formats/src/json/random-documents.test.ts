import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { TypesWidened, type Column, type RejectedRow } from '@sluice/row-stream'
import { sqlType } from '@sluice/row-stream/testing/sql-type'
import { drawCount } from '@sluice/testing/random-case-count'
import { connected, superuserUrl, word } from '@sluice/warehouses/testing/scratch-warehouse'
import fc from 'fast-check'
import type { Client } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { chunksOf } from '../csv/test/read-whole-file.ts'
import { keepReaderThreads } from '../start-reader-thread.ts'
import { readUpload } from '../upload/read-upload.ts'
import { uploadFolder } from '../upload/test/open-upload-from-bytes.ts'

/** A value as it is spelled, and whether a table can store it. */
interface SpelledValue {
  json: string
  isFit: boolean
}

type SpelledField = readonly [keySpelling: string, value: SpelledValue]

const escapesOf = (character: string): string[] => {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index))
  const hexadecimal = units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
  const short = JSON.stringify(character).slice(1, -1)
  return [short, hexadecimal, hexadecimal.replace(/[a-f]/g, (digit) => digit.toUpperCase())]
}

const character = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }) },
  {
    weight: 3,
    arbitrary: fc.constantFrom('"', '\\', '/', '\n', '\t', '\b', '\f', '\r', ',', ' ', 'é', '€', '😀', '\u2028'),
  },
  { weight: 4, arbitrary: fc.constantFrom('plain text', 'a text of more than sixteen bytes, ', '2024-01-31') },
)
const spelled = fc.tuple(character, fc.nat(2)).map(([one, way]) => escapesOf(one)[way]!)
const unfit = fc.constantFrom('\\u0000', '\\ud83d', '\\ude00', '\\udc00\\ud800', '\\uD83Dx')

const text = fc
  .tuple(fc.array(spelled, { maxLength: 8 }), fc.option(unfit, { freq: 40 }))
  .map(([parts, bad]): SpelledValue => ({ json: `"${parts.join('')}${bad ?? ''}"`, isFit: bad === null }))
const number = fc
  .oneof(
    fc.integer().map(String),
    fc.bigInt().map(String),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
    fc.constantFrom(
      '-0',
      '0.0',
      '1E5',
      '1e-7',
      '1.50',
      '12345678901234567890.123456789',
      '1e400',
      '-1E+9999',
      '1e-9999',
    ),
    fc.nat(40).map((digits) => `1${'0'.repeat(digits)}.${'9'.repeat(digits + 1)}`),
  )
  .map((json): SpelledValue => ({ json, isFit: true }))
const plain = fc.oneof(
  number,
  fc.constantFrom('true', 'false', 'null').map((json): SpelledValue => ({ json, isFit: true })),
)
const space = fc.constantFrom('', '', '', ' ', '  \t')
const joinValues = (parts: readonly SpelledValue[], before: string, after: string, gap: string): SpelledValue => ({
  json: `${before}${gap}${parts.map(({ json }) => json).join(`${gap},`)}${gap}${after}`,
  isFit: parts.every(({ isFit }) => isFit),
})
const hugeNumber = fc
  .constantFrom('1e10000', '1e-10000', `0.${'1'.repeat(10_000)}e-9999`, '9'.repeat(16_001))
  .map((json): SpelledValue => ({ json, isFit: false }))
const { nested } = fc.letrec<{ nested: SpelledValue; value: SpelledValue }>((tie) => ({
  value: fc.oneof({ depthSize: 'small' }, text, plain, { weight: 1, arbitrary: tie('nested') }),
  nested: fc.oneof(
    fc.tuple(fc.array(tie('value'), { maxLength: 4 }), space).map(([parts, gap]) => joinValues(parts, '[', ']', gap)),
    fc.tuple(fc.array(fc.tuple(text, tie('value')), { maxLength: 4 }), space).map(([fields, gap]) =>
      joinValues(
        fields.map(([key, value]) => ({ json: `${key.json}${gap}:${value.json}`, isFit: key.isFit && value.isFit })),
        '{',
        '}',
        gap,
      ),
    ),
    fc.tuple(hugeNumber).map((parts) => joinValues(parts, '[', ']', '')),
  ),
}))
const value = fc.oneof(
  { weight: 3, arbitrary: text },
  { weight: 3, arbitrary: plain },
  { weight: 2, arbitrary: nested },
)
/** Few keys, so that objects share columns; some spelled with escapes, longer than sixteen bytes, or late. */
const key = fc.constantFrom(
  'a',
  'b',
  'b',
  'c',
  '\\u0061',
  'key of more than sixteen bytes',
  'key of more than sixteen letters',
  'é',
  '\\u00e9',
  'q\\"',
  '0',
)
const object = fc.array(fc.tuple(key, value), { minLength: 1, maxLength: 7 })

const spell = (fields: readonly SpelledField[], gap: string): string =>
  `{${gap}${fields.map(([name, { json }]) => `"${name}"${gap}:${gap}${json}`).join(`${gap},`)}${gap}}`

const labelOf = (spelling: string): string => JSON.parse(`"${spelling}"`) as string

/** Returns the values by label as JSON.parse reads them; numbers as they are written, and nested values as parsed JSON. */
function referenceRow(fields: readonly SpelledField[]): Map<string, unknown> {
  const row = new Map<string, unknown>()
  for (const [name, { json }] of fields) {
    const isNumber = /^[-\d]/.test(json)
    const parsed: unknown = isNumber ? json : JSON.parse(json)
    row.delete(labelOf(name))
    if (parsed !== null) row.set(labelOf(name), typeof parsed === 'boolean' ? String(parsed) : parsed)
  }
  return row
}

/** Returns the cells of the delimited text that replaces the JSON, by label. */
function readSpool(delimited: string): Map<string, unknown>[] {
  const rows: (string | undefined)[][] = [[]]
  for (const [, field = '', end] of delimited.matchAll(/("(?:[^"]|"")*"|[^,\n]*)([,\n])/g)) {
    rows.at(-1)!.push(field.startsWith('"') ? field.slice(1, -1).replaceAll('""', '"') : field || undefined)
    if (end === '\n') rows.push([])
  }
  const [labels = [], ...records] = rows.slice(0, -1)
  return records.map(
    (cells) => new Map(cells.flatMap((cell, index) => (cell === undefined ? [] : [[labels[index]!, cell] as const]))),
  )
}

/** Replaces nested values by their text, as the column of the spool has them. */
const withNestedText = (row: Map<string, unknown>, fields: readonly SpelledField[]) =>
  new Map(
    [...row].map(([label, cell]) => [
      label,
      typeof cell === 'object' ? fields.findLast(([name]) => labelOf(name) === label)![1].json : cell,
    ]),
  )

const isFit = (fields: readonly SpelledField[]): boolean =>
  fields.every(([, { json, isFit: fits }]) => fits || (!/^[[{"]/.test(json) && json !== ''))

describe('random JSON objects', () => {
  const folder = uploadFolder()
  const threads = keepReaderThreads()
  afterAll(() => {
    threads[Symbol.dispose]()
    folder[Symbol.dispose]()
  })

  it('become the rows that JSON.parse reads, whatever their spelling, and only unfit ones are rejected', async () => {
    const shape = fc.constantFrom('lines', 'array', 'sequence')
    const chunkBytes = fc.constantFrom(7, 64, 4096)
    await fc.assert(
      fc.asyncProperty(
        fc.array(object, { minLength: 1, maxLength: 12 }),
        space,
        shape,
        chunkBytes,
        async (objects, gap, how, bytes) => {
          const texts = [spell([['a', { json: '1', isFit: true }]], ''), ...objects.map((fields) => spell(fields, gap))]
          const file = how === 'array' ? `[${texts.join(`${gap},\n`)}]` : texts.join(how === 'lines' ? '\n' : ' ')
          const limits = { chunkBytes: bytes, recordBytes: 100_000 }
          const { text: spool, rejected } = await folder.open(how === 'lines' ? 'a.ndjson' : 'a.json', file, { limits })
          const fitting = objects.filter(isFit)
          expect(rejected).toHaveLength(objects.length - fitting.length)
          expect(readSpool(spool).slice(1)).toEqual(
            fitting.map((fields) => withNestedText(referenceRow(fields), fields)),
          )
        },
      ),
      { numRuns: drawCount({ short: 40, long: 3_000 }) },
    )
  })

  it('with a changed byte are rejected exactly if JSON.parse rejects them', async () => {
    // A duplicate key hides the earlier value from JSON.parse.
    const unique = fc.uniqueArray(fc.tuple(key, value), {
      minLength: 1,
      maxLength: 7,
      selector: ([name]) => labelOf(name),
    })
    const changed = fc.tuple(
      unique,
      fc.nat(),
      fc.constantFrom(...'"\\{}[],:0123456789-+.eEtfnu \tx\u0001'),
      fc.boolean(),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(changed, { minLength: 1, maxLength: 30 }), async (changes) => {
        const changedLines = changes.map(([fields, position, replacement, isInserted]) => {
          const line = spell(
            fields.filter(([, { isFit: fits }]) => fits),
            '',
          )
          const at = position % (line.length + 1)
          return line.slice(0, at) + replacement + line.slice(isInserted ? at : at + 1)
        })
        // Numbers with such exponents are rejected in nested values only. Half a surrogate pair cannot be written as UTF-8.
        const lines = changedLines.filter((line) => line.isWellFormed() && !/\de[+-]?\d{5}/i.test(line))
        const first = '{"a":1}'
        const { rejected } = await folder.open('a.ndjson', [first, ...lines].join('\n'), { limits: { chunkBytes: 64 } })
        const accepted = lines.filter((line) => line.trim() !== '').map(parsesAsRow)
        expect(rejected.length).toBe(accepted.filter((parses) => !parses).length)
      }),
      { numRuns: drawCount({ short: 30, long: 2_000 }) },
    )
  })
})

/** Whether a line is a JSON object whose texts can be stored. */
function parsesAsRow(line: string): boolean {
  try {
    const parsed: unknown = JSON.parse(line)
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return false
    const texts = JSON.stringify(parsed)
    return !/\\u0000|\\ud[89a-f]/.test(texts)
  } catch {
    return false
  }
}

describe('nested JSON values', () => {
  const table = word('nested_')
  const folder = uploadFolder()
  let client: Client
  beforeAll(async () => {
    client = await connected(superuserUrl())
  })
  afterAll(async () => {
    await client?.query(`drop table if exists ${table}`)
    await client?.end()
    folder[Symbol.dispose]()
  })

  it('are stored in PostgreSQL as JSONB without another check, and equal what it reads from their text', async () => {
    const rows = fc.array(nested, { minLength: 1, maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(rows, async (values) => {
        const path = join(folder.path, 'rows.ndjson')
        writeFileSync(path, ['[]', ...values.map(({ json }) => json)].map((json) => `{"v":${json}}\n`).join(''))
        const { columns, tuples, rejected } = await readAll(path, folder.path)
        const fitting = values.filter(({ isFit: fits }) => fits)
        expect([columns.map(sqlType), rejected.length]).toEqual([['JSONB'], values.length - fitting.length])
        await client.query(`drop table if exists ${table}; create table ${table} (v jsonb, n serial)`)
        const stream = client.query(copyFrom(`copy ${table} (v) from stdin (format binary)`))
        stream.end(tuples)
        await once(stream, 'finish')
        const expected = ['[]', ...fitting.map(({ json }) => json)]
        const { rows: differing } = await client.query(
          `select n from ${table} full join unnest($1::jsonb[]) with ordinality as e (v, n) using (n) where ${table}.v is distinct from e.v`,
          [expected],
        )
        expect(differing).toEqual([])
      }),
      { numRuns: drawCount({ short: 25, long: 500 }) },
    )
  })
})

/** Reads an upload to its end, and again with the wider types if the first ones do not hold. */
async function readAll(path: string, filesDirectory: string) {
  const rejected: RejectedRow[] = []
  const report = {
    progress: () => {},
    reject: (row: RejectedRow) => void rejected.push(row),
    rejectMore: () => {},
    startOver: async () => void rejected.splice(0),
    log: () => {},
  }
  const upload = { path, name: 'rows.ndjson', filesDirectory }
  const header = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)])
  for await (const rowStream of readUpload(upload, {}, report, new AbortController().signal)) {
    for (let columns: Column[] = rowStream.columns; ; ) {
      try {
        const chunks = await Array.fromAsync(chunksOf({ ...rowStream, columns }))
        return { columns, tuples: Buffer.concat([header, ...chunks, Buffer.from([0xff, 0xff])]), rejected }
      } catch (error) {
        if (!(error instanceof TypesWidened)) throw error
        columns = error.columns
      }
    }
  }
  throw new Error('The upload has no rowStream.')
}
