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
  previous: SourceShape,
  file: FileColumns,
  { schemaChanges, keepsRows = false, definition, transforms }: ComparisonPolicy,
): ColumnComparison {
  const { columns: fileColumns, typesKnown, sparse, rows } = file
  const comparedColumns = typesKnown ? fileColumns : fileColumns.map(withoutType)
  const plannedLoad = {
    columns: comparedColumns,
    sparse,
    definition,
    ...(keepsRows && { merging: true, hasAllColumns: true }),
    ...(rows !== undefined && { rows }),
  }
  const plan = planShape(rules, previous, plannedLoad, { schemaChanges }, { final: true })
  // `previous.columns` also has columns that were missing from the last load.
  const lastColumns = previous.columns.filter(({ vanished }) => !vanished)
  if (isRefusal(plan)) {
    const differences = describeDifferences(lastColumns, lastColumns, fileColumns)
    return { isRefused: true, sentence: joinSentences(describeRefusal(plan), differences) }
  }
  const differences = describeDifferences(lastColumns, previous.columns, fileColumns, { plan, keepsRows })
  const typeChanges = transforms ? '' : describeTypeChanges(previous.columns, plan)
  const hasRows = rows !== undefined && rows > 0
  // If the settings of the source changed, a column of the same name may have another meaning.
  const hasSameSettings = plan.rebuildReason !== 'DEFINITION'
  const emptyColumns = hasRows && hasSameSettings ? describeEmptyColumns(lastColumns, fileColumns, keepsRows) : ''
  return { isRefused: false, sentence: joinSentences(differences, typeChanges, emptyColumns) }
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
 * Returns sentences that name the missing and the new columns of the file. Missing are columns of the last load
 * (`lastColumns`); new are columns that no earlier load had (`knownColumns`). With a plan, also says what a run would
 * do with them.
 */
function describeDifferences(
  lastColumns: readonly PreviousSourceColumn[],
  knownColumns: readonly PreviousSourceColumn[],
  fileColumns: readonly SourceColumn[],
  { plan, keepsRows = false }: { plan?: ShapePlan; keepsRows?: boolean } = {},
): string {
  const fileNames = new Set(fileColumns.map(({ name }) => name))
  const knownNames = new Set(knownColumns.map(({ name }) => name))
  const missing = lastColumns.filter(({ name }) => !fileNames.has(name))
  const added = fileColumns.filter(({ name }) => !knownNames.has(name))
  if (missing.length === 0 && added.length === 0) return ''
  const rebuild = plan ? describeRebuild(plan) : ''
  const hasNoCommonColumn = lastColumns.length > 0 && missing.length === lastColumns.length
  if (hasNoCommonColumn)
    return joinSentences(
      rebuild,
      `Columns of the last load: ${quoteLabels(lastColumns)}.`,
      `Columns of the file: ${quoteLabels(fileColumns)}.`,
    )
  const sentences = [rebuild]
  // A plan without a rebuild changes the existing columns of the table one by one.
  const changesSingleColumns = plan !== undefined && rebuild === ''
  if (missing.length > 0) {
    sentences.push(`Columns of the last load that the file does not have: ${quoteLabels(missing)}.`)
    if (changesSingleColumns)
      sentences.push(`A run would keep these columns and leave them empty${keepsRows ? ' in its rows' : ''}.`)
  }
  if (added.length > 0) {
    sentences.push(`Columns that the last load did not have: ${quoteLabels(added)}.`)
    if (changesSingleColumns) sentences.push(describeAddition(plan))
  }
  return joinSentences(...sentences)
}

/** Says why a run would replace all columns of the table. Returns an empty text if it would not. */
function describeRebuild({ rebuildReason }: ShapePlan): string {
  if (rebuildReason === undefined) return ''
  const reason = rebuildReason === 'POLICY' ? 'schemaChanges is REPLACE' : 'the settings of the source changed'
  return `A run would replace the columns of the table, because ${reason}.`
}

const describeAddition = (plan: ShapePlan): string =>
  plan.columns.some(({ ignored }) => ignored)
    ? 'A run would ignore these columns, because schemaChanges is IGNORE_NEW.'
    : 'A run would add these columns to the table.'

/**
 * Names the columns that would get another type. Omits columns that had no type yet, and changes of precision, because
 * the decimals of almost every file have more digits than before.
 */
function describeTypeChanges(knownColumns: readonly PreviousSourceColumn[], plan: ShapePlan): string {
  const typedColumns = knownColumns.filter(({ undecided }) => !undecided)
  const previousTypes = new Map(typedColumns.map(({ name, dataType }) => [name, dataType]))
  const changes: string[] = []
  for (const { name, label, dataType } of plan.columns) {
    const previousType = previousTypes.get(name)
    if (previousType !== undefined && previousType !== dataType)
      changes.push(`column ${quoteLabels([{ label }])} from ${previousType} to ${dataType}`)
  }
  if (changes.length === 0) return ''
  const moreText = changes.length > maxNamedColumns ? ` and ${changes.length - maxNamedColumns} more` : ''
  return `A run would change the type of ${changes.slice(0, maxNamedColumns).join(', ')}${moreText}.`
}

/** Names the columns that are empty in the file and had values in the last load. */
function describeEmptyColumns(
  lastColumns: readonly PreviousSourceColumn[],
  fileColumns: readonly SourceColumn[],
  keepsRows: boolean,
): string {
  const columnsWithValues = lastColumns.filter((column) => hadValues(column, { keepsRows }))
  const namesWithValues = new Set(columnsWithValues.map(({ name }) => name))
  const empty = fileColumns.filter(({ name, evidence }) => evidence === 'NOTHING' && namesWithValues.has(name))
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
