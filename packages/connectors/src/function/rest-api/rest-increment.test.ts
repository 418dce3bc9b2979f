import { describe, expect, it } from '@jest/globals'
import { drawCount } from '@sluice/testing/random-case-count'
import fc from 'fast-check'
import { CursorUnusable } from '../../http-connector/http-system.ts'
import { createChosenCursor, parseCursor, type RestCursor, startIncrement } from './rest-increment.ts'
import type { RestApiSettings } from './rest-request.ts'

type Settings = NonNullable<RestApiSettings['increment']>

const settings: Settings = { cursorField: 'at', parameter: 'since' }
const redactText = (text: string) => text
const now = Date.parse('2026-01-31T12:00:00Z')

/** Reads records with these cursors. Returns the next cursor and the value of the parameter of the next request. */
function readCursors(values: readonly unknown[], more: Partial<Settings> = {}, previous?: RestCursor) {
  const merged = { ...settings, ...more }
  const increment = startIncrement(merged, previous, redactText)
  increment.addRecords(values.map((at) => ({ at })))
  const cursor = increment.finish(now)
  return { cursor, sent: startIncrement(merged, cursor ?? previous, redactText).parameters['since'] }
}

describe('the cursor of a REST API', () => {
  it.each<[unknown, Partial<Settings>, string]>([
    ['2026-01-31T11:00:00Z', {}, '2026-01-31T10:55:00Z'],
    ['2026-01-31T11:00:00.123456Z', {}, '2026-01-31T10:55:00.123Z'],
    ['2026-01-31T13:00:00+02:00', {}, '2026-01-31T10:55:00Z'],
    ['2026-01-31T16:45:00+0545', {}, '2026-01-31T10:55:00Z'],
    ['2026-01-31 11:00:00', {}, '2026-01-31 10:55:00'],
    ['2026-01-31T11:00', {}, '2026-01-31T10:55:00'],
    ['2026-01-30', {}, '2026-01-29'],
    ['2026-01-30', { lookback: 0 }, '2026-01-30'],
    ['2026-01-31T11:00:00Z', { sentAs: 'DATE' }, '2026-01-31'],
    ['2026-01-31T11:00:00Z', { sentAs: 'UNIX_SECONDS', lookback: 60 }, '1769857140'],
    ['2026-01-31T11:00:00Z', { sentAs: 'UNIX_MILLISECONDS', lookback: 0 }, '1769857200000'],
    ['2026-01-31T11:00:00Z', { template: 'changed ge "{cursor}"' }, 'changed ge "2026-01-31T10:55:00Z"'],
    [1769857200, { cursorType: 'UNIX_SECONDS' }, '1769856900'],
    ['1769857200', { cursorType: 'UNIX_SECONDS', sentAs: 'TIMESTAMP' }, '2026-01-31T10:55:00Z'],
    [1769857200.5, { cursorType: 'UNIX_SECONDS', lookback: 0 }, '1769857200'],
    [1769857200123, { cursorType: 'UNIX_MILLISECONDS', lookback: 0 }, '1769857200123'],
    [41, { cursorType: 'NUMBER' }, '40'],
    ['12345678901234567890', { cursorType: 'NUMBER', lookback: 0 }, '12345678901234567890'],
    // Records have times of a clock that is an hour ahead: the position is the start of the read by the clock of the source.
    ['2026-01-31T13:00:00Z', {}, '2026-01-31T11:55:00Z'],
    [1769864400, { cursorType: 'UNIX_SECONDS' }, '1769860500'],
  ])('%j is sent with %j as %s', (value, more, expected) => {
    expect(readCursors([value], more).sent).toBe(expected)
  })

  it.each<[Partial<Settings>, unknown]>([
    [{}, 'yesterday'],
    [{}, '2026-13-01'],
    [{}, 1769857200],
    [{}, true],
    [{}, { day: 1 }],
    [{}, `2026-01-31T11:00:00Z' or '1'='1`],
    [{ cursorType: 'UNIX_SECONDS' }, '2026-01-31'],
    [{ cursorType: 'UNIX_SECONDS' }, '1e400'],
    [{ cursorType: 'NUMBER' }, 1.5],
    [{ cursorType: 'NUMBER' }, 'a'],
  ])('with %j cannot be %j', (more, value) => {
    expect(() => readCursors([value], more)).toThrow(
      expect.objectContaining({
        name: 'SourceProblem',
        code: 'INCREMENTAL_COLUMN_UNSUITABLE',
        message: expect.stringMatching(
          /^The value ".*" of "at" \(restApi\.increment\.cursorField\) is not of the type/,
        ),
      }),
    )
  })

  it('must exist in some record, and is counted where it is missing', () => {
    expect(() => readCursors([undefined, null])).toThrow(
      'No record has a value in "at" (restApi.increment.cursorField). Choose a field that each record has.',
    )
    const increment = startIncrement(settings, undefined, redactText)
    increment.addRecords([{ at: '2026-01-01' }, {}, { at: '' }, 'no record', null, []])
    expect([increment.recordsWithoutCursor, increment.finish(now)]).toEqual([
      2,
      expect.objectContaining({ example: '2026-01-01' }),
    ])
  })

  it('requires a full read if no record has the last one any more', () => {
    const { cursor } = readCursors(['2026-01-30T10:00:00Z'])
    for (const values of [[], ['2026-01-30T09:59:59Z']])
      expect(() => readCursors(values, {}, cursor)).toThrow(
        expect.objectContaining({
          constructor: CursorUnusable,
          message: expect.stringContaining('no record with a "at" of 2026-01-30T10:00:00Z or later'),
        }),
      )
    expect(readCursors(['2026-01-30T10:00:00Z'], {}, cursor).cursor).toBeUndefined()
    const chosen = createChosenCursor(settings, '2026-01-30T10:00:00.000Z')
    expect(readCursors([], {}, chosen)).toEqual({ cursor: undefined, sent: '2026-01-30T09:55:00.000Z' })
    expect(createChosenCursor({ ...settings, cursorType: 'NUMBER' }, '2026-01-30T10:00:00Z')).toBeUndefined()
  })

  it('is the largest of all records in any order, in any zone and precision', () => {
    const moment = fc
      .tuple(fc.integer({ min: 0, max: 40_000_000 }), fc.integer({ min: -14, max: 14 }), fc.integer({ min: 0, max: 9 }))
      .map(([seconds, hours, digits]) => {
        const time = Date.parse('2024-06-01T00:00:00Z') + seconds * 1_000
        const local = new Date(time + hours * 3_600_000).toISOString().slice(0, 19)
        const zone = `${hours < 0 ? '-' : '+'}${String(Math.abs(hours)).padStart(2, '0')}`
        return { time, text: `${local}${digits > 0 ? `.${'0'.repeat(digits)}` : ''}${zone}:00` }
      })
    fc.assert(
      fc.property(fc.array(moment, { minLength: 1, maxLength: 20 }), (moments) => {
        for (const { time, text } of moments) expect(parseCursor('TIMESTAMP', text)).toBe(BigInt(time))
        const { cursor, sent } = readCursors(
          moments.map(({ text }) => text),
          { lookback: 0 },
        )
        const largest = Math.max(...moments.map(({ time }) => time))
        expect([Number(cursor!.position), Date.parse(sent as string)]).toEqual([largest, largest])
      }),
      { numRuns: drawCount({ short: 200, long: 10_000 }) },
    )
  })
})
