import type { RunFile, WriteMode } from '@sluice/contracts'
import { type ReaderAdvice, withAdvice, rebuildAdvice, formatCount } from '@sluice/row-stream'
import type { Claim } from '../runs/claim-run.ts'
import type { LoadedTable } from '@sluice/warehouses/load-row-streams'
import { dataTablesOf, isUnchanged, type MergedRows, noMergedRows } from '@sluice/warehouses/load-target'
import { type PlannedTable, type TableChange, WarehouseProblem } from '@sluice/warehouses/warehouse'
import type { KeyRows } from '@sluice/connectors/connector'
import { DuplicateKeyProblem } from '@sluice/warehouses/duplicate-key'

const formatRows = (rows: number) => formatCount(rows, 'row')

/** Returns how many rows the merges of all tables changed, or undefined if a table was not merged. */
function sumMergedRows(tables: readonly LoadedTable[]): MergedRows | undefined {
  const sums = { ...noMergedRows }
  for (const { merged } of tables) {
    if (!merged) return undefined
    sums.added += merged.added
    sums.changed += merged.changed
    sums.removed += merged.removed
  }
  return sums
}

/**
 * Describes how a merge changed rows: ` 2 rows are new, 1 row changed.` An append is mentioned only if its rows
 * replaced earlier ones.
 */
function describeMergedRows({ added, changed, removed }: MergedRows, mode: WriteMode | undefined): string {
  if (mode === 'APPEND') {
    if (removed === 0) return ''
    return ` They replaced ${formatCount(removed, 'earlier row')} of parts of the source that changed.`
  }
  if (mode !== 'MERGE') return ''
  const changeTexts: string[] = []
  if (added > 0) changeTexts.push(`${formatRows(added)} ${added === 1 ? 'is' : 'are'} new`)
  if (changed > 0) changeTexts.push(`${formatRows(changed)} changed`)
  if (removed > 0) changeTexts.push(`${formatRows(removed)} ${removed === 1 ? 'was' : 'were'} removed`)
  return changeTexts.length === 0 ? ' No row changed.' : ` ${changeTexts.join(', ')}.`
}

/** Says how many rows of earlier loads a run replaced, although the pipeline usually keeps them. */
function describeReplacedRows(tables: readonly LoadedTable[]): string {
  const rows = tables.reduce((sum, { rowsBefore = 0 }) => sum + rowsBefore, 0)
  return rows === 0 ? '' : ` All ${formatRows(rows)} of earlier loads ${rows === 1 ? 'was' : 'were'} replaced.`
}

interface LoadCounts {
  rejected: number
  /** The number of rows from the source, before the transformation. */
  sourceRows?: number | undefined
  /** Whether the rows were merged into the table; undefined if unknown. */
  isMerged?: boolean | undefined
  /** The mode in which the rows were written, if it is known. */
  mode?: WriteMode | undefined
  /** The write mode of the pipeline. Default: REPLACE. */
  pipelineMode?: WriteMode
  /** Whether the publisher of a public dataset reads the message. */
  isDataset?: boolean
}

/** The hints of the source about its data: each sentence with its advice. */
export type Hints = ReadonlyMap<string, ReaderAdvice>

export const maxShownHints = 3

/** Returns the first three hints, followed by their advice. Advice that several hints share is given once. */
export function describeHints(hints: Hints, { isDataset }: { isDataset: boolean }): string {
  const shownHints = [...hints].slice(0, maxShownHints)
  const sentences = shownHints.map(([sentence]) => sentence)
  const advice = new Set(shownHints.map(([, hintAdvice]) => (isDataset ? hintAdvice.dataset : hintAdvice.pipeline)))
  const text = [...sentences, ...advice].filter(Boolean).join(' ')
  const unshownCount = hints.size - shownHints.length
  return unshownCount > 0 ? `${text} The log has ${formatCount(unshownCount, 'more hint')}.` : text
}

/**
 * Returns text for the end of a sentence, ` from …`, with the uploaded file of a run. Returns an empty string if the
 * run reads no uploaded file.
 */
export function describeFile({ input }: Pick<Claim, 'input'>): string {
  const { file } = input as { file?: RunFile }
  if (!file) return ''
  const { name, size, sha256, uploaded } = file
  const uploadText = uploaded === undefined ? '' : `, uploaded at ${uploaded}`
  return ` from ${name} (${size.toLocaleString('en')} bytes${uploadText}, SHA-256 ${sha256})`
}

/**
 * Returns the message of a load: the rows of its tables, why it has no rows, the first changes of columns, and the
 * rejected rows.
 */
