import type { ClientBase } from 'pg'
import { failpoint } from '@sluice/process'
import {
  assertCurrentAttempt,
  parseProfileReference,
  type Publication,
  type PublishedTable,
  type RestoreTarget,
  type TableChange,
} from '../../warehouse.ts'
import type { SourceShape } from '../../shape/previous-source-columns.ts'
import { typeName } from '../../shape/widen-types.ts'
import { storedAs, typeRules } from '../column-types.ts'
import { type PostgresPools, withClient } from '../postgres-connections.ts'
import { listDependentViews, type DependentView } from '../views/dependent-views.ts'
import { commitSwaps } from './commit-swaps.ts'
import { columnsOf, createTable, planEvolution, type TypedColumn } from './plan-publishing.ts'
import {
  type ReplacedTable,
  type RetentionPolicy,
  keepTables,
  nothingToRestore,
  qualifiedNameOf,
  takeKeptTables,
} from './replaced-tables.ts'
import {
  enterLedger,
  recordPublication,
  type LedgerEntry,
  findLastPublication,
  idleTransactionTimeout,
} from './publication-ledger.ts'
import { tableNotOwned } from '../map-server-errors.ts'
import { blockAutovacuum, listBlockingViews } from './table-swap.ts'
import { qualifyName } from '../sql-identifiers.ts'
import { copyStatistics } from './planner-statistics.ts'
import { readEarlierPublication, type SwapOptions, sumTables, retryWhileTableIsRead } from './publish-run.ts'
import { readShape, type PostgresShape } from '../table-shape.ts'
import { columnComments, columnList } from '../staging-table-ddl.ts'

interface RestoreRequest {
  pools: PostgresPools
  target: RestoreTarget
  /** The role that may read the restored tables. */
  readRole: string
  retention: RetentionPolicy
  isCurrentAttempt: () => Promise<boolean>
  options: SwapOptions
}

/** The plan for restoring one table. */
interface RestoredTable {
  qualifiedName: string
  /** The DDL statements that exchange the partitions. */
  statements: string[]
  /** The views that must be dropped and recreated, because their columns change. */
  views: DependentView[]
  /** The table version that the restore replaces. It is kept, so that the restore can be undone. */
  replaced: ReplacedTable
  published: PublishedTable
  ledgerEntry: LedgerEntry
}

/**
 * See `Loader.restore`. Exchanges kept and published partitions with the same DDL statements as a load, so no row is
 * copied. The ledger's data about a partition (cursor, source columns, profile) becomes current again with the
 * partition.
 */
export function restoreKeptTables(request: RestoreRequest, signal: AbortSignal): Promise<Publication> {
  const { pools, target, options } = request
  const problemContext = { qualifiedName: qualifyName(target.schema, target.table) }
  return retryWhileTableIsRead(problemContext, options, signal, async (lockTimeoutMs) => {
    const { publication, tables } = await restoreAll(request, lockTimeoutMs, signal)
    await failpoint('published')
    const statisticsCopied = Promise.all(
      tables.map(({ published, ledgerEntry }) =>
        copyStatistics(pools, { ...published, partition: ledgerEntry.partition }),
      ),
    ).then(() => {})
    if (options.onBackgroundWork) options.onBackgroundWork(statisticsCopied)
    else await statisticsCopied
    return publication
  })
}

/**
 * Restores the kept tables in one transaction. Returns the publication and the restored tables. If an earlier attempt
 * has already published the run, changes nothing and returns that publication without tables. Throws
 * NOTHING_TO_RESTORE.
 */
