import type { SchemaChanges } from '@sluice/contracts'
import { describe, expect, it } from '@jest/globals'
import { compareColumns } from './compare-columns.ts'

const last = {
  definition: 'before',
  columns: ['a', 'b', 'c', 'd'].map((name) => ({ name, label: name, type: 'text', dataType: 'TEXT' as const })),
}
const compare = (
  names: string,
  schemaChanges: SchemaChanges,
  changes: { definition?: string; sparse?: boolean } = {},
) =>
  compareColumns(
    last,
    [...names].map((name) => ({ name, label: name })),
    { schemaChanges, definition: 'before', sparse: false, hasRows: true, ...changes },
  )

describe('the sentence on columns that differ', () => {
  it('says what a run does', () => {
    const missing = 'Columns of the last load that the file does not have: "d".'
    expect(compare('abcd', 'FAIL')).toBeUndefined()
    expect(compare('abc', 'EVOLVE')).toBe(missing)
    expect(compare('abc', 'FAIL')).toBe(`A run would fail, because schemaChanges is FAIL. ${missing}`)
    expect(compare('abc', 'REPLACE')).toBe(
      `A run would replace the columns of the table, because schemaChanges is REPLACE. ${missing}`,
    )
    expect(compare('ax', 'EVOLVE')).toMatch(
      /^A run would fail, because the file has too few columns of the last load\./,
    )
    expect(compare('ax', 'EVOLVE', { sparse: true })).toMatch(/^Columns of the last load/)
    expect(compare('x', 'REPLACE')).toMatch(/^A run would replace .* The file has no column of the last load/)
    expect(compare('x', 'EVOLVE', { definition: 'after' })).toMatch(
      /^A run would replace the columns of the table, because the settings of the source changed\./,
    )
  })

  it('names columns that lost all their values', () => {
    const emptied = (memory: object, hasRows = true, changes: object = {}) =>
      compareColumns(
        { ...last, columns: last.columns.map((column) => (column.name === 'd' ? { ...column, ...memory } : column)) },
        [...'abcd'].map((name) => ({ name, label: name, ...(name === 'd' && { evidence: 'NOTHING' as const }) })),
        { schemaChanges: 'FAIL', definition: 'before', sparse: false, hasRows, ...changes },
      )
    expect(emptied({})).toBe('Columns without a value in any row, which had values in the last load: "d".')
    expect([
      emptied({ empty: true }),
      emptied({ undecided: 'NOTHING' }),
      emptied({}, false),
      emptied({}, true, { schemaChanges: 'EVOLVE', definition: 'after' }),
    ]).toEqual([undefined, undefined, undefined, undefined])
  })
})
