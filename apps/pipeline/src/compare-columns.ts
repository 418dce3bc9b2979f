import type { SchemaChanges } from '@sluice/contracts'
import { type Evidence, type FeedMemory, hadValues } from './engine/warehouses/shape/feed-memory.ts'
import { isRefusal, planShape, type TypeRules } from './engine/warehouses/shape/plan-shape.ts'

const mostNamed = 20

interface Policy {
  schemaChanges: SchemaChanges
  /** Of the settings as they are now. */
  definition: string
  /** The source leaves out columns that no record has a value for. */
  sparse: boolean
  hasRows: boolean
}

/** The types of a whole file are not known from its beginning, so the plan is made for the names alone. */
const namesOnly: TypeRules = {
  storedAs: ({ dataType }) => ({ type: dataType, dataType }),
  widest: (one) => one,
}

interface FileColumn {
  name: string
  label: string
  /** NOTHING: no row has a value in it. */
  evidence?: Evidence
}

/**
 * Says which columns differ from those of the last load or lost all their values, and what a run does about it. Undefined if none did. A
 * run can also refuse the types of the values.
 */
export function compareColumns(
  last: FeedMemory,
  now: readonly FileColumn[],
  { schemaChanges, definition, sparse, hasRows }: Policy,
): string | undefined {
  const columns = now.map(({ name, label }) => ({
    name,
    label,
    dataType: 'TEXT' as const,
    evidence: 'NOTHING' as const,
  }))
  const plan = planShape(namesOnly, last, { columns, sparse, definition }, { schemaChanges })
  const before = last.columns.filter(({ vanished }) => !vanished)
  const names = new Set(now.map(({ name }) => name))
  // Only FAIL refuses a column that an earlier load had.
  const known = new Set((isRefusal(plan) ? before : last.columns).map(({ name }) => name))
  const missing = before.filter(({ name }) => !names.has(name))
  const added = now.filter(({ name }) => !known.has(name))
  const empty = hasRows && !isRefusal(plan) && plan.fresh !== 'DEFINITION' ? emptyColumns(before, now) : []
  const isOther = missing.length === before.length && before.length > 0
  const isDifferent = missing.length > 0 || added.length > 0
  const sentence = [
    ...(isDifferent ? [outcomeOf(plan, schemaChanges)] : []),
    ...(isOther
      ? [`The file has no column of the last load: ${named(before)}. It has ${named(now)}.`]
      : [
          ...(missing.length > 0 ? [`Columns of the last load that the file does not have: ${named(missing)}.`] : []),
          ...(added.length > 0 ? [`Columns that the last load did not have: ${named(added)}.`] : []),
        ]),
    ...(empty.length > 0
      ? [`Columns without a value in any row, which had values in the last load: ${named(empty)}.`]
      : []),
  ]
    .filter(Boolean)
    .join(' ')
  return sentence || undefined
}

/** The columns that have no value in the file and had some in the last load. */
function emptyColumns(before: FeedMemory['columns'], now: readonly FileColumn[]): readonly FileColumn[] {
  const withValues = new Set(before.filter(hadValues).map(({ name }) => name))
  return now.filter(({ name, evidence }) => evidence === 'NOTHING' && withValues.has(name))
}

function outcomeOf(plan: ReturnType<typeof planShape>, schemaChanges: SchemaChanges): string {
  if (isRefusal(plan))
    return schemaChanges === 'FAIL'
      ? 'A run would fail, because schemaChanges is FAIL.'
      : 'A run would fail, because the file has too few columns of the last load.'
  if (plan.fresh === 'POLICY') return 'A run would replace the columns of the table, because schemaChanges is REPLACE.'
  if (plan.fresh === 'DEFINITION')
    return 'A run would replace the columns of the table, because the settings of the source changed.'
  return ''
}

function named(columns: readonly { label: string }[]): string {
  const shown = columns.slice(0, mostNamed).map(({ label }) => `"${label.slice(0, 100)}"`)
  return columns.length > mostNamed ? `${shown.join(', ')} and ${columns.length - mostNamed} more` : shown.join(', ')
}
