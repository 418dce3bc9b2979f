import { checkColumns } from '../sql-text/check-identifier.ts'
import { type ClientBase, escapeIdentifier } from 'pg'
import {
  type ColumnFacts,
  LeaseLost,
  type RowContent,
  type LoadTarget,
  type MergedRows,
  type StagedTable,
  type WrittenRows,
  WarehouseProblem,
} from '../warehouse.ts'
import { type PostgresPools, withClient } from './postgres-connections.ts'
import { type CopyResult, copyInto } from './copy/copy-into-staging.ts'
import { planLoad } from '../shape/plan-load.ts'
import type { PlannedColumn } from '../shape/plan-shape.ts'
import { previousSourceShape } from './postgres-catalog.ts'
import { ensureFreeBytesInDatabase, tableBytes } from './server/database-size-limit.ts'
import { checkColumnName, checkSchemaName, checkTableName, qualifyName } from './sql-identifiers.ts'
import { listBlockingSnapshots, type BlockingSnapshots } from './copy/blocking-snapshots.ts'
import { type ProblemContext, tableNotOwned, warehouseProblem } from './map-server-errors.ts'
import { type PostgresShape, readShape, readShapes } from './table-shape.ts'
import { createStaging, dropDetached, stagingName } from './staging-table-ddl.ts'
import { sqlStateOf, sqlStates } from './server/sql-states.ts'
import { describeType, typeRules } from './column-types.ts'

export class PostgresStagedTable implements StagedTable {
  readonly target: LoadTarget
  readonly stagingTable: string
  readonly problemContext: ProblemContext
  /**
   * The row and byte counts of `write`, once it has finished. A transformation may change `rows`, but not `sourceRows`.
   */
  written: (CopyResult & { sourceRows?: number }) | undefined
  /**
   * The transactions that must end before the rows may be published, because they cannot see the rows. Empty if every
   * row is frozen, or if the rows are merged into the published partition.
   */
  blockingSnapshots: BlockingSnapshots[] = []
  /** True once a transformation has changed the staged rows. */
  transformed = false
  profile: string | undefined
  /** The source columns of earlier loads that a merge replaces, according to the latest read of the table. */
  previouslySupplied: readonly string[] = []
  /** The staging table of the parent records to which these rows belong, if the run has one. */
  parentLoad: PostgresStagedTable | undefined
  /**
   * The published rows that were copied to the staging table for a merge: their number, and the run that published
   * them. Undefined if no rows were copied.
   */
  copiedRows: { rows: number; from: string } | undefined
  /**
   * The numbers of rows that the merge changes, if the load was compared with its table. `run` is the run that had
   * published the table at the time of the comparison.
   */
  comparison: { merged: MergedRows; run: string } | undefined
  /** True once the staging table is the published partition. */
  published = false
  /** The shapes of this table and of the table that it will replace, when they were last read. */
  shapes: LoadShapes | undefined
  /** The stored types of the target's columns before the transformation. */
  readonly planned: readonly PlannedColumn[]
  /** Statistics of each column's values. Set after all rows are written. */
  columnFacts: ColumnFacts[] | undefined
  /** The JSON state of the source. The source receives it at the next load. */
  reading: unknown
  /** The columns that the source or a transformation filled. Set once no later step changes them. */
  filledColumns: string[] | undefined
  /**
   * The size in bytes of the published tables that the run replaces: this one and those that the run has staged before.
   * 0 if the run does not replace tables, or if the database has no size limit.
   */
  readonly replacedBytes: number
  readonly #pools: PostgresPools
  #hasStartedWriting = false

  constructor(pools: PostgresPools, target: LoadTarget, planned: readonly PlannedColumn[], replacedBytes = 0) {
    this.#pools = pools
    this.replacedBytes = replacedBytes
    this.planned = planned
    this.target = target
    this.stagingTable = stagingName(target)
    this.problemContext = problemContextOf(target)
  }

  /** The schema and name of the staging table. */
  get staging(): { schema: string; table: string } {
    return { schema: 'sluice', table: this.stagingTable }
  }

  /** The names of the key columns. */
  get keys(): string[] {
    return this.target.columns.filter(({ primaryKey }) => primaryKey).map(({ name }) => name)
  }

