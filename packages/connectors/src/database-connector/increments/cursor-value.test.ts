import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import {
  compareCursorValues,
  type CursorKind,
  parseCursorValue,
  readCursorClock,
  subtractLookback,
} from './cursor-value.ts'

describe('a cursor value', () => {
  it.each<[CursorKind, string, string | undefined]>([
    ['NUMBER', '9007199254740993', '9007199254740993'],
    ['NUMBER', '-0012.3400', '-12.34'],
    ['NUMBER', '-0.00', '0'],
    ['NUMBER', '.5', '0.5'],
    [
      'NUMBER',
      '12345678901234567890123456789012345678.0000000001',
      '12345678901234567890123456789012345678.0000000001',
    ],
    ['NUMBER', 'NaN', undefined],
    ['NUMBER', 'Infinity', undefined],
    ['NUMBER', '1E+40', undefined],
    ['NUMBER', '.', undefined],
    ['DATE', '2026-02-28', '2026-02-28'],
    ['DATE', '2026-02-30', undefined],
    ['DATE', '0000-00-00', undefined],
    ['DATE', '0044-03-15 BC', undefined],
    ['DATE', 'infinity', 'FUTURE'],
    ['DATE', '-infinity', undefined],
    ['TIMESTAMP', '2026-01-31T12:30:00.007', '2026-01-31 12:30:00.007000000'],
    ['TIMESTAMP', '2026-01-31 12:30:00', '2026-01-31 12:30:00.000000000'],
    ['TIMESTAMP', ' 2026-01-31T12:30:00.123456789', '2026-01-31 12:30:00.123456789'],
    ['TIMESTAMP', '10000-01-01 00:00:00', 'FUTURE'],
    ['TIMESTAMPTZ', '2026-01-31 12:30:00.5+00', '2026-01-31 12:30:00.500000000'],
    ['TIMESTAMPTZ', '2026-01-31T00:15:00.1234567+05:45', '2026-01-30 18:30:00.123456700'],
    ['TIMESTAMPTZ', '2026-01-31 23:30:00.000000000-01:00', '2026-02-01 00:30:00.000000000'],
    ['TIMESTAMPTZ', '9999-12-31 23:30:00-01', 'FUTURE'],
    ['TIMESTAMPTZ', 'text', undefined],
  ])('of kind %s is parsed from %j as %j', (kind, text, expected) => {
    expect(parseCursorValue(kind, text)).toBe(expected)
  })

  it.each<[CursorKind, string, number, string | undefined]>([
    ['NUMBER', '9007199254740993', 1, '9007199254740992'],
    ['NUMBER', '0.5', 1, '-0.5'],
    ['NUMBER', '-1.25', 10, '-11.25'],
    ['DATE', '2026-03-01', 1, '2026-02-28'],
    ['DATE', '2026-03-01', 86_401, '2026-02-27'],
    ['TIMESTAMP', '2026-01-01 00:00:00.123456789', 1, '2025-12-31 23:59:59.123456789'],
    ['TIMESTAMP', '0001-01-01 00:00:01.000000000', 2, undefined],
  ])('of kind %s, %s less %d is %s', (kind, value, lookback, expected) => {
    expect(subtractLookback(kind, value, lookback)).toBe(expected)
  })

  it('has the order of its numbers, whatever their size and sign', () => {
    const number = fc.tuple(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), fc.integer({ min: 0, max: 5 }))
    fc.assert(
      fc.property(number, number, ([one, less], [other, more]) => {
        const text = (value: bigint, decimals: number) =>
          parseCursorValue('NUMBER', `${value}.${'7'.repeat(decimals)}`)!
        const scaled = (value: string) =>
          BigInt(
            value.replace(/^(-?)(\d+)\.?(\d*)$/, (_, sign, whole, fraction) => sign + whole + fraction.padEnd(5, '0')),
          )
        const [a, b] = [text(one, less), text(other, more)]
        const difference = scaled(a) - scaled(b)
        expect(Math.sign(compareCursorValues('NUMBER', a, b))).toBe(difference < 0n ? -1 : difference > 0n ? 1 : 0)
      }),
    )
  })

  it('takes the clock in UTC for times with a zone, and the clock of the server for others', () => {
    const clock = { utc: '2026-01-31 20:00:00.25', local: '2026-02-01T01:45:00.2500000' }
    expect(readCursorClock('TIMESTAMPTZ', clock)).toBe('2026-01-31 20:00:00.250000000')
    expect(readCursorClock('TIMESTAMP', clock)).toBe('2026-02-01 01:45:00.250000000')
    expect(readCursorClock('DATE', clock)).toBe('2026-02-01')
    expect(readCursorClock('NUMBER', clock)).toBeUndefined()
  })
})
