import {
  type ColumnFacts,
  LeaseLost,
  type RowContent,
  type LoadTarget,
  type StagedTable,
  type StoredType,
  WarehouseProblem,
  type WrittenRows,
} from '../../warehouse.ts'
import { checkColumns } from '../../sql-text/check-identifier.ts'
import type { TablePlace } from '../../catalog.ts'
import type { SqlDialect, SqlSession } from '../sql-dialect.ts'
import { deleteMetadata, setMetadata } from '../publication-ledger.ts'
import { plainSql } from '../sql-statement.ts'
import { toWarehouseProblem } from '../map-server-errors.ts'
import { recoverPending } from '../publication-recovery.ts'
import {
  countRows,
  withSession,
  findRelation,
  hiddenName,
  checkName,
  readShape,
  type TableShape,
  quotePlace,
} from '../table-shape.ts'
import { columnsToReplace } from '../../shape/previous-source-columns.ts'
import { previousSourceShape, planTableAfterLoad, type LoadPlan } from './plan-load.ts'
import { tableMetadata, stagingColumn, type StagingColumn } from './staging-columns.ts'

/** The maximum number of columns of a table, including columns that the source no longer has. */
const maxColumns = 1_000

export class SqlStagedTable implements StagedTable {
  readonly target: LoadTarget
  /** The table's columns after publication. Columns that only earlier loads had are empty. */
  readonly columns: readonly StagingColumn[]
  /** Source columns that are excluded from the table. They are dropped after the rows are written. */
  readonly ignored: readonly StagingColumn[]
  /** Statistics of each column's values. Set after all rows are written. */
  columnFacts: ColumnFacts[] | undefined
  /** JSON state that the source receives at the next load. */
  reading: unknown
  readonly staging: TablePlace
  /** The table's name in messages. */
  readonly qualifiedName: string
  /** The object id of the staging table. It identifies the table even if another table takes its name. */
  id = ''
  written: WrittenRows | undefined
  /** True once a transformation has changed the staged rows. */
  transformed = false
  profile: string | undefined
  /** True once this process knows that the publication of these rows is decided. */
  decided = false
  /** The columns of the source at the last load, according to the latest read of the table. */
  previouslySupplied: readonly string[] = []
  /** True if the staging table is published, or its publication is decided. */
  published = false
  readonly #dialect: SqlDialect
  #isWritten = false

  constructor(dialect: SqlDialect, target: LoadTarget, { planned, columns }: Pick<LoadPlan, 'planned' | 'columns'>) {
    this.#dialect = dialect
    this.target = target
    this.columns = columns
    this.ignored = planned.filter(({ ignored }) => ignored).map(stagingColumn)
    const { schema, table, run, attempt, staging = 1 } = target
    this.staging = { schema, name: hiddenName('load', run, attempt, table, staging) }
    this.qualifiedName = quotePlace({ schema, name: table })
  }

  get stagingTable(): string {
    return this.#dialect.names.place(this.staging)
  }

  get keys(): string[] {
    return this.target.columns.filter(({ primaryKey }) => primaryKey).map(({ name }) => name)
  }

  async write(content: RowContent, signal: AbortSignal): Promise<WrittenRows> {
    if (this.#isWritten) throw new Error('A load is written once.')
    this.#isWritten = true
    const { types } = this.#dialect
    const byName = new Map([...this.columns, ...this.ignored].map((column) => [column.name, column]))
    const columns = this.target.columns.map(({ name }) => {
      const column = byName.get(name)!
      return { ...column, stored: tupleType(types.describe(column.type), column) }
    })
    const { run, attempt } = this.target
    try {
      const filling = { place: this.staging, columns, run, attempt, quotedPlace: this.qualifiedName }
      const written = await this.#dialect.copyRows(filling, content, signal)
      const superseded = await this.#deleteSuperseded(written.rows, signal)
      this.written = { ...written, rows: written.rows - superseded, superseded }
      await this.#dropIgnored(signal)
    } catch (error) {
      throw toWarehouseProblem(this.#dialect, error, this.qualifiedName)
    }
    this.columnFacts = content.facts?.() ?? []
    this.reading = content.reading?.()
    return this.written
  }

  /**
   * Deletes the rows with the same key as a row with greater values in the `precedence` columns. Returns their number.
   * `rows` is the number of rows before. Does nothing without a key or `precedence`.
   */
  async #deleteSuperseded(rows: number, signal: AbortSignal): Promise<number> {
    const { precedence = [] } = this.target
    if (precedence.length === 0 || this.keys.length === 0) return 0
    const { quoted } = this.#dialect.names
    // The table name stands for the older row, because some servers allow no alias in DELETE.
    const older = quoted(this.staging.name)
    const compare = (name: string, operator: '=' | '>') => `newer.${quoted(name)} ${operator} ${older}.${quoted(name)}`
    const hasSameKey = this.keys.map((name) => compare(name, '=')).join(' and ')
    // Some servers cannot compare several columns at once. For the columns a and b, the condition is therefore
    // `newer.a > older.a or newer.a = older.a and newer.b > older.b`.
    const isNewer = precedence
      .map((name, index) => {
        const areEqualBefore = precedence.slice(0, index).map((earlierName) => compare(earlierName, '='))
        return [...areEqualBefore, compare(name, '>')].join(' and ')
      })
      .join(' or ')
    const text = `delete from ${this.stagingTable} where exists (
      select 1 from ${this.stagingTable} as newer where ${hasSameKey} and (${isNewer}))`
    return withSession(this.#dialect, { role: 'service', signal }, async (session) => {
      await session.execute(plainSql(text))
      return rows - (await countRows(this.#dialect, session, this.staging))
    })
  }

  /** The names of the source's columns that the table includes. */
  get suppliedColumns(): string[] {
    const ignored = new Set(this.ignored.map(({ name }) => name))
    return this.target.columns.map(({ name }) => name).filter((name) => !ignored.has(name))
  }

  /** The columns that the source filled, or that a transformation may have filled. */
  get filledColumns(): string[] {
    return this.transformed ? this.columns.map(({ name }) => name) : this.suppliedColumns
  }

  async #dropIgnored(signal: AbortSignal): Promise<void> {
    if (this.ignored.length === 0) return
    const { changes } = this.#dialect
    await withSession(this.#dialect, { role: 'service', signal }, async (session) => {
      for (const { name } of this.ignored) await session.execute(changes.dropColumn(this.staging, name))
    })
  }

