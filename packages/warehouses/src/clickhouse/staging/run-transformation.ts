import { randomUUID } from 'node:crypto'
import { resolveNames } from '../../sql-text/resolve-table-names.ts'
import { type TransformationStatement, WarehouseProblem } from '../../warehouse.ts'
import type { ClientAccess } from '../clickhouse-settings.ts'
import { ClickHouseError, executeStatement, stopAtServer } from '../protocol/http-client.ts'
import type { ClickHouseStagedTable } from './staged-table.ts'
import { databaseOf, formatLiteral, qualifyName } from '../sql-identifiers.ts'
import { errorCodes, warehouseProblem } from '../map-server-errors.ts'
import { hasRows, listRelations, listSchemas, readShape } from '../table-shape.ts'

/** The time limit for all statements of a transformation together, in seconds. */
const transformationSeconds = 7_200

/**
 * See `Loader.transform`. The statements run in the database of the staging tables, where each has the name of its
 * target. They run as a user who may write only there. The server finishes updates and deletes before a statement
 * returns.
 */
export async function runTransformation(
  access: ClientAccess,
  loads: readonly ClickHouseStagedTable[],
  statements: readonly TransformationStatement[],
  signal: AbortSignal,
): Promise<void> {
  const [firstLoad] = loads
  if (statements.length === 0 || !firstLoad) return
  try {
    const startedAt = performance.now()
    for (const [index, statement] of statements.entries()) {
      const elapsedSeconds = (performance.now() - startedAt) / 1_000
      const seconds = Math.max(1, Math.round(transformationSeconds - elapsedSeconds))
      await runStatement(access, firstLoad, statement, { number: index + 1, seconds }, signal)
    }
    for (const load of loads) await adoptTransformedTable(access, load)
  } catch (error) {
    signal.throwIfAborted()
    throw warehouseProblem(error, firstLoad.qualifiedName)
  }
}

/** Runs one statement. `number` is its position from 1; `seconds` is the remaining time of the transformation. */
async function runStatement(
  access: ClientAccess,
  { database }: ClickHouseStagedTable,
  { statement, description }: TransformationStatement,
  { number, seconds }: { number: number; seconds: number },
  signal: AbortSignal,
): Promise<void> {
  const statementName = `Statement ${number} of the transformation${description ? ` (“${description.slice(0, 200)}”)` : ''}`
  const schemas = await listSchemas(access)
  const relations = await listRelations(access, schemas)
  // Unqualified names refer to the loaded rows or to tables that earlier statements created.
  const { text } = resolveNames(statement, {
    schemas: [],
    relations,
    address: ({ schema, name }) => qualifyName(databaseOf({ key: access.key, schema }), name),
  })
  const queryId = randomUUID()
  const settings = { max_execution_time: seconds, mutations_sync: 2, alter_sync: 2, lightweight_deletes_sync: 2 }
  try {
    await executeStatement(access.load, text, { database, signal, queryId, settings })
  } catch (error) {
    if (signal.aborted) await stopAtServer(access.service, queryId)
    signal.throwIfAborted()
    throw statementProblem(error, statementName)
  }
}

/**
 * Returns the problem for a failed statement: TRANSFORMATION_FAILED, or the problem of the server if a retry or more
 * disk space can help. `statementName` is how the message names the statement.
 */
function statementProblem(error: unknown, statementName: string): unknown {
  const problem = warehouseProblem(error, statementName)
  if (!(error instanceof ClickHouseError) || !(problem instanceof WarehouseProblem)) return problem
  if (problem.retryable || problem.code === 'DISK_FULL') return problem
  if (error.code === errorCodes.timeout)
    return transformationFailed(
      `${statementName} was stopped because the transformation exceeded ${transformationSeconds / 3_600} hours. Process fewer rows or simplify it.`,
      error,
    )
  if (/multi-?statement/i.test(error.message))
    return transformationFailed(
      `${statementName} consists of several statements. Enter each as a separate statement.`,
      error,
    )
  return transformationFailed(
    `${statementName} failed: ${error.message.replace(/ Expected one of: [\s\S]*$/, '').slice(0, 1_500)}`,
    error,
  )
}

/**
 * Makes the table that has the staging table's name after the transformation the staging table of the load, even if a
 * statement replaced the original one. Gives it a new load id, because the original may still exist under another name
 * with the old id. Throws TRANSFORMATION_FAILED if the table is missing or cannot be published.
 */
async function adoptTransformedTable(access: ClientAccess, load: ClickHouseStagedTable): Promise<void> {
  const { table } = load.target
  const shape = await readShape(access.service, load.database, table)
  if (!shape) throw transformationFailed(`The transformation dropped or renamed table "${table}". Keep that table.`)
  if (!hasRows(shape))
    throw transformationFailed(
      `The transformation replaced "${table}" by a table with engine ${shape.engine}. Use a MergeTree table.`,
    )
  if (shape.computed.length > 0)
    throw transformationFailed(
      `After the transformation, "${table}" has computed columns (${shape.computed.join(', ')}). Replace them by ordinary columns, filled by INSERT or UPDATE.`,
    )
  const metadata = { ...load.metadata, load: randomUUID() }
  await executeStatement(
    access.service,
    `alter table ${load.stagingTable} modify comment ${formatLiteral(JSON.stringify(metadata))}`,
  )
  load.metadata = metadata
  load.uuid = shape.uuid
  load.transformed = true
}

const transformationFailed = (sentence: string, cause?: unknown) =>
  new WarehouseProblem('TRANSFORMATION_FAILED', sentence, { cause })
