import { checkColumns } from '../../sql-text/check-identifier.ts'
import { randomUUID } from 'node:crypto'
import {
  type ColumnFacts,
  LeaseLost,
  type RowContent,
  type LoadTarget,
  type StagedTable,
  WarehouseProblem,
  type WrittenRows,
} from '../../warehouse.ts'
import { type ClientAccess, maxStatementSeconds } from '../clickhouse-settings.ts'
import { executeStatement, rowsOf } from '../protocol/http-client.ts'
import {
  checkColumnName,
  checkSchemaName,
  checkTableName,
  databaseOf,
  formatLiteral,
  qualifyName,
  quoteIdentifier,
  runDatabase,
  quotePlace,
} from '../sql-identifiers.ts'
import { findLedgerEntry } from '../publication-ledger.ts'
import { columnsToReplace } from '../../shape/previous-source-columns.ts'
import type { MeasuredLoad } from '../../shape/plan-load.ts'
import { previousSourceShape, planTableAfterLoad, type LoadPlan } from './plan-load.ts'
import { errorCodes, isCode, warehouseProblem } from '../map-server-errors.ts'
import type { StreamCounts } from '../../rows/convert-copy-tuples.ts'
import { rowBinary } from '../protocol/row-binary-cells.ts'
import {
  type ClickHouseShape,
  columnText,
  createTable,
  readShape,
  stagingColumn,
  type StagingColumn,
  type TableMetadata,
  textColumnsOf,
  waitForAlter,
} from '../table-shape.ts'
import { anyDecimal, digitsOf } from '../column-types.ts'

/**
 * The maximum number of columns of a table, including columns that the source no longer has. The limit is the same in
 * all warehouses.
 */
const maxColumns = 1600

export class ClickHouseStagedTable implements StagedTable {
  readonly target: LoadTarget
  /** The quoted `database.table` of the staging table. It has the same table name as its target. */
  readonly stagingTable: string
  readonly database: string
  /** The metadata for the comment of the table to publish. */
  metadata: TableMetadata & { load: string }
  /**
   * The UUID of the staging table. It identifies the table even after a rename, while another table may take its name.
   */
  uuid = ''
  /**
   * The table's columns after publication. Columns of earlier loads are added to the staging table only at publication.
   */
  readonly columns: readonly StagingColumn[]
  /** Source columns that are excluded from the table. They are dropped after the rows are written. */
  readonly ignored: readonly StagingColumn[]
  /** Statistics of each column's values. Set after all rows are written. */
  columnFacts: ColumnFacts[] | undefined
  /** JSON state that the source receives at the next load. */
  reading: unknown
  /** The columns that the source or a transformation filled. Set once no later step changes them. */
  filledColumns: string[] | undefined
  readonly qualifiedName: string
  written: StreamCounts | undefined
  /** True once a transformation has changed the staged rows. */
  transformed = false
  /** The columns of the source at the last load, according to the latest read of the table. */
  previouslySupplied: readonly string[] = []
  profile: string | undefined
  /**
   * True once the publication may have been decided. From then on, recovery needs the staging table, even if this
   * process never learns the result.
   */
  decided = false
  readonly #access: ClientAccess
  #isWritten = false

  constructor(access: ClientAccess, target: LoadTarget, { planned, table: { columns } }: LoadPlan) {
    this.#access = access
    this.target = target
    this.columns = columns
    this.ignored = planned.filter(({ ignored }) => ignored).map(stagingColumn)
    this.database = runDatabase(access.key, target)
    this.stagingTable = qualifyName(this.database, target.table)
    this.qualifiedName = quotePlace(target.schema, target.table)
    const { run, attempt, schema, table } = target
    this.metadata = { load: randomUUID(), run, attempt, schema, table, texts: textColumnsOf(columns) }
  }

  get keys(): string[] {
    return this.target.columns.filter(({ primaryKey }) => primaryKey).map(({ name }) => name)
  }

