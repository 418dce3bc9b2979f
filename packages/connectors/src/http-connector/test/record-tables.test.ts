import { describe, expect, it } from '@jest/globals'
import { readCsvRows } from '../../dhis2/csv-records.ts'
import { parseJson } from '../exact-json.ts'
import { BadRecord, type FlattenOptions, RecordFlattener, type RecordValue } from '../records/flatten-record.ts'
import { subtractSeconds } from '../paging.ts'
import { createColumnNames, createTableName } from '../../table-and-column-names.ts'
import { SeenKeys } from '../records/seen-keys.ts'
import fc from 'fast-check'

interface FormattedRow {
  groups: readonly string[]
  json: string
}

const cells = ({ json }: FormattedRow) => JSON.parse(`{${json}}`) as Record<string, unknown>

function flattenRecord(record: object, id: RecordValue, options?: FlattenOptions) {
  const flattener = new RecordFlattener(options)
  const rows = flattener.flatten(record, id)
  const [row, ...groups] = rows.map((one): FormattedRow => ({ groups: one.groups, json: flattener.formatFields(one) }))
  return { row: row!, groups }
}

describe('names of columns', () => {
  it('are paths in snake_case', () => {
    expect(createColumnNames(['_id', 'demo/age', 'orgUnit', 'a.b', '__version__', 'größe', '7'])).toEqual([
      '_id',
      'demo_age',
      'org_unit',
      'a_b',
      '_version',
      'grosse',
      '_7',
    ])
  })

  it('do not depend on the order of paths or on other paths', () => {
    const long = `group/${'question '.repeat(10)}`
    const both = createColumnNames(['a/b', 'a.b', 'a_b', `${long}1`, `${long}2`])
    expect(createColumnNames(['a.b', `${long}2`, 'a_b', 'a/b', `${long}1`])).toEqual([
      both[1],
      both[4],
      both[2],
      both[0],
      both[3],
    ])
    expect(both[2]).toBe('a_b')
    expect(new Set(both).size).toBe(5)
    expect(createColumnNames([`${long}1`])).toEqual([both[3]])
    for (const name of both) expect(Buffer.byteLength(name)).toBeLessThanOrEqual(63)
  })

  it('of group tables contain the path of the group', () => {
    expect(createTableName('homes', ['child', 'toy/part'])).toBe('homes__child__toy_part')
    const long = createTableName('t'.repeat(60), ['child'])
    expect(long).toMatch(/^t+_[0-9a-f]{8}$/)
    expect(Buffer.byteLength(long)).toBeLessThanOrEqual(63)
  })
})

