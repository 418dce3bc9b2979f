import { describe, expect, it } from '@jest/globals'
import type { Column } from '@sluice/row-stream'
import { findIncrementStart, createDatabaseState } from './increment-settings.ts'
import { type IncrementRequest, planIncrement } from './plan-increment.ts'

const column = (label: string, dataType: Column['dataType']): Column => ({ name: label.toLowerCase(), label, dataType })
const visits = [
  column('id', 'INTEGER'),
  column('note', 'TEXT'),
  column('share', 'DOUBLE'),
  column('Moved', 'TIMESTAMPTZ'),
  column('gone', 'BOOLEAN'),
]
const clock = { utc: '2026-01-31 12:00:00', local: '2026-01-31 17:45:00' }
const plan = (
  changes: Partial<IncrementRequest> = {},
  columns = visits,
  largest: string | null = '2026-01-30 00:00:00+00',
) =>
  planIncrement({ findLargest: async () => largest, readClock: async () => clock }, structuredClone(columns), {
    cursorColumn: 'moved',
    key: ['ID'],
    storesCursor: true,
    ...changes,
  })

const missing = 'INCREMENTAL_COLUMN_MISSING'
const unsuitable = 'INCREMENTAL_COLUMN_UNSUITABLE'
const offered = 'is not a column of the source. Choose one of "id", "note", "share", "Moved", "gone".'
const comparable =
  'Its values cannot be compared exactly. Choose a column with dates, timestamps, integers or decimals, or convert it in a query.'

describe('a plan of an incremental read', () => {
  it.each<[string, Partial<IncrementRequest>, Column[] | undefined, string, string]>([
    [
      'the cursor column is missing',
      { cursorColumn: 'at' },
      undefined,
      missing,
      `"at" (incremental.cursorColumn) ${offered}`,
    ],
    ['a key column is missing', { key: ['id', 'no'] }, undefined, missing, `"no" (incremental.key) ${offered}`],
    [
      'the deleted column is missing',
      { deletedColumn: 'no' },
      undefined,
      missing,
      `"no" (incremental.deletedColumn) ${offered}`,
    ],
    [
      'a name matches two columns in another case',
      { cursorColumn: 'MOVED' },
      [...visits, column('moved', 'DATE')],
      missing,
      '"MOVED" (incremental.cursorColumn) matches several columns of the source. Choose one of "Moved", "moved".',
    ],
    [
      'two columns have the same name',
      {},
      [...visits, column('note', 'TEXT')],
      missing,
      'Two columns of the query are named "note". Incremental loads need distinct names: rename one.',
    ],
    [
      'the key contains a column in two spellings',
      { key: ['id', 'ID'] },
      undefined,
      missing,
      '"ID" names column "id" of incremental.key again. List each column once.',
    ],
    [
      'the cursor is text',
      { cursorColumn: 'note', lookback: 60 },
      undefined,
      unsuitable,
      `The cursor column "note" is TEXT. ${comparable}`,
    ],
    [
      'the cursor is a floating-point number',
      { cursorColumn: 'share' },
      undefined,
      unsuitable,
      `The cursor column "share" is DOUBLE. ${comparable}`,
    ],
    [
      'the cursor is a boolean',
      { cursorColumn: 'gone' },
      undefined,
      unsuitable,
      `The cursor column "gone" is BOOLEAN. ${comparable}`,
    ],
    [
      'the deleted column is text',
      { deletedColumn: 'note' },
      undefined,
      unsuitable,
      'The column "note" (incremental.deletedColumn) is TEXT. Choose a column with true and false, 0 and 1, or the time of the deletion, or convert it in a query.',
    ],
  ])('fails if %s', async (_, changes, columns, code, message) => {
    await expect(plan(changes, columns)).rejects.toMatchObject({ name: 'SourceProblem', code, message })
  })

  it('takes a name in another case if one column has it, and prefers the exact name', async () => {
    const both = [...visits, column('moved', 'DATE')]
    expect((await plan()).cursor).toMatchObject({ kind: 'TIMESTAMPTZ', value: '2026-01-30 00:00:00.000000000' })
    expect((await plan({}, both, '2026-01-30')).cursor).toMatchObject({ kind: 'DATE', value: '2026-01-30' })
  })

  it('replaces the key of the table by that of the settings', async () => {
    const columns = structuredClone(visits)
    columns[1]!.primaryKey = true
    const source = { findLargest: async () => null, readClock: async () => clock }
    await planIncrement(source, columns, { cursorColumn: 'moved', key: ['gone', 'id'], storesCursor: true })
    expect(columns.filter(({ primaryKey }) => primaryKey).map(({ label }) => label)).toEqual(['id', 'gone'])
  })

  it('continues from the cursor less the lookback, and is limited to the clock', async () => {
    const { cursor } = await plan()
    const second = await plan({ previousCursor: cursor!, lookback: 3_600, deletedColumn: 'Gone' }, visits, 'infinity')
    expect(second).toEqual({
      filter: { cursor: { index: 3, kind: 'TIMESTAMPTZ', from: '2026-01-29 23:00:00.000000000' } },
      cursor: { ...cursor, value: '2026-01-31 12:00:00.000000000' },
      deletedColumn: 'gone',
      note: 'Rows with a "Moved" of 2026-01-29 23:00:00 or later, or without one, are read. Rows that were deleted and not marked in "gone" in the source stay until the next full run.',
    })
  })

  it('reads everything, and says why, if columns changed or no row has the last cursor', async () => {
    const { cursor: last } = await plan()
    const wider = [...visits, column('more', 'TEXT')]
    expect((await plan({ previousCursor: last! }, wider)).fullRead).toContain('the columns of the source changed')
    for (const largest of [null, '2026-01-29 23:59:59.999999+00'])
      expect((await plan({ previousCursor: last! }, visits, largest)).fullRead).toBe(
        'All rows are read, because no row has a "Moved" of 2026-01-30 00:00:00 or later, although an earlier load found one: rows were deleted or restored.',
      )
  })

  it('stores a cursor without a value if no row has one, and then reads all rows as an increment', async () => {
    const { cursor } = await plan({}, visits, null)
    expect(cursor).toEqual({ kind: 'TIMESTAMPTZ', columns: expect.any(String) })
    const { note, ...next } = await plan({ previousCursor: cursor! })
    expect(next).toEqual({ filter: {}, cursor: { ...cursor, value: '2026-01-30 00:00:00.000000000' } })
    expect(note).toContain('All rows are read.')
  })
})