  async write(content: RowContent, signal: AbortSignal): Promise<WrittenRows> {
    if (this.#isWritten) throw new Error('A load is written once.')
    this.#isWritten = true
    const columnsByName = new Map([...this.columns, ...this.ignored].map((column) => [column.name, column]))
    const orderedColumns = this.target.columns.map(({ name }) => columnsByName.get(name)!)
    const storedTypes = orderedColumns.map(({ dataType, type }) => ({
      dataType: tupleType(dataType, type),
      ...decimalSize(type),
    }))
    const columns = orderedColumns.map(({ label, type, primaryKey }, index) => ({
      label,
      sqlType: type,
      nullable: !primaryKey,
      stored: storedTypes[index]!,
    }))
    const { qualifiedName } = this
    const sentCounts: StreamCounts = { rows: 0, bytes: 0 }
    const names = orderedColumns.map(({ name }) => quoteIdentifier(name)).join(', ')
    // An error of the source is rethrown unchanged, even if the aborted connection causes a second error.
    let sourceError: unknown
    async function* body() {
      try {
        yield* rowBinary(content.rows(storedTypes), columns, qualifiedName, sentCounts)
      } catch (error) {
        sourceError = error
        throw error
      }
    }
    try {
      await executeStatement(this.#access.load, `insert into ${this.stagingTable} (${names}) format RowBinary`, {
        body: body(),
        signal,
        settings: { async_insert: 0, insert_deduplicate: 0, max_execution_time: maxStatementSeconds },
      })
    } catch (error) {
      if (sourceError !== undefined) throw sourceError
      signal.throwIfAborted()
      throw warehouseProblem(error, qualifiedName)
    }
    const rows = await this.count()
    if (rows !== sentCounts.rows)
      throw new WarehouseProblem(
        'WAREHOUSE_REFUSED',
        `The warehouse stored ${rows} rows of ${qualifiedName}, but ${sentCounts.rows} were sent. The run is retried automatically.`,
        { retryable: true },
      )
    const superseded = await this.#deleteSuperseded(rows, signal)
    await this.#dropIgnored()
    this.columnFacts = content.facts?.() ?? []
    this.reading = content.reading?.()
    this.written = sentCounts
    return { rows: rows - superseded, bytes: sentCounts.bytes, superseded }
  }

  /**
   * Deletes the rows with the same key as a row with greater values in the `precedence` columns. Returns their number.
   * Does nothing without a key or `precedence`.
   */
  async #deleteSuperseded(rows: number, signal: AbortSignal): Promise<number> {
    const { precedence = [] } = this.target
    if (precedence.length === 0 || this.keys.length === 0) return 0
    const keys = this.keys.map(quoteIdentifier).join(', ')
    const rank = `tuple(${precedence.map(quoteIdentifier).join(', ')})`
    const greatestRanks = `select ${keys}, max(${rank}) from ${this.stagingTable} group by ${keys}`
    await executeStatement(
      this.#access.service,
      `alter table ${this.stagingTable} delete where (${keys}, ${rank}) not in (${greatestRanks})`,
      { signal, settings: { mutations_sync: 2, max_execution_time: maxStatementSeconds } },
    ).catch((error: unknown) => {
      signal.throwIfAborted()
      throw warehouseProblem(error, this.qualifiedName)
    })
    return rows - (await this.count())
  }

  /** The source columns that the table includes. */
  get suppliedColumns(): string[] {
    const ignored = new Set(this.ignored.map(({ name }) => name))
    return this.target.columns.map(({ name }) => name).filter((name) => !ignored.has(name))
  }

  async #dropIgnored(): Promise<void> {
    if (this.ignored.length === 0) return
    const drops = this.ignored.map(({ name }) => `drop column ${quoteIdentifier(name)}`)
    await executeStatement(this.#access.service, `alter table ${this.stagingTable} ${drops.join(', ')}`, {
      settings: waitForAlter,
    }).catch((error: unknown) => {
      throw warehouseProblem(error, this.qualifiedName)
    })
  }

  async count(): Promise<number> {
    const [row] = await rowsOf<{ rows: number }>(
      this.#access.read,
      `select count() as rows from ${this.stagingTable}`,
      { settings: { max_execution_time: maxStatementSeconds } },
    ).catch((error: unknown) => {
      throw warehouseProblem(error, this.qualifiedName)
    })
    return row!.rows
  }

  /**
   * Drops the staging table, and the run's database if it is empty then. Does nothing once the publication may have
   * been decided. Never throws, because maintenance drops what remains.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.decided) return
    const { service } = this.#access
    try {
      await executeStatement(service, `drop table if exists ${this.stagingTable}`)
      const parameters = { database: this.database }
      const remainingTables = await rowsOf(
        service,
        'select 1 from system.tables where database = {database:String} limit 1',
        {
          parameters,
        },
      )
      if (remainingTables.length === 0)
        await executeStatement(service, `drop database if exists ${quoteIdentifier(this.database)}`)
    } catch {}
  }
}

/**
 * Returns the data type of a column's values in the tuples. It is TEXT for a String column, unless its data type is a
 * text or JSON.
 */
