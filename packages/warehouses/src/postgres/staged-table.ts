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
import { type CopyResult, copyInto } from './copy/copy.ts'
import { planLoad } from '../shape/load-shape.ts'
import type { PlannedColumn } from '../shape/plan-shape.ts'
import { previousSourceShape } from './postgres-catalog.ts'
import { assertRoom, tableBytes } from './server/database-size-limit.ts'
import { checkColumnName, checkSchemaName, checkTableName, qualifyName } from './names.ts'
import { listOlderSnapshots, type OlderSnapshots } from './copy/older-snapshots.ts'
import { type ProblemContext, tableNotOwned, warehouseProblem } from './problems.ts'
import { type PostgresShape, readShape, readShapes } from './table-shape.ts'
import { createStaging, dropDetached, stagingName } from './staging-table-ddl.ts'
import { describeType, typeRules } from './types.ts'

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
   * row is frozen.
   */
  older: OlderSnapshots[] = []
  /** True once a transformation has changed the staged rows. */
  transformed = false
  profile: string | undefined
  /** The columns of the source at the last load, according to the latest read of the table. */
  previouslySupplied: readonly string[] = []
  /** The staging table of the records that these rows belong to, if the run has one. */
  records: PostgresStagedTable | undefined
  /**
   * The published rows that were copied to the staging table for a merge: their number, and the run that published
   * them.
   */
  copiedRows: { rows: number; from: string } | undefined
  /**
   * The rows that the merge changes in the table as the run `run` left it. Set if the load was compared with its table.
   */
  comparison: { merged: MergedRows; run: string } | undefined
  published = false
  /** The shapes of this table and of the table that it will replace, when they were last read. */
  shapes: LoadShapes | undefined
  /** The stored types of the target's columns before the transformation. */
  readonly planned: readonly PlannedColumn[]
  /** Statistics of each column's values. Set after all rows are written. */
  held: ColumnFacts[] | undefined
  /** JSON state that the source receives at the next load. */
  reading: unknown
  /** The columns that the source or a transformation filled. Set once no later step changes them. */
  brought: string[] | undefined
  /**
   * The size in bytes of this table and of the tables that the same run has staged before, if the run replaces them.
   */
  readonly replacedBytes: number
  readonly #pools: PostgresPools
  #written = false

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

  get keys(): string[] {
    return this.target.columns.filter(({ primaryKey }) => primaryKey).map(({ name }) => name)
  }

  async write(content: RowContent, signal: AbortSignal): Promise<WrittenRows> {
    if (this.#written) throw new Error('A load is written once.')
    this.#written = true
    const columns = this.target.columns.map(({ name }) => escapeIdentifier(name)).join(', ')
    // The previous attempt may have failed because readers never ended. A retry therefore freezes its rows, so its
    // publication need not wait for readers.
    const frozen = this.target.attempt > 1
    const types = this.planned.map(({ type }) => describeType(type))
    const assertFree = freeAssertion(this.#pools, this, signal)
    const copying = { staging: this.stagingTable, columns, types, content, frozen, assertFree }
    const written = await copyInto(this.#pools.copies, copying, this.problemContext, signal).catch(
      async (error: unknown) => {
        throw (await retryAfterMakingRoom(error, this.#pools)) ?? error
      },
    )
    // COPY may have written more since the last check of the disk limit.
    await assertFree?.()
    const superseded = await this.#deleteSuperseded(signal)
    if (!written.frozen || superseded > 0)
      this.older = [await withClient(this.#pools.statements, signal, listOlderSnapshots)]
    await this.#dropIgnored(signal)
    this.held = content.facts?.() ?? []
    this.reading = content.reading?.()
    const rows = written.rows - superseded
    this.written = { ...written, rows, frozen: written.frozen && superseded === 0, sourceRows: written.rows }
    return { rows, bytes: written.bytes, superseded }
  }

  /** Deletes rows with the same key as a row that takes precedence. Returns their number. */
  async #deleteSuperseded(signal: AbortSignal): Promise<number> {
    const { precedence = [] } = this.target
    if (precedence.length === 0 || this.keys.length === 0) return 0
    const table = qualifyName('sluice', this.stagingTable)
    const sameKey = this.keys.map(escapeIdentifier).map((key) => `newer.${key} = older.${key}`)
    // Texts are compared by their bytes.
    const rank = (alias: string) => {
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
           where exists (select from ${table} as newer where ${sameKey.join(' and ')} and ${rank('newer')} > ${rank('older')})`,
        )
        await client.query('commit')
        return rowCount ?? 0
      })
    } catch (error) {
      signal.throwIfAborted()
      throw warehouseProblem(error, this.problemContext)
    }
  }

  /** The source columns that the table includes. */
  get suppliedColumns(): string[] {
    return this.planned.filter(({ ignored }) => !ignored).map(({ name }) => name)
  }

  async #dropIgnored(signal: AbortSignal): Promise<void> {
    const drops = this.planned
      .filter(({ ignored }) => ignored)
      .map(
        ({ name }) => `alter table ${qualifyName('sluice', this.stagingTable)} drop column ${escapeIdentifier(name)}`,
      )
    if (drops.length === 0) return
    await withClient(this.#pools.statements, signal, (client) => client.query(drops.join(';')))
  }

  /** Drops the staging table. Never throws: maintenance drops what remains, for example if the warehouse is down. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.published) await dropDetached(this.#pools.statements, this.stagingTable).catch(() => {})
  }
}

/** Creates the staging table. Throws `LeaseLost` if another process has created it for the same attempt. */
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
      const replaces = pools.databaseBytes !== undefined && !target.shape?.merging
      const othersBytes = replaces ? await tableBytes(client, schema, target.otherReplacedTables ?? []) : 0
      await assertFree(pools, signal, { replaced: othersBytes })
      const existing = await readShape(client, schema, table)
      if (existing && !existing.owned) throw tableNotOwned(problemContext)
      if (!existing && !target.dry) await assertSchemaExists(client, schema)
      const { columns } = planLoad(typeRules, previousSourceShape(existing), { target })
      const replaced = replaces ? othersBytes + (await tableBytes(client, schema, [table])) : 0
      const load = new PostgresStagedTable(pools, target, columns, replaced)
      await createStaging(client, load.stagingTable, { run, attempt, schema, table }, columns)
      return load
    })
  } catch (error) {
    if ((error as { code?: string }).code === '42P07')
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
 * Returns a function that throws if the load may not write more. Returns undefined if the database has no size limit.
 */
export function freeAssertion(
  pools: PostgresPools,
  { replacedBytes: replaced, problemContext }: PostgresStagedTable,
  signal: AbortSignal,
): (() => Promise<number>) | undefined {
  if (pools.databaseBytes === undefined) return undefined
  return () =>
    assertFree(pools, signal, { replaced }).catch((error: unknown) => {
      throw warehouseProblem(error, problemContext)
    })
}

/**
 * Returns the number of bytes that may still be written in addition to `needed`. The database may exceed its limit by
 * `replaced` bytes. Throws WAREHOUSE_FULL.
 */
export async function assertFree(
  { databaseBytes: bytes, makeRoom, statements }: PostgresPools,
  signal: AbortSignal,
  { replaced = 0, needed = 0 }: { replaced?: number; needed?: number },
): Promise<number> {
  return bytes === undefined ? Infinity : assertRoom(statements, { bytes, replaced, needed, makeRoom }, signal)
}

/**
 * If a load failed because the disk is full, drops kept tables that no reader uses. Returns a retryable problem if this
 * freed space, otherwise undefined.
 */
async function retryAfterMakingRoom(
  thrown: unknown,
  { makeRoom }: PostgresPools,
): Promise<WarehouseProblem | undefined> {
  if (!(thrown instanceof WarehouseProblem) || thrown.code !== 'DISK_FULL') return undefined
  const dropped = await makeRoom().catch(() => 0)
  return dropped > 0 ? new WarehouseProblem(thrown.code, thrown.message, { retryable: true, cause: thrown }) : undefined
}

/** The shapes of a staging table and of the table that it will replace, if that exists. */
export interface LoadShapes {
  staging: PostgresShape
  currentShape: PostgresShape | undefined
}

/** Reads the shapes of all loads in one statement. Throws `LeaseLost` if a staging table does not exist. */
export async function readLoadShapes(client: ClientBase, loads: readonly PostgresStagedTable[]): Promise<void> {
  const shapes = await readShapes(
    client,
    loads.flatMap(({ target, staging }) => [target, staging]),
  )
  for (const [index, load] of loads.entries()) {
    const [currentShape, staging] = shapes.slice(2 * index)
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
