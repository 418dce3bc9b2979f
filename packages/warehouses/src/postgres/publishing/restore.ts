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
import { type PostgresPools, withClient } from '../postgres-connections.ts'
import { listDependentViews, type DependentView } from '../views/dependent-views.ts'
import { commitSwaps } from './commit-swaps.ts'
import { columnsOf, createTable, planEvolution } from './plan-publishing.ts'
import {
  type ReplacedTable,
  type RetentionPolicy,
  keepRestored,
  nothingKept,
  placeOf,
  takeKeptTables,
} from './replaced-tables.ts'
import { enterLedger, enterRun, type LedgerEntry, findLastPublication, idleTransactionTimeout } from './ledger.ts'
import { tableNotOwned } from '../problems.ts'
import { blockAutovacuum, findBlockingViews } from './table-swap.ts'
import { qualifyName } from '../names.ts'
import { copyStatistics } from './planner-statistics.ts'
import { readEarlierPublication, type SwapOptions, sumTables, retryWhileTableIsRead } from './publish.ts'
import { readShape, type PostgresShape } from '../table-shape.ts'
import { columnComments, columnList } from '../staging-table-ddl.ts'

interface RestoreRequest {
  pools: PostgresPools
  target: RestoreTarget
  /** The role that may read the restored tables. */
  read: string
  retention: RetentionPolicy
  isCurrentAttempt: () => Promise<boolean>
  options: SwapOptions
}

interface RestoredTable {
  qualifiedName: string
  statements: string[]
  views: DependentView[]
  /** The replaced partition. It is kept, so that the restore can be undone. */
  replaced: ReplacedTable
  published: PublishedTable
  entry: LedgerEntry
}

/**
 * See `Loader.restore`. Exchanges kept and published partitions with the same DDL statements as a load, so no row is
 * copied. The ledger's data about a partition (cursor, column record, profile) becomes current again with the
 * partition.
 */
export function restoreKeptTables(restoring: RestoreRequest, signal: AbortSignal): Promise<Publication> {
  const { pools, target, options } = restoring
  const problemContext = { qualifiedName: qualifyName(target.schema, target.table) }
  return retryWhileTableIsRead(problemContext, options, signal, async (lockTimeoutMs) => {
    const { publication, returned } = await restoreAll(restoring, lockTimeoutMs, signal)
    await failpoint('published')
    const tidied = Promise.all(
      returned.map(({ published, entry }) => copyStatistics(pools, { ...published, partition: entry.partition })),
    ).then(() => {})
    if (options.onBackgroundWork) options.onBackgroundWork(tidied)
    else await tidied
    return publication
  })
}

/**
 * Restores the kept tables in one transaction. Returns no tables if an earlier attempt has already published the run.
 */
async function restoreAll(
  { pools, target, read, retention, isCurrentAttempt }: RestoreRequest,
  lockTimeoutMs: number,
  signal: AbortSignal,
): Promise<{ publication: Publication; returned: RestoredTable[] }> {
  const { run, attempt } = target
  return withClient(pools.transactions, signal, async (client, borrowed) => {
    await client.query(
      `begin; set local lock_timeout = ${lockTimeoutMs}; set local statement_timeout = '30s'; ${idleTransactionTimeout}`,
    )
    const publishedAt = await enterRun(client, retention.ledgerKey, { run, attempt })
    if (!publishedAt) return { publication: await readEarlierPublication(client, run), returned: [] }
    const replacedTables = await takeKeptTables(client, retention, target)
    if (!replacedTables) throw nothingKept(placeOf(target))
    const returned: RestoredTable[] = []
    for (const one of replacedTables) returned.push(await planRestoredTable(client, one, read, lockTimeoutMs))
    await enterLedger(
      client,
      retention.ledgerKey,
      run,
      returned.map(({ entry }) => entry),
    )
    await keepRestored(
      client,
      retention,
      run,
      returned.map(({ replaced }) => replaced),
    )
    await assertCurrentAttempt({ run, attempt }, isCurrentAttempt, signal)
    borrowed.ignoreAbort()
    await commitSwaps(
      client,
      returned.map((one) => ({ ...one, restores: true })),
    )
    const tables = returned.map(({ published }) => published)
    return { publication: { run, attempt, publishedAt, ...sumTables(tables) }, returned }
  })
}

/**
 * Locks a table and returns the statements that restore its kept partition. If the table did not exist before the last
 * publication, it becomes empty.
 */