export function describeLoad(allTables: readonly LoadedTable[], counts: LoadCounts): string {
  const { rejected, isMerged, mode, pipelineMode = 'REPLACE', isDataset = false } = counts
  if (allTables.length === 0)
    return isMerged ? 'Nothing is new in the source.' : 'The source has no tables, so nothing was loaded.'
  const tables = dataTablesOf(allTables)
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  const emptyText = rows === 0 && isMerged !== undefined ? ` ${explainEmptyLoad(isMerged, counts)}` : ''
  const replacesEarlierLoads = pipelineMode !== 'REPLACE' && mode === 'REPLACE'
  const replacedText = replacesEarlierLoads ? describeReplacedRows(tables) : ''
  const mergedRows = replacesEarlierLoads || emptyText !== '' ? undefined : sumMergedRows(tables)
  const mergedText = mergedRows ? describeMergedRows(mergedRows, mode) : ''
  const changesNoRow = mode === 'MERGE' && mergedRows !== undefined && isUnchanged(mergedRows)
  const rowsText = changesNoRow ? `Read ${formatRows(rows)} for` : `Loaded ${formatRows(rows)} into`
  const sentence = `${rowsText} ${formatTarget(tables)}.${replacedText}${mergedText}${emptyText}${describeFirstChanges(allTables)}`
  const isTypeWidened = allTables.some((table) => table.changes.some(({ kind }) => kind === 'TYPE_WIDENED'))
  const advice = isTypeWidened ? rebuildAdvice('To return to the types of the newest file') : undefined
  const loadedMessage = withAdvice(sentence, advice, { isDataset })
  if (rejected === 0) return loadedMessage
  return `${loadedMessage} ${formatRows(rejected)} did not fit and ${rejected === 1 ? 'was' : 'were'} rejected: see the run’s rejected rows.`
}

/** Returns why a load has no rows. */
function explainEmptyLoad(isMerged: boolean, { sourceRows = 0, pipelineMode = 'REPLACE' }: LoadCounts): string {
  if (sourceRows > 0) {
    const consequence = isMerged ? '' : ', so the table is empty now'
    return `The transformation removed all ${formatRows(sourceRows)} of the source${consequence}.`
  }
  if (!isMerged) return 'The source has no rows, so the table is empty now.'
  if (pipelineMode !== 'REPLACE') return 'The source has no rows, so the table is unchanged.'
  return 'Nothing is new in the source.'
}

/** Describes the first `maxNamedChanges` changes of tables and columns. Each sentence starts with a space. */
function describeFirstChanges(tables: readonly LoadedTable[]): string {
  const changes = tables.flatMap((table) => table.changes.map((change) => ({ table, change })))
  // Changes of whole tables come first, because the message names only the first changes.
  const orderedChanges = [
    ...changes.filter(({ change }) => change.column === ''),
    ...changes.filter(({ change }) => change.column !== ''),
  ]
  const sentences = orderedChanges.slice(0, maxNamedChanges).map(({ table, change }) => describeChange(table, change))
  const unnamedCount = changes.length - sentences.length
  if (unnamedCount > 0) sentences.push(`The log names ${formatCount(unnamedCount, 'more change')} of columns.`)
  return sentences.map((sentence) => ` ${sentence}`).join('')
}

/** Returns the message of a dry run. The run itself contains the changes of columns. */
export function describeDryRun(allTables: readonly PlannedTable[], rejected: number): string {
  const tables = dataTablesOf(allTables)
  const tableTexts = tables.slice(0, maxNamedTables).map(({ schema, table, rowsBefore, rowsAfter }) => {
    const rowsBeforeText =
      rowsBefore === undefined ? 'it does not exist yet' : `it has ${rowsBefore.toLocaleString('en')} now`
    return `${schema}.${table} would have ${formatRows(rowsAfter)}, ${rowsBeforeText}`
  })
  const moreText =
    tables.length > maxNamedTables ? ` And ${formatCount(tables.length - maxNamedTables, 'more table')}.` : ''
  const nothingNewText = 'Nothing is new in the source.'
  const plannedText = tableTexts.length === 0 ? nothingNewText : `${tableTexts.join('; ')}.${moreText}`
  const changeCount = allTables.reduce((sum, table) => sum + table.changes.length, 0)
  const changesText =
    changeCount === 0 ? '' : ` ${formatCount(changeCount, 'change')} of columns or rows: see plannedTables.`
  const rejectedSentence = rejected === 0 ? '' : ` ${formatRows(rejected)} did not fit: see the run’s rejected rows.`
  return `Dry run: nothing was published. ${plannedText}${changesText}${rejectedSentence}`
}