describe('the start of an increment', () => {
  const settings = {
    jdbcSource: { hostname: 'db.example.org', database: 'shop', username: 'reader' },
    sqlQuery: 'select * from visits',
    incremental: { cursorColumn: 'moved', key: ['id'] },
  }
  const at = { kind: 'TIMESTAMP' as const, value: '2026-01-30 00:00:00.000000000', columns: 'digest' }
  const request = { type: 'SQL_DATABASE_D', settings, secrets: {}, input: {} }
  const stored = createDatabaseState(request, [], { '': at })!
  const start = (changes: object, more: object = {}) =>
    findIncrementStart({ ...request, settings: { ...settings, ...changes }, cursor: stored, ...more }, [''])

  it('is the stored cursor, also after a change of settings that do not change the rows', () => {
    expect(start({})).toEqual({ positions: { '': at } })
    const { jdbcSource, incremental } = settings
    expect(start({ jdbcSource: { ...jdbcSource, ssl: true } })).toEqual({ positions: { '': at } })
    expect(start({ incremental: { ...incremental, lookback: 9 } })).toEqual({ positions: { '': at } })
  })

  const changed = 'All rows are read, because the settings of the source changed since the last load.'
  const none = 'All rows are read, because no earlier load stored a cursor.'
  it.each([
    ['another query', { sqlQuery: 'select 1' }, {}, changed],
    ['a table instead of a query', { sqlQuery: undefined, tables: [{ name: 'visits' }] }, {}, changed],
    ['another key', { incremental: { cursorColumn: 'moved', key: ['id', 'site'] } }, {}, changed],
    ['another cursor column', { incremental: { cursorColumn: 'at', key: ['id'] } }, {}, changed],
    ['a deleted column', { incremental: { ...settings.incremental, deletedColumn: 'gone' } }, {}, changed],
    ['another server', { jdbcSource: { ...settings.jdbcSource, hostname: 'other.example.org' } }, {}, changed],
    ['another user', { jdbcSource: { ...settings.jdbcSource, username: 'other' } }, {}, changed],
    ['a cursor without a value', {}, { cursor: { ...stored, positions: { '': { ...at, value: undefined } } } }, none],
    ['a cursor of other tables', {}, { cursor: { ...stored, positions: { visits: at } } }, none],
    ['a reset', {}, { reset: {} }, 'All rows are read, because the cursor was reset.'],
    ['no cursor', {}, { cursor: undefined }, none],
    ['a cursor of another version', {}, { cursor: { ...stored, version: 1 } }, none],
    [
      'a cursor with an invalid value',
      {},
      { cursor: { ...stored, positions: { '': { ...at, value: "' or 1 = 1" } } } },
      none,
    ],
    [
      'no settings',
      { incremental: undefined },
      {},
      'All rows are read and replace the old ones: `incremental` is not set.',
    ],
  ])('is the beginning after %s', (_, changes, more, fullRead) => {
    expect(start(changes, more)).toEqual({ fullRead })
  })
})
