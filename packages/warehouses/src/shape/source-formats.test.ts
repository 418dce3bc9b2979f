import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { drawCount } from '@sluice/testing/random-case-count'
import { typeRules as clickHouse } from '../clickhouse/column-types.ts'
import { typeRules as postgres } from '../postgres/column-types.ts'
import { planLoad } from './plan-load.ts'
import { type SourceColumn, isRefusal, planShape, type TypeRules } from './plan-shape.ts'
import type { SourceShape } from './previous-source-columns.ts'

const warehouses: [string, TypeRules][] = [
  ['PostgreSQL', postgres],
  ['ClickHouse', clickHouse],
]

/** The contents of the column in a load: values of a type in one format, in several formats, or no values. */
const contents = {
  dayFirst: { dataType: 'DATE', sourceFormat: 'DD.MM.YYYY' },
  yearFirst: { dataType: 'DATE', sourceFormat: 'YYYY-MM-DD' },
  withTime: { dataType: 'TIMESTAMP', sourceFormat: 'DD.MM.YYYY HH:mm' },
  mixedDates: { dataType: 'TIMESTAMP' },
  cents: { dataType: 'DECIMAL', precision: 10, scale: 2, sourceFormat: '0,00' },
  texts: { dataType: 'TEXT' },
  requested: { dataType: 'DATE', evidence: 'REQUESTED', sourceFormat: 'DD.MM.YYYY' },
  noValues: { dataType: 'TEXT', evidence: 'NOTHING' },
} as const satisfies Record<string, Omit<SourceColumn, 'name' | 'label'>>
type Content = keyof typeof contents

interface Load {
  /** Undefined if the load does not have the column. */
  content: Content | undefined
  merging: boolean
  rebuild: boolean
}

const load: fc.Arbitrary<Load> = fc.record({
  content: fc.constantFrom<Content | undefined>(undefined, ...(Object.keys(contents) as Content[])),
  merging: fc.boolean(),
  rebuild: fc.constantFrom(false, false, false, true),
})

/** Loads one column next to two others, and returns the recorded shape of the table. */
function loadColumn(rules: TypeRules, last: SourceShape | undefined, { content, merging, rebuild }: Load): SourceShape {
  const named = (name: string, kind: Omit<SourceColumn, 'name' | 'label'>): SourceColumn => ({
    name,
    label: name,
    ...kind,
  })
  const columns = [named('id', { dataType: 'INTEGER' }), named('name', { dataType: 'TEXT' })]
  if (content) columns.push(named('value', contents[content]))
  const load = { columns, rows: 3, merging: merging && !rebuild, hasAllColumns: true }
  const plan = planShape(rules, last, load, { rebuild }, { final: true })
  if (isRefusal(plan)) throw new Error(plan.sentence)
  return { columns: plan.recordedColumns }
}

const textual = (rules: TypeRules) => rules.storedAs({ dataType: 'TEXT' }).dataType

describe.each(warehouses)('the source format of a column of a table of %s', (_, rules) => {
  it('is the format of all values of the table, after every random sequence of loads', () => {
    const claims = { some: 0, none: 0 }
    fc.assert(
      fc.property(fc.array(load, { minLength: 1, maxLength: 6 }), (loads) => {
        let previousShape: SourceShape | undefined
        let formats = new Set<string>()
        for (const one of loads) {
          previousShape = loadColumn(rules, previousShape, one)
          if (!one.merging || one.rebuild) formats = new Set()
          if (one.content && one.content !== 'noValues')
            formats.add((contents[one.content] as SourceColumn).sourceFormat ?? 'several')
          const column = previousShape.columns.find(({ name }) => name === 'value')
          const [format, ...others] = formats
          const hasFormat = format !== undefined && others.length === 0 && format !== 'several'
          const keepsTexts = column?.dataType === textual(rules)
          expect(column?.sourceFormat).toBe(hasFormat && !keepsTexts ? format : undefined)
          claims[column?.sourceFormat === undefined ? 'none' : 'some']++
        }
      }),
      { numRuns: drawCount({ short: 1_000, long: 20_000 }) },
    )
    expect(claims.some).toBeGreaterThan(100)
    expect(claims.none).toBeGreaterThan(100)
  })

  const formsAfter = (...loads: [Content | undefined, boolean?][]) => {
    let previousShape: SourceShape | undefined
    return loads.map(([content, merging = false]) => {
      previousShape = loadColumn(rules, previousShape, { content, merging, rebuild: false })
      return previousShape.columns.find(({ name }) => name === 'value')?.sourceFormat
    })
  }

  it('is forgotten by an added load with another format, until a load replaces the table', () => {
    const [one, other] = ['DD.MM.YYYY', 'YYYY-MM-DD']
    expect(
      formsAfter(['dayFirst'], ['dayFirst', true], ['yearFirst', true], ['yearFirst', true], ['yearFirst']),
    ).toEqual([one, one, undefined, undefined, other])
  })

  it('stays in the rows of a column that an added load lacks, and is gone if the load replaces the table', () => {
    expect(formsAfter(['cents'], [undefined, true], ['cents', true], [undefined], ['cents', true])).toEqual([
      '0,00',
      '0,00',
      '0,00',
      undefined,
      '0,00',
    ])
  })

  it('is forgotten by an added load whose rows SQL statements changed, even if the source has no values', () => {
    const previousShape = loadColumn(rules, undefined, { content: 'cents', merging: false, rebuild: false })
    const columns = previousShape.columns.map(({ name, label, dataType }) => ({ name, label, dataType }))
    const target = { schema: 's', table: 't', columns, run: 'r', attempt: 1, shape: { hasAllColumns: true } }
    const columnFacts = columns.map(({ name }) => ({ column: name, evidence: 'NOTHING' as const }))
    const formAfter = (transformed: boolean) =>
      planLoad(rules, previousShape, {
        target,
        columnFacts,
        sourceRows: 3,
        transformed,
        merging: true,
      }).recordedColumns.find(({ name }) => name === 'value')?.sourceFormat
    expect([false, true].map(formAfter)).toEqual(['0,00', undefined])
  })
})