  /** Drops the staging table. Never throws, because maintenance drops what remains. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.published) return
    const dialect = this.#dialect
    await withSession(dialect, { role: 'service' }, async (session) => {
      // Another process may have published the staging table. Then its metadata belongs to the published table and must
      // stay.
      if ((await findRelation(dialect, session, this.staging))?.id !== this.id) return
      await session.execute(dialect.changes.dropTable(this.staging))
      await deleteMetadata(dialect, session, this.id)
    }).catch(() => {})
  }
}

/** Returns the type in which the tuples contain the values of a column that is stored as `type`. */
function tupleType(type: StoredType, { dataType }: StagingColumn): StoredType {
  if (type.dataType === dataType) return type
  // A text type, or JSON stored as text. TEXT if no narrower type is known.
  return { dataType: /^(TEXT|VARCHAR|CHARACTER|JSONB)/.test(dataType) ? dataType : 'TEXT' }
}

/** Creates the staging table. Throws `LeaseLost` if another process has created it for the same attempt. */
export async function stageTable(
  dialect: SqlDialect,
  target: LoadTarget,
  signal: AbortSignal,
): Promise<SqlStagedTable> {
  const { run, attempt, schema, table } = target
  checkName(dialect, 'schema', schema)
  checkName(dialect, 'table', table)
  const qualifiedName = quotePlace({ schema, name: table })
  checkColumns(target, qualifiedName, (name) => checkName(dialect, 'column', name))
  try {
    return await withSession(dialect, { role: 'service', signal }, async (session) => {
      await recoverPending(dialect, session)
      if (!(await dialect.catalogue.schemas(session)).includes(schema))
        throw new WarehouseProblem('SCHEMA_MISSING', `Schema "${schema}" does not exist. Create it first.`)
      const existing = await readShape(dialect, session, { schema, name: table })
      assertTableOwned(existing, qualifiedName)
      const plan = planTableAfterLoad(dialect, existing, { target })
      const load = new SqlStagedTable(dialect, target, plan)
      load.previouslySupplied = columnsToReplace(previousSourceShape(existing), target.shape)
      load.id = await createStagingTable(dialect, session, load)
      await setMetadata(dialect, session, load.id, {
        kind: 'STAGING',
        run,
        attempt,
        madeAt: Date.now(),
        target: [schema, table],
        ...tableMetadata(dialect.types, load.columns),
      })
      return load
    })
  } catch (error) {
    signal.throwIfAborted()
    throw toWarehouseProblem(dialect, error, qualifiedName)
  }
}

/**
 * Creates the staging table of a load and returns its object id. Throws TOO_MANY_COLUMNS, and `LeaseLost` if the table
 * exists.
 */
async function createStagingTable(
  dialect: SqlDialect,
  session: SqlSession,
  { target, staging, qualifiedName, columns, ignored }: SqlStagedTable,
): Promise<string> {
  // The source also sends the columns that the table excludes, so they exist until the rows are written.
  const stagingColumns = [...columns, ...ignored]
  if (stagingColumns.length > maxColumns)
    throw new WarehouseProblem(
      'TOO_MANY_COLUMNS',
      `${qualifiedName} would have more than 1,000 columns, including those that the source no longer has. Select fewer columns, or load a new table.`,
    )
  if (await findRelation(dialect, session, staging)) throw attemptTaken(target)
  await session.execute(dialect.changes.createTable(staging, stagingColumns)).catch(async (error: unknown) => {
    // Another process may have created the table after the check.
    if (await findRelation(dialect, session, staging).catch(() => undefined)) throw attemptTaken(target)
    throw error
  })
  return (await findRelation(dialect, session, staging))!.id
}

const attemptTaken = ({ run, attempt }: LoadTarget) =>
  new LeaseLost(`Attempt ${attempt} of run ${run} already has a staging table of another process.`)

/** Throws TABLE_NOT_OURS if a table or view of this name exists that no load created. */
export function assertTableOwned(existing: TableShape | undefined, qualifiedName: string): void {
  if (existing && existing.metadata?.kind !== 'LOADED')
    throw new WarehouseProblem(
      'TABLE_NOT_OURS',
      `${qualifiedName} already exists and was not created by a load. Choose another table name, or rename that table.`,
    )
}
