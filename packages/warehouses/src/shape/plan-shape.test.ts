import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { rebuildAdvice, toUniqueIdentifiers } from '@sluice/row-stream'
import { typeRules as clickHouse } from '../clickhouse/column-types.ts'
import { typeRules as sqlRules } from '../sql-warehouse/staging/staging-columns.ts'
import { sqlType as postgresType, typeRules as postgres } from '../postgres/column-types.ts'
import { redshiftTypes as redshift } from '../redshift/column-types.ts'
import { tsqlTypes as sqlServer } from '../tsql/column-types.ts'
import { type DataType, type Step, step, tell, type Told } from '../../test/table-shape-model.ts'
import type { SourceShape, StoredAs } from './previous-source-columns.ts'
import { isRefusal, type NewLoad, planShape, type TypeRules } from './plan-shape.ts'
import { planTable, type TableColumn } from './plan-table.ts'

const warehouses: [string, TypeRules][] = [
  ['PostgreSQL', postgres],
  ['ClickHouse', clickHouse],
  ['Redshift', sqlRules(redshift)],
  ['SQL Server', sqlRules(sqlServer)],
]

/** The same by the code that warehouses use: a table, and what it keeps for the next load. */
function load(rules: TypeRules, before: { table: TableColumn[]; previousShape: SourceShape } | undefined, step: Step) {
  const columns = step.load.map((kind) => ({ ...kind, label: kind.name }))
  const { sparse, definition, policy, rebuild } = step
  const given: NewLoad = { columns, sparse, definition }
  const plan = planShape(rules, before?.previousShape, given, { schemaChanges: policy, rebuild }, { final: true })
  if (isRefusal(plan)) return undefined
  const staged = plan.columns
    .filter(({ ignored }) => !ignored)
    .map(({ name, label, type, dataType }): TableColumn => ({ name, label, type, dataType }))
  const planned = planTable(rules, before?.table, staged, plan)
  return {
    table: planned.columns,
    previousShape: { columns: planned.recordedColumns, definition },
    changes: planned.changes,
    plan,
  }
}

describe.each(warehouses)('the planned shape of a table of %s', (_, rules) => {
  const stored = (dataType: DataType): StoredAs => rules.storedAs({ dataType })

  it('matches the model after every random sequence of loads', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 8 }), (steps) => {
        let told: Told | undefined
        let found: ReturnType<typeof load>
        for (const one of steps) {
          const [nowTold, nowFound] = [tell(told, one), load(rules, found, one)]
          expect(nowFound === undefined).toBe(nowTold === undefined)
          told = nowTold ?? told
          found = nowFound ?? found
          if (!told || !found) continue
          const wanted = Object.entries(told.columns).map(([name, { type, isSupplied }]) => [
            name,
            stored(type === '?' || type === '~' ? 'TEXT' : type).type,
            isSupplied,
          ])
          const vanished = new Set(found.previousShape.columns.filter((each) => each.vanished).map(({ name }) => name))
          const table = found.table.map(({ name, type }) => [name, type, !vanished.has(name)])
          expect(table.toSorted()).toEqual(wanted.toSorted())
        }
      }),
      { numRuns: 1_500 },
    )
  })

  it('warns of a vanished column once until the column is present again', () => {
    const feedOf = (...names: string[]): Step => ({
      load: names.map((name) => ({ name, dataType: 'SMALLINT' })),
      policy: 'EVOLVE',
      rebuild: false,
      sparse: false,
      definition: 'one',
    })
    const warned: number[] = []
    let found: ReturnType<typeof load>
    for (const step of [
      ['a', 'b', 'c'],
      ['a', 'b'],
      ['a', 'b'],
      ['a', 'b', 'c'],
      ['a', 'b'],
    ].map((names) => feedOf(...names))) {
      found = load(rules, found, step)
      warned.push(found!.changes.filter(({ warning }) => warning).length)
    }
    expect(warned).toEqual([0, 1, 0, 0, 1])
  })

  it('reports a column that lost all values once until it has values again', () => {
    interface LoadOfColumn {
      value: boolean
      rows?: number
      merging?: boolean
      hasAllColumns?: boolean
      definition?: string
    }
    const named = (loads: LoadOfColumn[]) => {
      let previousShape: SourceShape | undefined
      return loads.map(({ value, rows = 3, merging = false, hasAllColumns = false, definition = 'one' }) => {
        const columns = [
          { name: 'id', label: 'id', dataType: 'SMALLINT' as const },
          { name: 'v', label: 'v', ...(value ? { dataType: 'DATE' as const } : nothing) },
        ]
        const load = { columns, rows, merging, hasAllColumns, definition }
        const plan = planShape(rules, previousShape, load, {}, { final: true })
        if (isRefusal(plan)) throw new Error(plan.sentence)
        previousShape = { columns: plan.recordedColumns, definition }
        return plan.changes
          .filter(({ kind }) => kind === 'COLUMN_EMPTIED')
          .map(({ column, rows }) => `${column} ${rows}`)
      })
    }
    const nothing = { dataType: 'TEXT' as const, evidence: 'NOTHING' as const }
    const full = { value: true }
    const empty = { value: false }
    expect(named([empty, empty, full, empty, empty, full, empty])).toEqual([[], [], [], ['v 3'], [], [], ['v 3']])
    expect(named([full, { ...empty, rows: 0 }, empty])).toEqual([[], [], []])
    const increment = { ...empty, merging: true }
    expect(named([full, increment, empty])).toEqual([[], [], ['v 3']])
    const emptyFile = { ...increment, hasAllColumns: true }
    const fullFile = { ...emptyFile, value: true }
    expect(named([fullFile, emptyFile, emptyFile, fullFile, emptyFile, { ...emptyFile, rows: 0 }, emptyFile])).toEqual([
      [],
      ['v 3'],
      [],
      [],
      ['v 3'],
      [],
      [],
    ])
    // The rows that stayed had values, which a load that replaces them removes.
    expect(named([fullFile, emptyFile, empty, empty])).toEqual([[], ['v 3'], ['v 3'], []])
    expect(named([full, { ...empty, definition: 'two' }, { ...empty, definition: 'two' }])).toEqual([[], [], []])
  })
})