/** Returns the message of a restore. `publishedAt`: the publication of the restored rows. */
export function describeRestore(allTables: readonly LoadedTable[], publishedAt?: Date): string {
  const tables = dataTablesOf(allTables)
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  const since = publishedAt ? ` They are the rows that were published at ${publishedAt.toISOString()}.` : ''
  return `Restored ${formatRows(rows)} in ${formatTarget(tables)}.${since} The rows that they replaced are kept and can be restored.`
}

const maxNamedTables = 5
const maxNamedChanges = 3

/** Formats one table as `health.homes`, and several as `3 tables of health (homes 5, homes__child 7, homes__toy 0)`. */
function formatTarget(tables: readonly LoadedTable[]): string {
  const { schema, table: firstTable } = tables[0]!
  if (tables.length === 1) return `${schema}.${firstTable}`
  const tableTexts = tables.slice(0, maxNamedTables).map(({ table, rows }) => `${table} ${rows.toLocaleString('en')}`)
  const moreText = tables.length > maxNamedTables ? ` and ${tables.length - maxNamedTables} more` : ''
  return `${tables.length} tables of ${schema} (${tableTexts.join(', ')}${moreText})`
}

export const describeSupersededRows = (rows: number): string =>
  `${formatRows(rows)} of the source ${rows === 1 ? 'was' : 'were'} not loaded, because objects that changed later have rows with the same mergeKey.`

export function describeChange(
  { schema, table }: Pick<LoadedTable, 'schema' | 'table'>,
  { kind, column, from, to, rows }: TableChange,
): string {
  const qualifiedName = `${schema}.${table}`
  switch (kind) {
    case 'COLUMN_ADDED':
      return `Column "${column}" (${to ?? 'of unknown type'}) is new in ${qualifiedName}.`
    case 'COLUMN_VANISHED':
      return `Column "${column}" of ${qualifiedName} is not in the source any more. The column stays, and is empty in this and later loads.`
    case 'COLUMN_EMPTIED':
      return `Column "${column}" of ${qualifiedName} had values in the last load. It is empty in ${rows === 1 ? 'the only row' : `all ${formatRows(rows ?? 0)}`} of this load: check the source.`
    case 'COLUMN_DROPPED':
      return `Column "${column}" of ${qualifiedName} was dropped, because neither the source nor the transformation has it.`
    case 'TYPE_CHANGED':
      return `Column "${column}" of ${qualifiedName} is ${to} now; it was ${from}.`
    case 'SHAPE_REPLACED':
      return `The settings of the source changed, so ${qualifiedName} has the columns and types of this load.`
    case 'ROWS_FELL':
      return `The source has ${formatRows(Number(to))} for ${qualifiedName}, and the table had ${formatRows(Number(from))} before: check that the source is complete.`
    case 'VIEWS_RECREATED':
      return `Columns of ${qualifiedName} have new types, so these views over them were created again: ${to}. Casts and comparisons in them can fail for new values, so query each view once.`
    case 'PART_NOT_READ':
      return to ?? ''
    case 'TYPE_WIDENED':
      return `Column "${column}" of ${qualifiedName} changed from ${from} to ${to}.`
  }
}

interface KeyedLoad {
  target: { schema: string; table: string }
  /**
   * The columns of the key. Absent if SQL statements changed the rows, because then the statements may have removed the
   * values.
   */
  keys: readonly string[] | undefined
  /** Returns the positions of rows in the files of the source: `lines 3 and 6 of cases.csv`. */
  describeRows(rows: KeyRows): Promise<string | undefined>
}

/**
 * Adds to the error for rows with the same key, or without a value in a column of the key, where these rows are in the
 * files of the source. Returns other errors unchanged.
 */
export async function addKeyPositions(loadError: unknown, { target, keys, describeRows }: KeyedLoad): Promise<unknown> {
  // The file may be gone or changed. The message is complete without the positions.
  const findPositions = (rows: KeyRows) => describeRows(rows).catch(() => undefined)
  if (loadError instanceof DuplicateKeyProblem && loadError.key) {
    const { key, precedence } = loadError
    const positions = await findPositions({ ...key, precedence })
    return positions === undefined ? loadError : loadError.withPositions(positions)
  }
  if (loadError instanceof WarehouseProblem && loadError.code === 'NULL_KEY' && keys) {
    const positions = await findPositions({ keys })
    return positions === undefined ? loadError : createNullKeyProblem(target, keys, positions, loadError)
  }
  return loadError
}

function createNullKeyProblem(
  { schema, table }: KeyedLoad['target'],
  keys: readonly string[],
  positions: string,
  cause: WarehouseProblem,
): WarehouseProblem {
  const column = keys.map((key) => `"${key}"`).join(' or ')
  return new WarehouseProblem(
    cause.code,
    `Nothing was loaded into "${schema}"."${table}", because key column ${column} has no value in ${positions}. Correct the source, or choose another key.`,
    { cause },
  )
}