async function restoreAll(
  { pools, target, readRole, retention, isCurrentAttempt }: RestoreRequest,
  lockTimeoutMs: number,
  signal: AbortSignal,
): Promise<{ publication: Publication; tables: RestoredTable[] }> {
  const { run, attempt } = target
  return withClient(pools.transactions, signal, async (client, borrowed) => {
    await client.query(
      `begin; set local lock_timeout = ${lockTimeoutMs}; set local statement_timeout = '30s'; ${idleTransactionTimeout}`,
    )
    const publishedAt = await recordPublication(client, retention.ledgerKey, { run, attempt })
    if (!publishedAt) return { publication: await readEarlierPublication(client, run), tables: [] }
    const keptTables = await takeKeptTables(client, retention, target)
    if (!keptTables) throw nothingToRestore(qualifiedNameOf(target))
    const tables: RestoredTable[] = []
    for (const keptTable of keptTables) tables.push(await planRestoredTable(client, keptTable, readRole, lockTimeoutMs))
    const ledgerEntries = tables.map(({ ledgerEntry }) => ledgerEntry)
    await enterLedger(client, retention.ledgerKey, run, ledgerEntries)
    const replacedTables = tables.map(({ replaced }) => replaced)
    await keepTables(client, retention, run, replacedTables)
    await assertCurrentAttempt({ run, attempt }, isCurrentAttempt, signal)
    borrowed.ignoreAbort()
    await commitSwaps(
      client,
      tables.map((table) => ({ ...table, restores: true })),
    )
    const publishedTables = tables.map(({ published }) => published)
    return { publication: { run, attempt, publishedAt, ...sumTables(publishedTables) }, tables }
  })
}

/**
 * Locks a table and plans the restore of its kept partition. If the table did not exist before its last publication, no
 * partition was kept, and the table becomes empty.
 */
async function planRestoredTable(
  client: ClientBase,
  { schema, table, partition }: ReplacedTable,
  readRole: string,
  lockTimeoutMs: number,
): Promise<RestoredTable> {
  const qualifiedName = qualifyName(schema, table)
  const keptShape = partition === null ? undefined : await readShape(client, 'sluice', partition)
  if (partition !== null && !keptShape) throw nothingToRestore(qualifiedName)
  const currentShape = await lockTable(client, { schema, table, partition }, lockTimeoutMs)
  const currentPartition = currentShape?.partition
  // If the table becomes empty, only `listsTables` is read from the ledger row, which is then that of the current rows.
  const partitionInLedger = partition ?? currentPartition
  const ledgerRow = partitionInLedger === undefined ? undefined : await findLastPublication(client, partitionInLedger)
  // The ledger row of the restored rows. Undefined if the table becomes empty.
  const restored = partition === null ? undefined : ledgerRow
  const attachSql =
    partition === null
      ? []
      : [`alter table ${qualifiedName} attach partition ${qualifyName('sluice', partition)} default`]
  const detachSql =
    currentPartition === undefined
      ? []
      : [`alter table ${qualifiedName} detach partition ${qualifyName('sluice', currentPartition)}`]
  const change =
    keptShape && partition !== null
      ? await planShapeChange(client, { qualifiedName, currentShape, keptShape, partition, readRole })
      : noShapeChange
  const sourceShape = addVanishedColumns(restored?.sourceShape ?? { columns: [] }, change.remainingColumns)
  const rows = restored?.tableRows ?? 0
  const rowsBefore = currentShape?.lastPublication?.tableRows
  const listsTables = ledgerRow?.details?.listsTables
  const published: PublishedTable = {
    schema,
    table,
    rows,
    bytes: restored?.bytes ?? 0,
    changes: change.changes,
    ...(rowsBefore !== undefined && { rowsBefore }),
    ...(listsTables && { listsTables }),
  }
  return {
    qualifiedName,
    statements: [...detachSql, ...change.statements, ...attachSql],
    views: change.views,
    replaced: { schema, table, partition: currentPartition ?? null },
    published,
    ledgerEntry: {
      partition: partition ?? '',
      published,
      suppliedColumns: restored?.suppliedColumns ?? [],
      mode: 'RESTORE',
      tableRows: rows,
      cursor: restored?.cursor ?? undefined,
      profile: parseProfileReference(restored?.profile),
      sourceShape,
    },
  }
}

/**
 * Locks a table against other publishers, and keeps autovacuum off its current and its kept partition until the
 * transaction ends. Returns the structure of the table under the lock, or undefined if it does not exist. Throws if
 * another role owns it.
 */
async function lockTable(
  client: ClientBase,
  { schema, table, partition: keptPartition }: ReplacedTable,
  lockTimeoutMs: number,
): Promise<PostgresShape | undefined> {
  const qualifiedName = qualifyName(schema, table)
  if (await readShape(client, schema, table))
    await client.query(`lock table only ${qualifiedName} in share update exclusive mode`)
  // Reads the structure again, because another run may have published before this transaction had the lock.
  const currentShape = await readShape(client, schema, table)
  if (currentShape && !currentShape.owned) throw tableNotOwned({ qualifiedName })
  for (const partition of [currentShape?.partition, keptPartition])
    if (partition) await client.query(blockAutovacuum(qualifyName('sluice', partition), lockTimeoutMs))
  return currentShape
}

