import type { SchemaChanges } from '@sluice/contracts'
import {
  type SourceShape,
  hadValues,
  type PreviousSourceColumn,
} from '@sluice/warehouses/shape/previous-source-columns'
import {
  type SourceColumn,
  isRefusal,
  planShape,
  type ShapeRefusal,
  type ShapePlan,
  type TypeRules,
} from '@sluice/warehouses/shape/plan-shape'

const maxNamedColumns = 20

interface FileColumns {
  columns: readonly SourceColumn[]
  /** Whether all rows were read, so that the inferred column types are final. */
  typesKnown: boolean
  /** Whether the source omits columns in which no record has a value. */
  sparse: boolean
  /** The number of rows that were read. Undefined if no rows were read although the file may have some. */
  rows?: number
}

interface ComparisonPolicy {
  schemaChanges: SchemaChanges
  /** Whether the table keeps the rows of earlier loads. */
  keepsRows?: boolean
  /** A digest of the current source settings, from `sourceDefinitionDigest`. */
  definition: string
  /** Whether the pipeline has a transformation. It can change types between the file and the table. */
  transforms: boolean
}

export interface ColumnComparison {
  isRefused: boolean
  /** Sentences about the differences. Empty if a run would change no column and no type. */
  sentence: string
}

/**
 * Compares the columns of a file with those of the last load. Names the columns that are new, missing or empty, or have
 * another type, and says what a run would do about them. Compares types only if all rows were read.
 */
export function compareColumns(
  rules: TypeRules,
  last: SourceShape,
  file: FileColumns,
  { schemaChanges, keepsRows = false, definition, transforms }: ComparisonPolicy,
): ColumnComparison {
  const { columns: now, typesKnown, sparse, rows } = file
  const columns = typesKnown ? now : now.map(withoutType)
  const staying = keepsRows && { merging: true, hasAllColumns: true }
  const load = { columns, sparse, definition, ...staying, ...(rows !== undefined && { rows }) }
  const plan = planShape(rules, last, load, { schemaChanges }, { final: true })
  const before = last.columns.filter(({ vanished }) => !vanished)
  if (isRefusal(plan))
    return { isRefused: true, sentence: joinSentences(describeRefusal(plan), describeDifferences(before, before, now)) }
  return {
    isRefused: false,
    sentence: joinSentences(
      describeDifferences(before, last.columns, now, { plan, keepsRows }),
      transforms ? '' : describeTypeChanges(last.columns, plan),
      rows && plan.rebuildReason !== 'DEFINITION' ? describeEmptyColumns(before, now, keepsRows) : '',
    ),
  }
}

/**
 * Replaces the type of a column by an unknown one. A type that was inferred from only a part of a file must not change
 * the table.
 */
const withoutType = ({ name, label }: SourceColumn): SourceColumn => ({
  name,
  label,
  dataType: 'TEXT',
  evidence: 'NOTHING',
})

const joinSentences = (...sentences: string[]): string => sentences.filter(Boolean).join(' ')

const describeRefusal = ({ reason, correction = '' }: ShapeRefusal): string =>
  joinSentences(`A run would fail, because ${reason}.`, correction)

/**
 * Returns sentences that name the missing and the new columns. With a plan, also says what a run would do with them.
 */
function describeDifferences(
  before: readonly PreviousSourceColumn[],
  rememberedColumns: readonly PreviousSourceColumn[],
  now: readonly SourceColumn[],
  { plan, keepsRows = false }: { plan?: ShapePlan; keepsRows?: boolean } = {},
): string {
  const [knownNames, names] = [rememberedColumns, now].map((columns) => new Set(columns.map(({ name }) => name)))
  const missing = before.filter(({ name }) => !names!.has(name))
  const added = now.filter(({ name }) => !knownNames!.has(name))
  if (missing.length === 0 && added.length === 0) return ''
  const isReplaced = plan?.rebuildReason !== undefined
  const replaced = isReplaced
    ? `A run would replace the columns of the table, because ${plan.rebuildReason === 'POLICY' ? 'schemaChanges is REPLACE' : 'the settings of the source changed'}.`
    : ''
  if (missing.length === before.length && before.length > 0)
    return joinSentences(
      replaced,
      `Columns of the last load: ${quoteLabels(before)}.`,
      `Columns of the file: ${quoteLabels(now)}.`,
    )
  const isPlanned = plan !== undefined && !isReplaced
  const isIgnored = plan?.columns.some(({ ignored }) => ignored)
  return joinSentences(
    replaced,
    missing.length > 0 ? `Columns of the last load that the file does not have: ${quoteLabels(missing)}.` : '',
    missing.length > 0 && isPlanned
      ? `A run would keep these columns and leave them empty${keepsRows ? ' in its rows' : ''}.`
      : '',
    added.length > 0 ? `Columns that the last load did not have: ${quoteLabels(added)}.` : '',
    added.length > 0 && isPlanned
      ? isIgnored
        ? 'A run would ignore these columns, because schemaChanges is IGNORE_NEW.'
        : 'A run would add these columns to the table.'
      : '',
  )
}

/**
 * Names the columns that would get another type. Omits columns that had no type yet, and changes of precision, because
 * the decimals of almost every file have more digits than before.
 */
function describeTypeChanges(rememberedColumns: readonly PreviousSourceColumn[], plan: ShapePlan): string {
  const decided = new Map(
    rememberedColumns.filter(({ undecided }) => !undecided).map((column) => [column.name, column]),
  )
  const changes = plan.columns.flatMap(({ name, label, dataType }) => {
    const from = decided.get(name)?.dataType
    return from === undefined || from === dataType
      ? []
      : [`column ${quoteLabels([{ label }])} from ${from} to ${dataType}`]
  })
  const moreText = changes.length > maxNamedColumns ? ` and ${changes.length - maxNamedColumns} more` : ''
  return changes.length > 0
    ? `A run would change the type of ${changes.slice(0, maxNamedColumns).join(', ')}${moreText}.`
    : ''
}

/** Names the columns that are empty in the file and had values in the last load. */
function describeEmptyColumns(
  before: readonly PreviousSourceColumn[],
  now: readonly SourceColumn[],
  keepsRows: boolean,
): string {
  const withValues = new Set(before.filter((column) => hadValues(column, { keepsRows })).map(({ name }) => name))
  const empty = now.filter(({ name, evidence }) => evidence === 'NOTHING' && withValues.has(name))
  return empty.length > 0
    ? `Columns without a value in any row, which had values in the last load: ${quoteLabels(empty)}.`
    : ''
}

function quoteLabels(columns: readonly { label: string }[]): string {
  const shownLabels = columns.slice(0, maxNamedColumns).map(({ label }) => `"${label.slice(0, 100)}"`)
  return columns.length > maxNamedColumns
    ? `${shownLabels.join(', ')} and ${columns.length - maxNamedColumns} more`
    : shownLabels.join(', ')
}