function tupleType(dataType: StagingColumn['dataType'], type: string): StagingColumn['dataType'] {
  const isTextOrJson = /^(TEXT|VARCHAR|CHARACTER|JSONB)/.test(dataType)
  return type === 'String' && !isTextOrJson ? 'TEXT' : dataType
}

/** Returns precision and scale of a decimal type. Returns an empty object for any other type and for `anyDecimal`. */
function decimalSize(type: string): { precision?: number; scale?: number } {
  if (type === anyDecimal) return {}
  const [precision, scale] = digitsOf(type)
  return precision === undefined || scale === undefined ? {} : { precision, scale }
}

/**
 * Creates the staging table of a load, in the run's database. It has the source's columns that the target will have,
 * and those that are ignored, which are dropped after the rows are written. Throws `LeaseLost` if another process has
 * created it for the same attempt.
 */
export async function stageTable(access: ClientAccess, target: LoadTarget): Promise<ClickHouseStagedTable> {
  const { run, attempt, schema, table } = target
  const qualifiedName = quotePlace(schema, table)
  checkSchemaName(schema)
  checkTableName(table)
  checkColumns(target, qualifiedName, checkColumnName)
  try {
    const load = await planStagedTable(access, target, qualifiedName)
    const suppliedNames = new Set(load.suppliedColumns)
    const suppliedColumns = load.columns.filter(({ name }) => suppliedNames.has(name))
    const columns = [...suppliedColumns, ...load.ignored]
    const comment = formatLiteral(JSON.stringify({ run, attempt }))
    await executeStatement(
      access.service,
      `create database if not exists ${quoteIdentifier(load.database)} comment ${comment}`,
    )
    await executeStatement(access.service, createTable(load.stagingTable, columns, load.metadata))
    load.uuid = await uuidOf(access, load.database, table)
    return load
  } catch (error) {
    if (isCode(error, errorCodes.tableExists))
      throw new LeaseLost(`Attempt ${attempt} of run ${run} already has a staging table of another process.`)
    throw warehouseProblem(error, qualifiedName)
  }
}

/**
 * Plans a load from the published table and its last load. Throws SCHEMA_MISSING, TABLE_NOT_OURS and TOO_MANY_COLUMNS,
 * and the errors of `planLoad`.
 */
