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
import { executeStatement } from '../protocol/http.ts'
import {
  findPrevious,
  keepReplaced,
  moveTable,
  nothingToRestoreProblem,
  type PreviousPublication,
} from './replaced-tables.ts'
import { type ProposedTable, findLedgerEntry, writeProposal, findPublication } from '../ledger.ts'
import { databaseOf, formatLiteral, qualifyName, quoteIdentifier, runDatabase, quotePlace } from '../names.ts'
import { assertViewsCompile, listPlainReaders } from '../views/replace-view.ts'
import { warehouseProblem } from '../problems.ts'
import { typeName } from '../../shape/widen-types.ts'
import { typeRules } from '../types.ts'
import { waitForDecision } from './publish.ts'
import { concurrentlyChanged, applyDecision, recoverPending, ignoreBusy } from './recovery.ts'
import {
  type ClickHouseShape,
  columnText,
  createTable,
  emptyColumn,
  readShape,
  type TableMark,
  textColumnsOf,
} from '../table-shape.ts'

interface RestoreRequest {
  target: RestoreTarget
  isCurrentAttempt: () => Promise<boolean>
  options: Pick<PublishOptions, 'onBackgroundWork'>
  keepDays: number
}

/**
 * See `Loader.restore`. Moves the kept tables to this run's database and publishes them from there, because the commit
 * protocol in `recovery.ts` expects staging tables in that database.
 */
export async function restoreKeptTables(
  access: ClientAccess,
  { target, isCurrentAttempt, options, keepDays }: RestoreRequest,
  signal: AbortSignal,
): Promise<Publication> {
  const { run, attempt } = target
  const qualifiedName = quotePlace(target.schema, target.table)
  const database = runDatabase(access.key, target)
  let decided = false
  try {
    await recoverPending(access).catch(ignoreBusy)
    const earlier = await findPublication(access, run)
    if (earlier) return earlier
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
    decided = true
    await waitForDecision(access, publication, () => concurrentlyChanged(target))
    await applyDecision(access, publication)
    const published = await findPublication(access, run)
    if (!published) throw concurrentlyChanged(target)
    await failpoint('published')
    const cleanup = dropRunDatabase(access, database, keepDays)
    if (options.onBackgroundWork) options.onBackgroundWork(cleanup)
    else await cleanup
    return published
  } catch (error) {
    if (!decided) await dropRunDatabase(access, database, keepDays)
    throw warehouseProblem(error, qualifiedName)
  }
}

/** Drops the run's database. Never throws, because a maintenance sweep drops a remaining database. */
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
  const restored = await readShape(access.service, database, name)
  // The run that replaced the table is moving it to the kept tables at this moment. The next attempt will find it
  // there.
  if (replaced && !restored) throw concurrentlyChanged({ schema, table })
  if (!restored?.mark?.load) throw nothingToRestoreProblem(qualifiedName)
  const names = new Set(restored.columns.map((column) => column.name))
  // If views read the table, columns that were added since the kept version stay, without values.
  const stayingColumns = readers.length > 0 ? currentShape.columns.filter((column) => !names.has(column.name)) : []
  if (stayingColumns.length > 0)
    await executeStatement(
      access.service,
      `alter table ${restoredTable} ${stayingColumns.map((column) => `add column ${columnText(emptyColumn(column))}`).join(', ')}`,
      { settings: { alter_sync: 2, mutations_sync: 2 } },
    )
  const changes = changesOf(currentShape, restored, new Set(stayingColumns.map((column) => column.name)))
  if (affectsViews(changes)) await assertViewsCompile(access, readers, { schema, name: table }, restoredTable)
  const lastEntry = await findLedgerEntry(access, restored.mark.load)
  const currentEntry = await findLedgerEntry(access, currentShape.mark?.load)
  const vanished = stayingColumns.map(({ label, type, dataType, ...column }) => ({
    name: column.name,
    label,
    type,
    dataType,
    vanished: true as const,
  }))
  const rows = lastEntry?.tableRows ?? 0
  const listsTables = (lastEntry ?? currentEntry)?.listsTables
  return {
    publication,
    run,
    attempt,
    schema,
    table,
    load: restored.mark.load,
    base: currentShape.uuid,
    entry: {
      fedColumns: [],
      bytes: 0,
      ...lastEntry,
      merged: undefined,
      rowsBefore: currentEntry?.tableRows ?? currentShape.rows,
      rows,
      tableRows: rows,
      ...(listsTables && { listsTables }),
      changes,
      staged: restored.uuid,
      feed: { ...lastEntry?.feed, columns: [...(lastEntry?.feed?.columns ?? []), ...vanished] },
    },
  }
}

/** Creates an empty table: the restored version of a table that the last publication created. */
async function createEmptyTable(
  access: ClientAccess,
  qualifiedName: string,
  currentShape: ClickHouseShape,
  tableMark: TableMark,
): Promise<void> {
  const mark = { ...tableMark, load: randomUUID(), texts: textColumnsOf(currentShape.columns) }
  await executeStatement(access.service, createTable(qualifiedName, currentShape.columns, mark))
}

/** Returns the column changes of a restore. `stayingColumns` are columns that were added later and are not dropped. */
function changesOf(
  currentShape: ClickHouseShape,
  restored: ClickHouseShape,
  stayingColumns: ReadonlySet<string>,
): TableChange[] {
  const columnsByName = ({ columns }: ClickHouseShape) => new Map(columns.map((column) => [column.name, column]))
  const liveColumns = columnsByName(currentShape)
  const restoredColumns = columnsByName(restored)
  const dropped = [...liveColumns.keys()].filter((name) => !restoredColumns.has(name) && !stayingColumns.has(name))
  return [
    ...dropped.map((column): TableChange => ({ kind: 'COLUMN_DROPPED', column })),
    ...[...restoredColumns.values()].flatMap((column): TableChange[] => {
      const current = liveColumns.get(column.name)
      const to = typeName(typeRules, column)
      if (!current) return [{ kind: 'COLUMN_ADDED', column: column.name, to }]
      const from = typeName(typeRules, current)
      return current.type === column.type ? [] : [{ kind: 'TYPE_CHANGED', column: column.name, from, to }]
    }),
  ]
}
