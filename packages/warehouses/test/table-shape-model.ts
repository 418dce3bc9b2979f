import { schemaChanges, type SchemaChanges } from '@sluice/contracts'
import fc from 'fast-check'
import type { TypeEvidence } from '@sluice/row-stream'

export type DataType = 'SMALLINT' | 'BIGINT' | 'DATE' | 'TEXT'

export interface SuppliedColumn {
  name: string
  dataType: DataType
  evidence?: TypeEvidence
}

export interface Step {
  load: SuppliedColumn[]
  policy: SchemaChanges
  rebuild: boolean
  sparse: boolean
  definition: string
}

const column = (name: string) =>
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        name: fc.constant(name),
        dataType: fc.constantFrom('SMALLINT', 'BIGINT', 'DATE', 'TEXT'),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.constantFrom<SuppliedColumn>(
        { name, dataType: 'TEXT', evidence: 'NOTHING' },
        { name, dataType: 'TEXT', evidence: 'AMBIGUOUS' },
        { name, dataType: 'DATE', evidence: 'REQUESTED' },
        { name, dataType: 'SMALLINT', evidence: 'REQUESTED' },
      ),
    },
  ) as fc.Arbitrary<SuppliedColumn>

const load = fc
  .tuple(...['a', 'b', 'c', 'd', 'e'].map((name) => fc.option(column(name), { nil: undefined, freq: 3 })))
  .map((columns) => columns.filter((one) => one !== undefined))
  .filter((columns) => columns.length > 0)

export const step: fc.Arbitrary<Step> = fc.record({
  load,
  policy: fc.oneof({ weight: 3, arbitrary: fc.constant('EVOLVE' as const) }, fc.constantFrom(...schemaChanges)),
  rebuild: fc.oneof({ weight: 6, arbitrary: fc.constant(false) }, fc.constant(true)),
  sparse: fc.boolean(),
  definition: fc.oneof({ weight: 4, arbitrary: fc.constant('one') }, fc.constant('two')),
})

/** A table as the rules of the product tell it, column by column, without any type of a server. */
export interface Told {
  /** `?` is text that no load has decided, `~` the same of days that could be months. */
  columns: Record<string, { type: DataType | '?' | '~'; isSupplied: boolean }>
  definition: string
}

/** BIGINT holds SMALLINT, and only text holds two kinds of values. */
const holdsBoth = (one: DataType, other: DataType): DataType =>
  one === other ? one : [one, other].every((type) => type.endsWith('INT')) ? 'BIGINT' : 'TEXT'

/** Returns the shape of the table after one more load; undefined if the load is refused. */
export function tell(before: Told | undefined, { load, policy, rebuild, sparse, definition }: Step): Told | undefined {
  const isUndecided = (type: string): type is '?' | '~' => type === '?' || type === '~'
  const fresh = (kind: SuppliedColumn): DataType | '?' | '~' =>
    kind.evidence === 'NOTHING' ? '?' : kind.evidence === 'AMBIGUOUS' ? '~' : kind.dataType
  if (!before || rebuild)
    return {
      definition,
      columns: Object.fromEntries(load.map((kind) => [kind.name, { type: fresh(kind), isSupplied: true }])),
    }

  const last = Object.keys(before.columns).filter((name) => before.columns[name]!.isSupplied)
  const replaces = policy === 'REPLACE' || before.definition !== definition
  const columns: Told['columns'] = {}
  for (const kind of load) {
    const was = before.columns[kind.name]?.type
    if (was === undefined) {
      if (policy === 'IGNORE_NEW' && !replaces) continue
      columns[kind.name] = { type: fresh(kind), isSupplied: true }
    } else if (kind.evidence === 'NOTHING') columns[kind.name] = { type: was, isSupplied: true }
    else if (kind.evidence === 'AMBIGUOUS') {
      if (!isUndecided(was) && was !== 'TEXT') return undefined
      columns[kind.name] = { type: isUndecided(was) ? '~' : was, isSupplied: true }
    } else if (kind.evidence === 'REQUESTED' || isUndecided(was) || replaces)
      columns[kind.name] = { type: kind.dataType, isSupplied: true }
    else columns[kind.name] = { type: holdsBoth(was, kind.dataType), isSupplied: true }
  }
  if (policy === 'FAIL' && last.length > 0) {
    const names = load.map(({ name }) => name)
    const isSame = names.length === last.length && names.every((name) => last.includes(name))
    const keepsTypes = last.every((name) => {
      const was = before.columns[name]!.type
      return isUndecided(was) || columns[name]?.type === was
    })
    if (!isSame || !keepsTypes) return undefined
  }
  if (!replaces && last.length > 0) {
    const common = load.filter(({ name }) => last.includes(name)).length
    if (common === 0) return undefined
    if (!sparse && ((load.length === 1 && last.length > 1) || common < last.length / 2)) return undefined
  }
  if (!replaces)
    for (const [name, { type }] of Object.entries(before.columns)) columns[name] ??= { type, isSupplied: false }
  return { definition, columns }
}
