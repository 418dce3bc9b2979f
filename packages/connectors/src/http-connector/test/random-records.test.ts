import { describe, expect, it } from '@jest/globals'
import { drawCount } from '@sluice/testing/random-case-count'
import fc from 'fast-check'
import { parseJson } from '../exact-json.ts'
import { BadRecord, RecordFlattener } from '../records/flatten-record.ts'

interface ReferenceRow {
  groups: string[]
  cells: Map<string, unknown>
}

/** The rules of docs/systems.md as plain recursion, without memory of earlier records. */
function flattenByReference(record: object, id: string): ReferenceRow[] {
  const rows: ReferenceRow[] = []
  const set = (cells: Map<string, unknown>, path: string, value: unknown) => {
    if (isUnfit(value)) throw new BadRecord('is unfit')
    cells.set(path, value)
  }
  const walk = (object: object, row: ReferenceRow, prefix: string, group: string, rowId: string) => {
    for (const [key, value] of Object.entries(object) as [string, unknown][]) {
      if (value === null) continue
      const path = prefix + (group !== '' && key.startsWith(`${group}/`) ? key.slice(group.length + 1) : key)
      const areObjects =
        Array.isArray(value) && value.every((one) => typeof one === 'object' && one && !Array.isArray(one))
      if (Array.isArray(value) && value.length === 0) continue
      if (areObjects)
        value.forEach((one: object, index) => {
          const child = { groups: [...row.groups, path], cells: new Map<string, unknown>() }
          const childId = `${rowId}/${path}[${index}]`
          rows.push(child)
          const links = { _row_id: childId, _parent_row_id: rowId, _root_row_id: id, _index: index }
          for (const [name, link] of Object.entries(links)) child.cells.set(name, link)
          walk(one, child, '', key, childId)
        })
      else if (typeof value === 'object' && !Array.isArray(value)) walk(value, row, `${path}.`, group, rowId)
      else set(row.cells, path, value)
    }
  }
  const root: ReferenceRow = { groups: [], cells: new Map() }
  rows.push(root)
  walk(record, root, '', '', id)
  return rows
}

const isUnfit = (value: unknown): boolean =>
  typeof value === 'string'
    ? value.includes('\0') || !value.isWellFormed()
    : typeof value === 'object' && value !== null && Object.values(value).some(isUnfit)

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 6 }),
  fc.constantFrom('a "quote"', 'line\nend', 'tab\t', '\\', 'C:\\udata', '\\\\u0000', '\u2028', '😀', '2024-01-31', ''),
  { weight: 1, arbitrary: fc.constantFrom('\0', '\ud83d', '\udc00\ud800') },
)
const scalar = fc.oneof(
  { weight: 6, arbitrary: text },
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
  fc.constant(null),
)
const key = fc.constantFrom('a', 'b', 'c', 'a.b', 'g/a', 'g', 'q"', '0', 'é', '__proto__')
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', maxDepth: 4 },
    { weight: 6, arbitrary: scalar },
    fc.dictionary(key, tie('value'), { maxKeys: 4 }),
    fc.array(fc.dictionary(key, tie('value'), { maxKeys: 3 }), { maxLength: 3 }),
    fc.array(tie('value'), { maxLength: 3 }),
  ),
}))
const record = fc.dictionary(key, value, { minKeys: 1, maxKeys: 6 })

const outcomeOf = <T>(flatten: () => T): T | 'REJECTED' => {
  try {
    return flatten()
  } catch (error) {
    if (error instanceof BadRecord) return 'REJECTED'
    throw error
  }
}

describe('random records', () => {
  it('become the rows of a plain recursion, whatever records came before', () => {
    fc.assert(
      fc.property(fc.array(record, { minLength: 1, maxLength: 12 }), (records) => {
        const flattener = new RecordFlattener()
        for (const [index, one] of records.entries()) {
          // As a response of a server: JSON.parse creates own fields for every name.
          const parsed = parseJson(JSON.stringify(one)) as object
          const rows = outcomeOf(() => flattener.flatten(parsed, `r${index}`))
          const expected = outcomeOf(() => flattenByReference(parsed, `r${index}`))
          if (rows === 'REJECTED' || expected === 'REJECTED') {
            expect(rows).toBe(expected)
            continue
          }
          for (const { newKinds } of rows) for (const { column, kind } of newKinds) column.kinds |= kind
          expect(rows.map(({ groups }) => groups)).toEqual(expected.map(({ groups }) => groups))
          for (const [at, row] of rows.entries())
            expect(JSON.parse(`{${flattener.formatFields(row)}}`)).toEqual(JSON.parse(formatReference(expected[at]!)))
        }
      }),
      { numRuns: drawCount({ short: 300, long: 20_000 }) },
    )
  })

  it('keep each digit of long numbers', () => {
    const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: 24 })
    const long = fc
      .tuple(
        fc.constantFrom('', '-'),
        fc.integer({ min: 1, max: 9 }),
        digits,
        fc.option(digits),
        fc.constantFrom('', 'e5', 'E-7'),
      )
      .map(
        ([sign, first, rest, fraction, power]) =>
          `${sign}${first}${rest}${fraction === null ? '' : `.${fraction}`}${power}`,
      )
      .filter((number) => number.length >= 16)
    const printed = fc.double({ noNaN: true, noDefaultInfinity: true }).map(String)
    const number = fc.oneof(
      long,
      printed.filter((one) => one.length >= 16),
    )
    fc.assert(
      fc.property(fc.array(number, { minLength: 1, maxLength: 5 }), fc.constantFrom('[', ' '), (numbers, before) => {
        const json = `[${before === ' ' ? ' ' : ''}${numbers.join(', ')}]`
        const kept = JSON.stringify(parseJson(json))
        expect(kept.slice(1, -1).split(',').map(exactValue)).toEqual(numbers.map(exactValue))
      }),
      { numRuns: drawCount({ short: 300, long: 20_000 }) },
    )
  })
})

it('numbers that JavaScript cannot represent keep their value, also short ones', () => {
  const json = '{"a":1e400,"b":[-2.5E+999,1e-400,1e100,0]}'
  expect(JSON.stringify(parseJson(json))).toBe(json)
  expect(parseJson('[1e100, 2.5e-300]')).toEqual([1e100, 2.5e-300])
})

const formatReference = ({ cells }: ReferenceRow): string =>
  `{${[...cells].map(([path, cell]) => `${JSON.stringify(path)}:${JSON.stringify(cell)}`).join()}}`

/** Returns the digits of a number without zeros at its ends, and the power of ten of the last one. */
function exactValue(number: string): string {
  const [, sign = '', whole = '', fraction = '', power = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]\+?(-?\d+))?$/.exec(
    number,
  )!
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  return `${sign}${significant}e${Number(power) - fraction.length + digits.length - significant.length}`
}