async function planRestoredTable(
  client: ClientBase,
  { schema, table, partition }: ReplacedTable,
  read: string,
  lockTimeoutMs: number,
): Promise<RestoredTable> {
  const qualifiedName = qualifyName(schema, table)
  const problemContext = { qualifiedName }
  const keptShape = partition === null ? undefined : await readShape(client, 'sluice', partition)
  if (partition !== null && !keptShape) throw nothingKept(qualifiedName)
  if (await readShape(client, schema, table))
    await client.query(`lock table only ${qualifiedName} in share update exclusive mode`)
  const currentShape = await readShape(client, schema, table)
  if (currentShape && !currentShape.owned) throw tableNotOwned(problemContext)
  if (currentShape?.partition)
    await client.query(blockAutovacuum(qualifyName('sluice', currentShape.partition), lockTimeoutMs))
  if (partition !== null) await client.query(blockAutovacuum(qualifyName('sluice', partition), lockTimeoutMs))
  const partitionWithRows = partition ?? currentShape?.partition
  const lastEntry = await (partitionWithRows === undefined ? undefined : findLastPublication(client, partitionWithRows))
  const last = partition === null ? undefined : lastEntry
  const attached =
    partition === null
      ? []
      : [`alter table ${qualifiedName} attach partition ${qualifyName('sluice', partition)} default`]
  const detached = currentShape?.partition
    ? [`alter table ${qualifiedName} detach partition ${qualifyName('sluice', currentShape.partition)}`]
    : []
  const change =
    keptShape && partition !== null
      ? await planShapeChange(client, { qualifiedName, currentShape, keptShape, partition, read })
      : noShapeChange
  const sourceShape = rememberVanished(last?.sourceShape ?? { columns: [] }, change.stay)
  const rows = last?.tableRows ?? 0
  const rowsBefore = currentShape?.lastPublication?.tableRows
  const listsTables = lastEntry?.details?.listsTables
  const published: PublishedTable = {
    schema,
    table,
    rows,
    bytes: last?.bytes ?? 0,
    changes: change.changes,
    ...(rowsBefore !== undefined && { rowsBefore }),
    ...(listsTables && { listsTables }),
  }
  return {
    qualifiedName,
    statements: [...detached, ...change.statements, ...attached],
    views: change.views,
    replaced: { schema, table, partition: currentShape?.partition ?? null },
    published,
    entry: {
      partition: partition ?? '',
      published,
      suppliedColumns: last?.suppliedColumns ?? [],
      mode: 'RESTORE',
      tableRows: rows,
      cursor: last?.cursor ?? undefined,
      profile: parseProfileReference(last?.profile),
      sourceShape,
    },
  }
}

interface ShapeChange {
  statements: string[]
  views: DependentView[]
  changes: TableChange[]
  /** Columns that were added since the kept version and that views read. They stay, without values. */
  stay: ReturnType<typeof columnsOf>
}

const noShapeChange: ShapeChange = { statements: [], views: [], changes: [], stay: [] }

interface RestoredShapes {
  qualifiedName: string
  currentShape: PostgresShape | undefined
  keptShape: PostgresShape
  partition: string
  read: string
}

/**
 * Plans the change back to the table's earlier columns and types. A column that was added later is dropped, or stays
 * without values if a view reads it.
 */
async function planShapeChange(
  client: ClientBase,
  { qualifiedName, currentShape, keptShape, partition, read }: RestoredShapes,
): Promise<ShapeChange> {
  const before = columnsOf(keptShape)
  if (!currentShape) return { ...noShapeChange, statements: createTable(qualifiedName, before, read) }
  const now = columnsOf(currentShape)
  const names = new Set(before.map(({ name }) => name))
  const stay: typeof now = []
  for (const column of now.filter(({ name }) => !names.has(name)))
    if ((await listDependentViews(client, currentShape.oid, [column.name])).length > 0) stay.push(column)
  const currentColumns = new Map(now.map((column) => [column.name, column]))
  const dropped = now
    .map(({ name }) => name)
    .filter((name) => !names.has(name) && !stay.some((one) => one.name === name))
  const retyped = before.filter(({ name, type }) => currentColumns.has(name) && currentColumns.get(name)!.type !== type)
  const plan = { columns: [...before, ...stay], dropped, retyped, missing: [], restaged: [], changes: [], memory: [] }
  const { tableStatements, rebuild } = planEvolution(qualifiedName, currentShape, plan, [...names])
  const here = qualifyName('sluice', partition)
  const completed =
    stay.length === 0
      ? []
      : [
          ...stay.map((column) => `alter table ${here} add column ${columnList([column])}`),
          ...columnComments(here, stay),
        ]
  const reshaped = rebuild
    ? [`drop table ${qualifiedName}`, ...createTable(qualifiedName, plan.columns, read)]
    : tableStatements
  return {
    statements: [...completed, ...reshaped],
    views: await findBlockingViews(client, { qualifiedName }, currentShape, plan, rebuild),
    changes: [
      ...dropped.map((column): TableChange => ({ kind: 'COLUMN_DROPPED', column })),
      ...before
        .filter(({ name }) => !currentColumns.has(name))
        .map(({ name, type }): TableChange => ({ kind: 'COLUMN_ADDED', column: name, to: type })),
      ...retyped.map(
        ({ name, type }): TableChange => ({
          kind: 'TYPE_CHANGED',
          column: name,
          from: currentColumns.get(name)!.type,
          to: type,
        }),
      ),
    ],
    stay,
  }
}

function rememberVanished(sourceShape: SourceShape, stay: ReturnType<typeof columnsOf>): SourceShape {
  if (stay.length === 0) return sourceShape
  const added = stay.map(({ name, label, type, dataType }) => ({
    name,
    label,
    type,
    dataType,
    vanished: true as const,
  }))
  return { ...sourceShape, columns: [...sourceShape.columns, ...added] }
}