interface ShapeChange {
  statements: string[]
  /** The views that must be dropped and recreated. */
  views: DependentView[]
  changes: TableChange[]
  /** Columns that were added since the kept version and that views read. They remain, without values. */
  remainingColumns: TypedColumn[]
}

const noShapeChange: ShapeChange = { statements: [], views: [], changes: [], remainingColumns: [] }

interface RestoredShapes {
  qualifiedName: string
  /** The structure of the published table. Undefined if it was dropped since the kept version was replaced. */
  currentShape: PostgresShape | undefined
  /** The structure of the kept partition. */
  keptShape: PostgresShape
  /** The name of the kept partition. */
  partition: string
  /** The role that may read the table. */
  readRole: string
}

/**
 * Returns the statements that change the table back to its earlier columns and types, the views that they require to be
 * recreated, and a description of the changes. A column that was added later is dropped, or remains without values if a
 * view reads it. If the table no longer exists, it is created.
 */
async function planShapeChange(
  client: ClientBase,
  { qualifiedName, currentShape, keptShape, partition, readRole }: RestoredShapes,
): Promise<ShapeChange> {
  const keptColumns = columnsOf(keptShape)
  if (!currentShape) return { ...noShapeChange, statements: createTable(qualifiedName, keptColumns, readRole) }
  const keptNames = new Set(keptColumns.map(({ name }) => name))
  const currentTypes = new Map(currentShape.columns.map(({ name, type }) => [name, type]))
  const laterColumns = columnsOf(currentShape).filter(({ name }) => !keptNames.has(name))
  const remainingColumns: TypedColumn[] = []
  for (const column of laterColumns) {
    const views = await listDependentViews(client, currentShape.oid, [column.name])
    if (views.length > 0) remainingColumns.push(column)
  }
  const dropped = laterColumns.filter((column) => !remainingColumns.includes(column)).map(({ name }) => name)
  const added = keptColumns.filter(({ name }) => !currentTypes.has(name))
  const retyped = keptColumns.filter(({ name, type }) => currentTypes.has(name) && currentTypes.get(name) !== type)
  const columns = [...keptColumns, ...remainingColumns]
  const plan = { columns, dropped, retyped, missing: [], restaged: [], changes: [], recordedColumns: [] }
  const { tableStatements, rebuild } = planEvolution(qualifiedName, currentShape, plan, [...keptNames])
  const keptPartition = qualifyName('sluice', partition)
  // The kept partition must have all columns of the table before it is attached.
  const addRemainingColumns = [
    ...remainingColumns.map((column) => `alter table ${keptPartition} add column ${columnList([column])}`),
    ...columnComments(keptPartition, remainingColumns),
  ]
  const changeTable = rebuild
    ? [`drop table ${qualifiedName}`, ...createTable(qualifiedName, columns, readRole)]
    : tableStatements
  return {
    statements: [...addRemainingColumns, ...changeTable],
    views: await listBlockingViews(client, { qualifiedName }, currentShape, plan, rebuild),
    changes: [
      ...dropped.map((column): TableChange => ({ kind: 'COLUMN_DROPPED', column })),
      ...added.map(describeAddedColumn),
      ...retyped.map((column) => describeRetypedColumn(column, currentTypes.get(column.name)!)),
    ],
    remainingColumns,
  }
}

function describeAddedColumn(column: TypedColumn): TableChange {
  return { kind: 'COLUMN_ADDED', column: column.name, to: typeName(typeRules, column) }
}

function describeRetypedColumn(column: TypedColumn, currentType: string): TableChange {
  const from = typeName(typeRules, storedAs(currentType))
  return { kind: 'TYPE_CHANGED', column: column.name, from, to: typeName(typeRules, column) }
}

/** Adds columns to the record of the source's columns, as columns that the source no longer has. */
function addVanishedColumns(sourceShape: SourceShape, columns: readonly TypedColumn[]): SourceShape {
  const vanishedColumns = columns.map(({ name, label, type, dataType }) => {
    return { name, label, type, dataType, vanished: true as const }
  })
  return { ...sourceShape, columns: [...sourceShape.columns, ...vanishedColumns] }
}