async function planStagedTable(
  access: ClientAccess,
  target: LoadTarget,
  qualifiedName: string,
): Promise<ClickHouseStagedTable> {
  const { schema, table } = target
  const database = databaseOf({ key: access.key, schema })
  if (!target.dry && !(await hasDatabase(access, database)))
    throw new WarehouseProblem('SCHEMA_MISSING', `Schema "${schema}" does not exist. Create it first.`)
  const publishedTable = await readShape(access.service, database, table)
  assertTableOwned(publishedTable, qualifiedName)
  const lastEntry = await findLedgerEntry(access, publishedTable?.metadata?.load)
  const load = new ClickHouseStagedTable(access, target, planTableAfterLoad(publishedTable, lastEntry, { target }))
  if (load.columns.length + load.ignored.length > maxColumns)
    throw new WarehouseProblem(
      'TOO_MANY_COLUMNS',
      `${qualifiedName} would have more than 1,600 columns, including those that the source no longer has. Select fewer columns, or load a new table.`,
    )
  load.previouslySupplied = columnsToReplace(previousSourceShape(publishedTable, lastEntry), target.shape)
  return load
}

/** Returns the uuid of a table; an empty string if the table does not exist. */
export async function uuidOf({ service }: ClientAccess, database: string, name: string): Promise<string> {
  const [row] = await rowsOf<{ uuid: string }>(
    service,
    'select toString(uuid) as uuid from system.tables where database = {database:String} and name = {name:String}',
    { parameters: { database, name } },
  )
  return row?.uuid ?? ''
}

export async function hasDatabase({ service }: ClientAccess, database: string): Promise<boolean> {
  const rows = await rowsOf(service, 'select 1 from system.databases where name = {database:String}', {
    parameters: { database },
  })
  return rows.length > 0
}

/** Throws TABLE_NOT_OURS if a table or view of this name exists that no load created. */
export function assertTableOwned(existing: ClickHouseShape | undefined, qualifiedName: string): void {
  if (existing && existing.metadata?.load === undefined)
    throw new WarehouseProblem(
      'TABLE_NOT_OURS',
      `${qualifiedName} already exists and was not created by a load. Choose another table name, or rename that table.`,
    )
}

/**
 * Adds to the staging table those columns that only the published table has and will keep, in the same order, so that
 * checks on staged rows can use them. Widens staged column types if values that stay in the table would not fit. Sets
 * `load.previouslySupplied` and, at the first call, `load.filledColumns`. Does nothing if the staging table is gone.
 */
export async function completeStaging(
  access: ClientAccess,
  load: ClickHouseStagedTable,
  merging: boolean,
): Promise<void> {
  const { schema, table } = load.target
  const staging = await readShape(access.service, load.database, table)
  if (!staging) return
  const currentShape = await readShape(access.service, databaseOf({ key: access.key, schema }), table)
  load.filledColumns ??= staging.columns.map(({ name }) => name)
  const entry = await findLedgerEntry(access, currentShape?.metadata?.load)
  load.previouslySupplied = columnsToReplace(previousSourceShape(currentShape, entry), load.target.shape)
  const measuredLoad = { ...toMeasuredLoad(load), merging }
  const { table: plan } = planTableAfterLoad(currentShape, entry, measuredLoad, {
    ...staging,
    filledNames: load.filledColumns,
  })
  const wideningClauses = plan.restaged.map((column) => `modify column ${columnText(column)}`)
  const additionClauses = plan.missing.map((column) => {
    const index = plan.columns.findIndex(({ name }) => name === column.name)
    const precedingColumn = plan.columns[index - 1]
    const position = precedingColumn ? `after ${quoteIdentifier(precedingColumn.name)}` : 'first'
    return `add column ${columnText(column)} ${position}`
  })
  const clauses = [...wideningClauses, ...additionClauses]
  if (clauses.length === 0) return
  await executeStatement(access.service, `alter table ${load.stagingTable} ${clauses.join(', ')}`, {
    settings: waitForAlter,
  })
}

/** Returns those fields of a load that `planTableAfterLoad` needs. */
export const toMeasuredLoad = ({
  target,
  columnFacts,
  reading,
  transformed,
  written,
}: ClickHouseStagedTable): MeasuredLoad & { reading?: unknown } => ({
  target,
  columnFacts,
  reading,
  transformed,
  sourceRows: written?.rows,
})
