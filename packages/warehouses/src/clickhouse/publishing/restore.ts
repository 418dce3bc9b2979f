import { randomUUID } from 'node:crypto'
import { failpoint } from '@sluice/process'
import {
  assertCurrentAttempt,
  type Publication,
  type PublishOptions,
  type RestoreTarget,
  type TableChange,
} from '../../warehouse.ts'
import type { ClientAccess } from '../clickhouse-settings.ts'
import { affectsViews } from '../views/dependent-views.ts'
import { executeStatement } from '../protocol/http-client.ts'
import {
  findPrevious,
  keepReplaced,
  moveTable,
  nothingToRestoreProblem,
  type PreviousPublication,
} from './replaced-tables.ts'
import { type ProposedTable, findLedgerEntry, writeProposal, findPublication } from '../publication-ledger.ts'
import { databaseOf, formatLiteral, qualifyName, quoteIdentifier, runDatabase, quotePlace } from '../sql-identifiers.ts'
import { assertViewsCompile, listPlainReaders } from '../views/replace-view.ts'
import { warehouseProblem } from '../map-server-errors.ts'
import { typeName } from '../../shape/widen-types.ts'
import { typeRules } from '../column-types.ts'
import { waitForDecision } from './publish-run.ts'
import { concurrentlyChanged, applyDecision, completePendingPublication } from './publication-recovery.ts'
import {
  type ClickHouseShape,
  columnText,
  createTable,
  emptyColumn,
  readShape,
  type TableMetadata,
  textColumnsOf,
  waitForAlter,
} from '../table-shape.ts'

interface RestoreRequest {
  target: RestoreTarget
  isCurrentAttempt: () => Promise<boolean>
  options: Pick<PublishOptions, 'onBackgroundWork'>
  keepDays: number
}

/**
 * Publishes the tables again that the last publication of the target replaced. See `Loader.restore`. First moves them
 * to this run's database, because the commit protocol in `publication-recovery.ts` expects staging tables there. If the
 * run is already published, returns that publication.
 */
export async function restoreKeptTables(
  access: ClientAccess,
  { target, isCurrentAttempt, options, keepDays }: RestoreRequest,
  signal: AbortSignal,
): Promise<Publication> {
  const { run, attempt } = target
  const qualifiedName = quotePlace(target.schema, target.table)
  const database = runDatabase(access.key, target)
  /** False before the restore can be decided. Once it can, recovery needs the tables in the run's database. */
  let mayBeDecided = false
  try {
    await completePendingPublication(access)
    const earlierPublication = await findPublication(access, run)
    if (earlierPublication) return earlierPublication
    const previous = await findPrevious(access, target)
    if (!previous) throw nothingToRestoreProblem(qualifiedName)
    const comment = formatLiteral(JSON.stringify({ run, attempt }))
    await executeStatement(
      access.service,
      `create database if not exists ${quoteIdentifier(database)} comment ${comment}`,
    )
    const publication = randomUUID()
    const proposals: ProposedTable[] = []
    for (const replacedTable of previous.tables)
      proposals.push(await makeProposal(access, { run, attempt, publication, database }, replacedTable))
    await failpoint('before-swap')
    signal.throwIfAborted()
    await writeProposal(access, proposals)
    await assertCurrentAttempt({ run, attempt }, isCurrentAttempt, signal)
    mayBeDecided = true
    await waitForDecision(access, publication, () => concurrentlyChanged(target))
    await applyDecision(access, publication)
    const restorePublication = await findPublication(access, run)
    if (!restorePublication) throw concurrentlyChanged(target)
    await failpoint('published')
    const cleanup = dropRunDatabase(access, database, keepDays)
    if (options.onBackgroundWork) options.onBackgroundWork(cleanup)
    else await cleanup
    return restorePublication
  } catch (error) {
    if (!mayBeDecided) await dropRunDatabase(access, database, keepDays)
    throw warehouseProblem(error, qualifiedName)
  }
}

/**
 * Moves the replaced tables in the run's database to the kept tables, and drops the database. Never throws, because a
 * maintenance sweep repeats this.
 */
async function dropRunDatabase(access: ClientAccess, database: string, keepDays: number): Promise<void> {
  try {
    await keepReplaced(access, database, keepDays)
    await executeStatement(access.service, `drop database if exists ${quoteIdentifier(database)}`)
  } catch {}
}

interface RestoreDecision {
  run: string
  attempt: number
  publication: string
  database: string
}

/**
 * Prepares the restored version of one table and returns its proposal. The restored version is the kept table, or an
 * empty table if the last publication created the table.
 */