describe('a record', () => {
  it('has a column for each nested field, and JSON for lists of plain values', () => {
    const { row, groups } = flattenRecord(
      { id: 7, a: { b: { c: 'x' }, d: null }, tags: ['p', 'q'], none: [], mixed: [{}, 1] },
      7,
    )
    expect(cells(row)).toEqual({ id: 7, 'a.b.c': 'x', tags: ['p', 'q'], mixed: [{}, 1] })
    expect(groups).toEqual([])
  })

  it('has rows of nested groups that refer to their parents', () => {
    const record = { 'hh/size': 2, hh: [{ 'hh/name': 'A' }, { 'hh/name': 'B', 'hh/toy': [{ 'hh/toy/what': 'ball' }] }] }
    const { row, groups } = flattenRecord(record, 'r1')
    expect(cells(row)).toEqual({ 'hh/size': 2 })
    expect(groups.map((one) => [one.groups.join(), ...Object.values(cells(one))])).toEqual([
      ['hh', 'r1/hh[0]', 'r1', 'r1', 0, 'A'],
      ['hh', 'r1/hh[1]', 'r1', 'r1', 1, 'B'],
      ['hh,toy', 'r1/hh[1]/toy[0]', 'r1/hh[1]', 'r1', 0, 'ball'],
    ])
  })

  it('has a repeat group without a list and paths that stay JSON if the system declares them', () => {
    const how = { isRepeatGroup: (path: string) => path === 'item', isStoredAsJson: (path: string) => path === 'meta' }
    const { row, groups } = flattenRecord({ item: { n: 1 }, meta: { a: 1 } }, 1, how)
    expect([cells(row), groups.length]).toEqual([{ meta: { a: 1 } }, 1])
  })

  it('has columns for a point, and JSON for other shapes', () => {
    const line = { type: 'LineString', coordinates: [[1, 2]] }
    const { row } = flattenRecord({ here: { type: 'Point', coordinates: [36.8, -1.3] }, line }, 1)
    expect(cells(row)).toEqual({ here_latitude: -1.3, here_longitude: 36.8, line })
  })

  it.each([
    [{ a: 'x\0' }, 'U+0000'],
    [{ a: { b: ['\0'] } }, 'U+0000'],
    [{ a: '\ud83d' }, 'surrogate'],
    [{ list: ['\ud83d'] }, 'surrogate'],
  ])('is rejected if its text cannot be stored: %j', (record, reason) => {
    expect(() => flattenRecord(record, 1)).toThrow(
      expect.objectContaining({ message: expect.stringContaining(reason) }),
    )
  })

  it('is loaded if its text only looks like an escape', () => {
    const list = ['C:\\udata', '\\u0000', '\\\\ud83d', '😀']
    expect(cells(flattenRecord({ list }, 1).row)).toEqual({ list })
    expect(() => flattenRecord({ list: [...list, 'a\\\0'] }, 1)).toThrow(BadRecord)
  })

  it('is rejected if it is nested too deeply', () => {
    const deep = JSON.parse(`${'{"a":'.repeat(200)}1${'}'.repeat(200)}`)
    expect(() => flattenRecord(deep, 1)).toThrow(BadRecord)
  })

  it('keeps numbers of any length, as ids too', () => {
    const record = parseJson('{"id": 12345678901234567890123, "list": [{"n": 1}]}') as { id: object }
    const { row, groups } = flattenRecord(record, record.id)
    expect(row.json).toBe('"id":12345678901234567890123')
    expect(cells(groups[0]!)['_row_id']).toBe('12345678901234567890123/list[0]')
  })
})

describe('keys', () => {
  it('are recognised as seen only within the last 500,000 keys', () => {
    const keys = new SeenKeys()
    expect([keys.add('a'), keys.add('a'), keys.add('b')]).toEqual([true, false, true])
    for (let key = 0; key < 500_000; key += 1) keys.add(String(key))
    expect([keys.add('a'), keys.add('499999')]).toEqual([true, false])
  })
})

describe('CSV', () => {
  const read = async (text: string, size: number) => {
    const bytes = Buffer.from(text)
    const chunks = (async function* () {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
    })()
    const rows: string[][] = []
    for await (const some of readCsvRows(chunks, { system: 'Example', batchSize: 2 })) rows.push(...some)
    return rows
  }

  it('is parsed equally for any division into chunks', async () => {
    const field = fc.string({ unit: fc.constantFrom('a', 'ä', '"', ',', '\n', '\r', ' ', '😀') })
    const table = fc.array(fc.array(field, { minLength: 2, maxLength: 4 }), { minLength: 1, maxLength: 5 })
    const written = (rows: string[][], quoteAll: boolean, end: string) =>
      rows
        .map((row) =>
          row.map((one) => (quoteAll || /[",\n\r]/.test(one) ? `"${one.replaceAll('"', '""')}"` : one)).join(','),
        )
        .join(end)
    await fc.assert(
      fc.asyncProperty(
        table,
        fc.boolean(),
        fc.boolean(),
        fc.integer({ min: 1, max: 9 }),
        async (rows, all, crlf, size) => {
          expect(await read(written(rows, all, crlf ? '\r\n' : '\n') + (crlf ? '\r\n' : ''), size)).toEqual(rows)
        },
      ),
      { numRuns: 200 },
    )
  })

  it.each(['a,"b\nc', 'a,"b"c,d\n'])(
    'is rejected if it has an unclosed quote or text after a quote: %j',
    async (text) => {
      await expect(read(text, 3)).rejects.toMatchObject({ code: 'OTHER_PROTOCOL' })
    },
  )
})

describe('subtractSeconds', () => {
  it.each([
    ['2026-01-01T00:04:00', '2025-12-31T23:59:00.000'],
    ['2026-01-01T00:10:00.500Z', '2026-01-01T00:05:00.500Z'],
    ['2026-01-01T02:10:00.000+0200', '2026-01-01T00:05:00.000Z'],
    ['soon', 'soon'],
  ])('%s minus 300 seconds is %s', (moment, earlier) => expect(subtractSeconds(moment, 300)).toBe(earlier))
})