  /** See `StagedTable.write`. Frees disk space and throws a retryable problem if the disk is full. */
  async write(content: RowContent, signal: AbortSignal): Promise<WrittenRows> {
    if (this.#hasStartedWriting) throw new Error('A load is written once.')
    this.#hasStartedWriting = true
    const columns = this.target.columns.map(({ name }) => escapeIdentifier(name)).join(', ')
    // The previous attempt may have failed because readers never ended. A retry therefore freezes its rows, so its
    // publication need not wait for readers.
    const frozen = this.target.attempt > 1
    const types = this.planned.map(({ type }) => describeType(type))
    const ensureFreeBytes = createFreeBytesCheck(this.#pools, this, signal)
    const request = { staging: this.stagingTable, columns, types, content, frozen, ensureFreeBytes }
    const written = await copyInto(this.#pools.copies, request, this.problemContext, signal).catch(
      async (error: unknown) => {
        throw (await makeRoomForRetry(error, this.#pools)) ?? error
      },
    )
    // COPY may have written more since the last check of the disk limit.
    await ensureFreeBytes?.()
    const superseded = await this.#deleteSuperseded(signal)
    const isVisibleToAll = written.frozen && superseded === 0
    if (!isVisibleToAll)
      this.blockingSnapshots = [await withClient(this.#pools.statements, signal, listBlockingSnapshots)]
    await this.#dropIgnoredColumns(signal)
    this.columnFacts = content.facts?.() ?? []
    this.reading = content.reading?.()
    const rows = written.rows - superseded
    this.written = { ...written, rows, frozen: isVisibleToAll, sourceRows: written.rows }
    return { rows, bytes: written.bytes, superseded }
  }

  /**
   * If several rows have the same key, deletes all but those with the highest values in the columns
   * `target.precedence`. Returns the number of deleted rows.
   */
  async #deleteSuperseded(signal: AbortSignal): Promise<number> {
    const { precedence = [] } = this.target
    if (precedence.length === 0 || this.keys.length === 0) return 0
    const table = qualifyName('sluice', this.stagingTable)
    const haveSameKey = this.keys.map((name) => `newer.${escapeIdentifier(name)} = older.${escapeIdentifier(name)}`)
    // Returns the SQL expression for the values by which rows are compared. Texts are compared by their bytes.
    const precedenceOf = (alias: string) => {
      const values = precedence.map((name) => {
        const { type } = this.planned.find((column) => column.name === name)!
        return `${alias}.${escapeIdentifier(name)}${type === 'text' ? ' collate "C"' : ''}`
      })
      return `row(${values.join(', ')})`
    }
    try {
      return await withClient(this.#pools.transactions, signal, async (client) => {
        await client.query(`begin; set local statement_timeout = '12h'; analyze ${table}`)
        const { rowCount } = await client.query(
          `delete from ${table} as older
           where exists (select from ${table} as newer where ${haveSameKey.join(' and ')} and ${precedenceOf('newer')} > ${precedenceOf('older')})`,
        )
        await client.query('commit')
        return rowCount ?? 0
      })
    } catch (error) {
      signal.throwIfAborted()
      throw warehouseProblem(error, this.problemContext)
    }
  }

  /** The names of the source columns that the table includes. */
  get suppliedColumns(): string[] {
    return this.planned.filter(({ ignored }) => !ignored).map(({ name }) => name)
  }

  /** Drops the source columns that the table must not include. COPY needed them, because each row has their values. */
  async #dropIgnoredColumns(signal: AbortSignal): Promise<void> {
    const table = qualifyName('sluice', this.stagingTable)
    const ignoredColumns = this.planned.filter(({ ignored }) => ignored)
    if (ignoredColumns.length === 0) return
    const drops = ignoredColumns.map(({ name }) => `alter table ${table} drop column ${escapeIdentifier(name)}`)
    await withClient(this.#pools.statements, signal, (client) => client.query(drops.join(';')))
  }

  /**
   * Drops the staging table, unless it is published. Never throws. If the warehouse is down, maintenance drops the
   * table later.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.published) await dropDetached(this.#pools.statements, this.stagingTable).catch(() => {})
  }
}

/**
 * Creates the staging table of a load. Throws `LeaseLost` if another process has created it for the same attempt,
 * WAREHOUSE_FULL if the database exceeds its size limit, and the errors of `planLoad` and of the name checks.
 */
export async function stageTable(
  pools: PostgresPools,
  target: LoadTarget,
  signal: AbortSignal,
): Promise<PostgresStagedTable> {
  checkSchemaName(target.schema)
  checkTableName(target.table)
  checkColumns(target, qualifyName(target.schema, target.table), checkColumnName)
  const { run, attempt, schema, table } = target
  const problemContext = problemContextOf(target)
  try {
    return await withClient(pools.transactions, signal, async (client) => {
      // The database may exceed its size limit by the sizes of the tables that the run replaces.
      const replacesTables = !target.shape?.merging
      const sizeOf = async (tables: readonly string[]) =>
        pools.databaseBytes !== undefined && replacesTables ? tableBytes(client, schema, tables) : 0
      const otherTablesBytes = await sizeOf(target.otherReplacedTables ?? [])
      await ensureFreeBytes(pools, signal, { replacedBytes: otherTablesBytes })
      const existing = await readShape(client, schema, table)
      if (existing && !existing.owned) throw tableNotOwned(problemContext)
      if (!existing && !target.dry) await assertSchemaExists(client, schema)
      const { columns } = planLoad(typeRules, previousSourceShape(existing), { target })
      const replacedBytes = otherTablesBytes + (await sizeOf([table]))
      const load = new PostgresStagedTable(pools, target, columns, replacedBytes)
      await createStaging(client, load.stagingTable, { run, attempt, schema, table }, columns)
      return load
    })
  } catch (error) {
    if (sqlStateOf(error) === sqlStates.duplicateTable)
      throw new LeaseLost(`Attempt ${attempt} of run ${run} already has a staging table of another process.`)
    if (signal.aborted) throw error
    throw warehouseProblem(error, problemContext)
  }
}

async function assertSchemaExists(client: ClientBase, schema: string): Promise<void> {
  const { rowCount } = await client.query('select from pg_namespace where nspname = $1', [schema])
  if (!rowCount) throw new WarehouseProblem('SCHEMA_MISSING', `Schema "${schema}" does not exist. Create it first.`)
}

/**
 * Returns a function that returns the number of bytes which the load may still write, and throws WAREHOUSE_FULL if it
 * may write none. Returns undefined if the database has no size limit.
 */
export function createFreeBytesCheck(
  pools: PostgresPools,
  { replacedBytes, problemContext }: PostgresStagedTable,
  signal: AbortSignal,
): (() => Promise<number>) | undefined {
  if (pools.databaseBytes === undefined) return undefined
  return () =>
    ensureFreeBytes(pools, signal, { replacedBytes }).catch((error: unknown) => {
      throw warehouseProblem(error, problemContext)
    })
}

/**
 * Returns the number of bytes that may still be written in addition to `neededBytes`. Returns Infinity if the database
 * has no size limit. The database may exceed its limit by `replacedBytes`. Throws WAREHOUSE_FULL.
 */
export async function ensureFreeBytes(
  { databaseBytes, makeRoom, statements }: PostgresPools,
  signal: AbortSignal,
  { replacedBytes = 0, neededBytes = 0 }: { replacedBytes?: number; neededBytes?: number },
): Promise<number> {
  if (databaseBytes === undefined) return Infinity
  return ensureFreeBytesInDatabase(statements, { databaseBytes, replacedBytes, neededBytes, makeRoom }, signal)
}

/**
 * If a load failed because the disk is full, drops kept tables of earlier publications that no reader uses. Returns a
 * retryable problem if this freed space, otherwise undefined.
 */
async function makeRoomForRetry(thrown: unknown, { makeRoom }: PostgresPools): Promise<WarehouseProblem | undefined> {
  if (!(thrown instanceof WarehouseProblem) || thrown.code !== 'DISK_FULL') return undefined
  const droppedCount = await makeRoom().catch(() => 0)
  if (droppedCount === 0) return undefined
  return new WarehouseProblem(thrown.code, thrown.message, { retryable: true, cause: thrown })
}

/** The shapes of a staging table and of the table that it will replace, if that exists. */
export interface LoadShapes {
  staging: PostgresShape
  currentShape: PostgresShape | undefined
}

/**
 * Reads the shapes of all loads in one statement and stores them in `load.shapes`. Throws `LeaseLost` if a staging
 * table does not exist.
 */
export async function readLoadShapes(client: ClientBase, loads: readonly PostgresStagedTable[]): Promise<void> {
  const targets = loads.map(({ target }) => target)
  const stagingTables = loads.map(({ staging }) => staging)
  const shapes = await readShapes(client, [...targets, ...stagingTables])
  for (const [index, load] of loads.entries()) {
    const currentShape = shapes[index]
    const staging = shapes[loads.length + index]
    if (!staging) throw stagingTableMissing(load)
    load.shapes = { staging, currentShape }
  }
}

export function stagingTableMissing(load: PostgresStagedTable): LeaseLost {
  return new LeaseLost(
    `The staging table of attempt ${load.target.attempt} of run ${load.target.run} no longer exists. Another attempt may have taken over the run.`,
  )
}

function problemContextOf({ schema, table, columns }: LoadTarget): ProblemContext {
  return { qualifiedName: qualifyName(schema, table), labels: new Map(columns.map(({ name, label }) => [name, label])) }
}
