import type { SchemaChanges } from '@sluice/contracts'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { compareColumns } from './compare-columns.ts'
import { typeRules as clickHouse } from '@sluice/warehouses/clickhouse/column-types'
import { typeRules as postgres } from '@sluice/warehouses/postgres/column-types'
import { type SourceColumn, isRefusal, planShape } from '@sluice/warehouses/shape/plan-shape'
import { planTable } from '@sluice/warehouses/shape/plan-table'

const last = {
  definition: 'before',
  columns: ['a', 'b', 'c', 'd'].map((name) => ({ name, label: name, type: 'text', dataType: 'TEXT' as const })),
}
const policy = { schemaChanges: 'EVOLVE' as SchemaChanges, definition: 'before', transforms: false }
const compare = (
  names: string,
  schemaChanges: SchemaChanges,
  { definition = 'before', ...file }: { definition?: string; sparse?: boolean; rows?: number } = {},
) => {
  const columns = [...names].map((name) => ({ name, label: name, dataType: 'TEXT' as const }))
  const read = { columns, typesKnown: false, sparse: false, rows: 1, ...file }
  return compareColumns(postgres, last, read, { ...policy, schemaChanges, definition }).sentence
}

describe('compareColumns: sentence on column differences', () => {
  it('states what a run would do with missing and new columns under each schemaChanges policy', () => {
    const missing = 'Columns of the last load that the file does not have: "d".'
    const added = 'Columns that the last load did not have: "x".'
    expect(compare('abcd', 'FAIL')).toBe('')
    expect(compare('abc', 'EVOLVE')).toBe(`${missing} A run would keep these columns and leave them empty.`)
    expect(compare('abcdx', 'EVOLVE')).toBe(`${added} A run would add these columns to the table.`)
    expect(compare('abcdx', 'IGNORE_NEW')).toBe(
      `${added} A run would ignore these columns, because schemaChanges is IGNORE_NEW.`,
    )
    expect(compare('abc', 'FAIL')).toBe(`A run would fail, because schemaChanges is FAIL. ${missing}`)
    expect(compare('abc', 'REPLACE')).toBe(
      `A run would replace the columns of the table, because schemaChanges is REPLACE. ${missing}`,
    )
    expect(compare('axy', 'EVOLVE')).toMatch(
      /^A run would fail, because the source has only 1 of the 4 columns of the last load\. Columns of the last load that/,
    )
    expect(compare('ax', 'EVOLVE', { sparse: true })).toMatch(/^Columns of the last load/)
    expect(compare('x', 'REPLACE')).toMatch(/^A run would replace .* Columns of the last load: .* of the file: "x"\.$/)
    expect(compare('x', 'EVOLVE', { definition: 'after' })).toMatch(
      /^A run would replace the columns of the table, because the settings of the source changed\./,
    )
  })

  it('says that a run would fail if a file has no rows and half of its columns are new', () => {
    expect(compare('abxy', 'EVOLVE', { rows: 0 })).toBe(
      'A run would fail, because the source has no rows and 2 of its 4 columns are new. Check the line ends of the file. Columns of the last load that the file does not have: "c", "d". Columns that the last load did not have: "x", "y".',
    )
    expect(compare('abcd', 'EVOLVE', { rows: 0 })).toBe('')
  })

  it('names columns that had values in the last load and are empty in every row now', () => {
    const emptied = (change: object, rows = 1, changes: object = {}) =>
      compareColumns(
        postgres,
        { ...last, columns: last.columns.map((column) => (column.name === 'd' ? { ...column, ...change } : column)) },
        {
          columns: [...'abcd'].map((name) => ({
            name,
            label: name,
            dataType: 'TEXT',
            ...(name === 'd' && { evidence: 'NOTHING' as const }),
          })),
          typesKnown: true,
          sparse: false,
          rows,
        },
        { ...policy, schemaChanges: 'FAIL', ...changes },
      ).sentence
    expect(emptied({})).toBe('Columns without a value in any row, which had values in the last load: "d".')
    expect([
      emptied({ empty: true }),
      emptied({ undecided: 'NOTHING' }),
      emptied({}, 0),
      emptied({}, 1, { schemaChanges: 'EVOLVE', definition: 'after' }),
    ]).toEqual(['', '', '', ''])
  })
})