describe('planShape', () => {
  it('rejects a load without a known column, and lists the old and the new columns', () => {
    const previousShape: SourceShape = {
      columns: ['id', 'name', 'amount'].map((name) => ({
        name,
        label: name,
        ...postgres.storedAs({ dataType: 'TEXT' }),
      })),
    }
    const columns = ['x', 'y'].map((name) => ({ name, label: name, dataType: 'TEXT' as const }))
    expect(planShape(postgres, previousShape, { columns }, {})).toEqual({
      code: 'SCHEMA_MISMATCH',
      reason: 'the source has no column of the last load',
      sentence:
        'The source has no column of the last load, so nothing was loaded; the old data stays. Columns of the last load: "id", "name", "amount". Columns of the source now: "x", "y".',
      advice: rebuildAdvice('To take the new columns'),
    })
  })

  describe('for a file without rows', () => {
    /** Names and values have no letter in common. */
    const words = (letters: string, minLength: number, maxLength: number) =>
      fc.uniqueArray(fc.string({ unit: fc.constantFrom(...letters), minLength: 1, maxLength: 6 }), {
        minLength,
        maxLength,
      })
    const tables = words('abcdef', 2, 20).chain((header) =>
      fc.record({
        header: fc.constant(header),
        rows: fc.array(words('uvwxyz', header.length, header.length), { minLength: 1, maxLength: 4 }),
      }),
    )
    const shapeOf = (labels: readonly string[]): SourceShape => ({
      columns: toUniqueIdentifiers(labels).map((name, index) => ({
        name,
        label: labels[index]!,
        ...postgres.storedAs({ dataType: 'TEXT' }),
      })),
    })
    const feedOf = (labels: readonly string[], more: Partial<NewLoad> = {}): NewLoad => ({
      columns: toUniqueIdentifiers(labels).map((name, index) => ({
        name,
        label: labels[index]!,
        dataType: 'TEXT',
        evidence: 'NOTHING',
      })),
      rows: 0,
      ...more,
    })

    it('rejects every file that has lost its line ends', () => {
      fc.assert(
        fc.property(tables, fc.constantFrom('', ' ', ','), ({ header, rows }, between) => {
          const labels = [header, ...rows]
            .map((row) => row.join(','))
            .join(between)
            .split(',')
          expect(planShape(postgres, shapeOf(header), feedOf(labels), {})).toMatchObject({ code: 'SCHEMA_MISMATCH' })
        }),
        { numRuns: 300 },
      )
    })

    it('accepts a header with all known columns and fewer new columns', () => {
      fc.assert(
        fc.property(tables, ({ header, rows }) => {
          const added = rows[0]!.slice(0, Math.ceil(header.length / 2) - 1)
          expect(planShape(postgres, shapeOf(header), feedOf([...header, ...added]), {})).toHaveProperty(
            'recordedColumns',
          )
        }),
        { numRuns: 100 },
      )
    })

    it('rejects a new column whose name looks like a value, and names it', () => {
      const plan = (label: string, more?: Partial<NewLoad>) =>
        planShape(postgres, shapeOf(['id', 'name', '2025']), feedOf(['id', 'name', '2025', label], more), {})
      for (const value of ['7', '-1.5', '2026-01-31', '31/01/2026 10:00'])
        expect(plan(value)).toMatchObject({
          code: 'SCHEMA_MISMATCH',
          sentence: expect.stringContaining(
            `The source has no rows and the name of its new column "${value}" looks like a value`,
          ),
        })
      expect(plan('q1')).toHaveProperty('recordedColumns')
      expect(plan('2026', { rows: 1 })).toHaveProperty('recordedColumns')
    })

    it('accepts new columns of an empty database table, and of records', () => {
      const labels = ['id', 'name', 'x', 'y', 'z']
      const columns = labels.map((name) => ({ name, label: name, dataType: 'TEXT' as const }))
      expect(planShape(postgres, shapeOf(['id', 'name']), { columns, rows: 0 }, {})).toHaveProperty('recordedColumns')
      expect(planShape(postgres, shapeOf(['id', 'name']), feedOf(labels, { sparse: true }), {})).toHaveProperty(
        'recordedColumns',
      )
    })
  })

  it.each([
    [
      'settings that keep a type if FAIL rejects another type',
      { name: 'a', dataType: 'TEXT' as const },
      'To keep a type, set dataType of the column in csvOptions.columns (files), or cast the column in the query (databases). To take the new columns and types, run once with "rebuild": true, which replaces all rows of the table (POST /data-pipelines/{uid}/run).',
    ],
    [
      'a rebuild if FAIL rejects only other columns',
      { name: 'b', dataType: 'INTEGER' as const },
      rebuildAdvice('To take the new columns').pipeline,
    ],
  ])('advises %s', (_what, column, advice) => {
    const previousShape: SourceShape = {
      columns: [{ name: 'a', label: 'a', ...postgres.storedAs({ dataType: 'INTEGER' }) }],
    }
    const columns = [{ ...column, label: column.name }]
    expect(planShape(postgres, previousShape, { columns }, { schemaChanges: 'FAIL' })).toMatchObject({
      code: 'SCHEMA_MISMATCH',
      advice: { pipeline: advice },
    })
  })

  it('lets planTable use the columns of the transformation and drop columns that it does not return', () => {
    const text = postgres.storedAs({ dataType: 'TEXT' })
    const columnOf = (name: string, type = text) => ({ name, label: name, ...type })
    const integer = { type: postgresType({ dataType: 'INTEGER' }), dataType: 'INTEGER' as const }
    const previousShape: SourceShape = { columns: [columnOf('a'), columnOf('b')] }
    const given = { columns: ['a', 'b'].map((name) => ({ name, label: name, dataType: 'TEXT' as const })) }
    const plan = planShape(postgres, previousShape, given, {})
    if (isRefusal(plan)) throw new Error(plan.sentence)
    // It renamed "b", made "a" an integer, and once had made "old".
    const table = planTable(
      postgres,
      [columnOf('a'), columnOf('b'), columnOf('old')],
      [columnOf('a', integer), columnOf('z')],
      plan,
    )
    expect(table.columns.map(({ name, type }) => `${name} ${type}`)).toEqual(['a integer', 'z text'])
    expect(table.dropped).toEqual(['b', 'old'])
  })
})