async function makeProposal(
  access: ClientAccess,
  { run, attempt, publication, database }: RestoreDecision,
  { schema, table, replaced }: PreviousPublication['tables'][number],
): Promise<ProposedTable> {
  const qualifiedName = quotePlace(schema, table)
  const currentShape = await readShape(access.service, databaseOf({ key: access.key, schema }), table)
  if (!currentShape) throw nothingToRestoreProblem(qualifiedName)
  const name = `restored_${replaced?.uuid ?? randomUUID()}`
  const restoredTable = qualifyName(database, name)
  if (replaced) await moveTable(access, replaced, restoredTable)
  else await createEmptyTable(access, restoredTable, currentShape, { run, attempt, schema, table })
  const readers = await listPlainReaders(access, { schema, name: table })
  const restoredShape = await readShape(access.service, database, name)
  // The run that replaced the table is moving it to the kept tables at this moment. The next attempt will find it
  // there.
  if (replaced && !restoredShape) throw concurrentlyChanged({ schema, table })
  if (!restoredShape?.metadata?.load) throw nothingToRestoreProblem(qualifiedName)
  // Columns that were added since the kept version stay without values if views read the table. Otherwise they are
  // dropped.
  const restoredNames = new Set(restoredShape.columns.map((column) => column.name))
  const laterColumns = currentShape.columns.filter((column) => !restoredNames.has(column.name))
  const stayingColumns = readers.length > 0 ? laterColumns : []
  await addEmptyColumns(access, restoredTable, stayingColumns)
  const changes = compareColumns(currentShape, restoredShape, new Set(stayingColumns.map((column) => column.name)))
  if (affectsViews(changes)) await assertViewsCompile(access, readers, { schema, name: table }, restoredTable)
  const restoredEntry = await findLedgerEntry(access, restoredShape.metadata.load)
  const currentEntry = await findLedgerEntry(access, currentShape.metadata?.load)
  // The ledger records the staying columns as columns that the source no longer has.
  const vanishedColumns = stayingColumns.map(({ name: columnName, label, type, dataType }) => ({
    name: columnName,
    label,
    type,
    dataType,
    vanished: true as const,
  }))
  const rows = restoredEntry?.tableRows ?? 0
  const listsTables = (restoredEntry ?? currentEntry)?.listsTables
  return {
    publication,
    run,
    attempt,
    schema,
    table,
    load: restoredShape.metadata.load,
    base: currentShape.uuid,
    entry: {
      fedColumns: [],
      bytes: 0,
      ...restoredEntry,
      merged: undefined,
      rowsBefore: currentEntry?.tableRows ?? currentShape.rows,
      rows,
      tableRows: rows,
      ...(listsTables && { listsTables }),
      changes,
      staged: restoredShape.uuid,
      feed: { ...restoredEntry?.feed, columns: [...(restoredEntry?.feed?.columns ?? []), ...vanishedColumns] },
    },
  }
}

/** Adds columns without values to a table. Returns when the server has changed it (`waitForAlter`). */
async function addEmptyColumns(
  access: ClientAccess,
  qualifiedName: string,
  columns: ClickHouseShape['columns'],
): Promise<void> {
  if (columns.length === 0) return
  const clauses = columns.map((column) => `add column ${columnText(emptyColumn(column))}`)
  await executeStatement(access.service, `alter table ${qualifiedName} ${clauses.join(', ')}`, {
    settings: waitForAlter,
  })
}

/** Creates an empty table: the restored version of a table that the last publication created. */
async function createEmptyTable(
  access: ClientAccess,
  qualifiedName: string,
  currentShape: ClickHouseShape,
  tableMetadata: TableMetadata,
): Promise<void> {
  const metadata = { ...tableMetadata, load: randomUUID(), texts: textColumnsOf(currentShape.columns) }
  await executeStatement(access.service, createTable(qualifiedName, currentShape.columns, metadata))
}

/**
 * Returns the column changes of a restore. `stayingNames` are the names of columns that were added later and are not
 * dropped.
 */
function compareColumns(
  currentShape: ClickHouseShape,
  restoredShape: ClickHouseShape,
  stayingNames: ReadonlySet<string>,
): TableChange[] {
  const currentByName = new Map(currentShape.columns.map((column) => [column.name, column]))
  const restoredNames = new Set(restoredShape.columns.map(({ name }) => name))
  const changes: TableChange[] = []
  for (const { name } of currentShape.columns) {
    const isDropped = !restoredNames.has(name) && !stayingNames.has(name)
    if (isDropped) changes.push({ kind: 'COLUMN_DROPPED', column: name })
  }
  for (const column of restoredShape.columns) {
    const currentColumn = currentByName.get(column.name)
    const to = typeName(typeRules, column)
    if (!currentColumn) changes.push({ kind: 'COLUMN_ADDED', column: column.name, to })
    else if (currentColumn.type !== column.type)
      changes.push({ kind: 'TYPE_CHANGED', column: column.name, from: typeName(typeRules, currentColumn), to })
  }
  return changes
}