describe('compareColumns: sentence on type changes', () => {
  const before = (dataType: SourceColumn['dataType'], change: object = {}) => ({
    definition: 'before',
    columns: [{ name: 'v', label: 'V', ...postgres.storedAs({ dataType }), ...change }],
  })
  const after = (column: Omit<SourceColumn, 'name' | 'label'>, typesKnown = true) => ({
    columns: [{ name: 'v', label: 'V', ...column }],
    typesKnown,
    sparse: false,
    rows: 1,
  })

  it('names the type change, or the reason why a run would refuse it', () => {
    const toText = after({ dataType: 'TEXT' })
    const whole = (schemaChanges: SchemaChanges, file = toText) =>
      compareColumns(postgres, before('INTEGER'), file, { ...policy, schemaChanges }).sentence
    expect(whole('EVOLVE')).toBe('A run would change the type of column "V" from INTEGER to TEXT.')
    expect(whole('REPLACE')).toBe(whole('EVOLVE'))
    expect(whole('FAIL')).toBe(
      'A run would fail, because schemaChanges is FAIL and column "v" needs TEXT instead of INTEGER.',
    )
    expect(whole('EVOLVE', after({ dataType: 'TEXT', evidence: 'AMBIGUOUS' }))).toBe(
      'A run would fail, because column "V" is INTEGER in the table, and day and month of its new values are ambiguous. Write its dates as YYYY-MM-DD.',
    )
  })

  it('is empty if a run changes no type, the types are unknown, or a transformation follows', () => {
    const unchanged = [
      compareColumns(
        postgres,
        before('DECIMAL', { type: 'numeric(2,1)' }),
        after({ dataType: 'DECIMAL', precision: 8, scale: 2 }),
        policy,
      ),
      compareColumns(postgres, before('BIGINT'), after({ dataType: 'SMALLINT' }), policy),
      compareColumns(postgres, before('DOUBLE'), after({ dataType: 'INTEGER' }), policy),
      compareColumns(postgres, before('TEXT'), after({ dataType: 'INTEGER' }), policy),
      compareColumns(postgres, before('TEXT', { undecided: 'NOTHING' }), after({ dataType: 'DATE' }), policy),
      compareColumns(
        postgres,
        before('DATE', { empty: true }),
        after({ dataType: 'TEXT', evidence: 'NOTHING' }),
        policy,
      ),
      compareColumns(postgres, before('INTEGER'), after({ dataType: 'TEXT' }, false), policy),
      compareColumns(postgres, before('INTEGER'), after({ dataType: 'TEXT' }), { ...policy, transforms: true }),
    ]
    for (const one of unchanged) expect(one).toEqual({ isRefused: false, sentence: '' })
  })

  it.each([
    ['PostgreSQL', postgres],
    ['ClickHouse', clickHouse],
  ])('predicts the refusal and the type changes of the table plan in %s for any two loads', (_, rules) => {
    const kind = fc.oneof(
      fc.record({
        dataType: fc.constantFrom<SourceColumn['dataType']>('SMALLINT', 'INTEGER', 'BIGINT', 'DOUBLE', 'DATE', 'TEXT'),
      }),
      fc.record({
        dataType: fc.constant('DECIMAL' as const),
        precision: fc.integer({ min: 4, max: 20 }),
        scale: fc.constant(2),
      }),
      fc.record({
        dataType: fc.constant('TEXT' as const),
        evidence: fc.constantFrom('NOTHING' as const, 'AMBIGUOUS' as const),
      }),
      fc.record({
        dataType: fc.constantFrom('DATE' as const, 'TEXT' as const),
        evidence: fc.constant('REQUESTED' as const),
      }),
    )
    const file = fc
      .tuple(kind, kind)
      .map((kinds) => kinds.map((one, at): SourceColumn => ({ name: `c${at}`, label: `c${at}`, ...one })))
    const changes = fc.constantFrom<SchemaChanges>('EVOLVE', 'IGNORE_NEW', 'FAIL', 'REPLACE')
    fc.assert(
      fc.property(file, file, changes, (first, next, schemaChanges) => {
        const made = planShape(rules, undefined, { columns: first, rows: 1 }, {}, { final: true })
        if (isRefusal(made)) throw new Error(made.sentence)
        const previousShape = { columns: made.recordedColumns, definition: 'before' }
        const { isRefused, sentence } = compareColumns(
          rules,
          previousShape,
          { columns: next, typesKnown: true, sparse: false, rows: 1 },
          { ...policy, schemaChanges },
        )
        const load = { columns: next, rows: 1, definition: 'before' }
        const plan = planShape(rules, previousShape, load, { schemaChanges }, { final: true })
        expect(isRefused).toBe(isRefusal(plan))
        if (isRefusal(plan)) return
        const table = (columns: typeof plan.columns) =>
          columns.map(({ name, label, type, dataType }) => ({ name, label, type, dataType }))
        const { retyped } = planTable(rules, table(made.columns), table(plan.columns), plan)
        const changed = retyped
          .filter(({ name, dataType }) => previousShape.columns.find((one) => one.name === name)!.dataType !== dataType)
          .map(({ name }) => name)
          .filter((name) => !plan.decided.includes(name))
        const announced = [...sentence.matchAll(/column "(c\d)" from/g)].map(([, name]) => name)
        expect(announced).toEqual(changed)
      }),
    )
  })
})
