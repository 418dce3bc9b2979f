import { type SqlLanguage, resolveNames, defaultLanguage } from '../../sql-text/resolve-table-names.ts'
import type { TablePlace } from '../../catalog.ts'
import { type TransformationStatement, WarehouseProblem } from '../../warehouse.ts'
import type { SqlDialect, SqlSession } from '../sql-dialect.ts'
import type { SqlStagedTable } from './staged-table.ts'
import { toWarehouseProblem } from '../map-server-errors.ts'
import { findRelation, listRelations, listSchemas, withSession } from '../table-shape.ts'

/** The time limit for all statements of a transformation together, in seconds. */
const transformationSeconds = 7_200

/** A schema name that users cannot choose. It maps the names of target tables to their staging tables. */
const stagingSchema = ''

/**
 * See `Loader.transform`. Unqualified names of the run's target tables are replaced by the names of their staging
 * tables, to which role `load` gets temporary write access. All statements run on one connection, so that temporary
 * tables persist between them. Each statement is a separate transaction.
 */
export async function runTransformation(
  dialect: SqlDialect,
  loads: readonly SqlStagedTable[],
  statements: readonly TransformationStatement[],
  signal: AbortSignal,
): Promise<void> {
  const [firstLoad] = loads
  if (statements.length === 0 || !firstLoad) return
  const timeoutSignal = AbortSignal.timeout(transformationSeconds * 1_000)
  const stopSignal = AbortSignal.any([signal, timeoutSignal])
  try {
    const relations = await withSession(dialect, { role: 'service', signal }, async (session) => {
      for (const { staging } of loads) await grantWriteAccess(dialect, session, staging)
      return listRelations(dialect, session, await listSchemas(dialect, session))
    })
    const sessionOptions = { role: 'load', signal: stopSignal, seconds: transformationSeconds } as const
    await withSession(dialect, sessionOptions, async (session) => {
      for (const [index, statement] of statements.entries())
        await runStatement(dialect, session, { loads, relations, statement, number: index + 1 }, stopSignal)
    })
    await withSession(dialect, { role: 'service', signal }, async (session) => {
      for (const load of loads) await markTransformed(dialect, session, load)
    })
  } catch (error) {
    signal.throwIfAborted()
    if (timeoutSignal.aborted)
      throw transformationFailed(
        `The transformation was stopped because it exceeded ${transformationSeconds / 3_600} hours. Process fewer rows or simplify it.`,
        error,
      )
    throw toWarehouseProblem(dialect, error, firstLoad.qualifiedName)
  }
}

interface StatementRun {
  loads: readonly SqlStagedTable[]
  relations: readonly TablePlace[]
  statement: TransformationStatement
  number: number
}

/** Lets the role `load` write a staging table. The publication revokes the right. */
async function grantWriteAccess(dialect: SqlDialect, session: SqlSession, staging: TablePlace): Promise<void> {
  for (const statement of dialect.changes.grant(staging, 'FILL')) await session.execute(statement)
}

/**
 * Runs one statement. Replaces unqualified names of the run's tables by the names of their staging tables: these tables
 * are listed in the pretended schema `stagingSchema`, which is the search path of the statement.
 */
async function runStatement(
  dialect: SqlDialect,
  session: SqlSession,
  { loads, relations, statement: { statement, description }, number }: StatementRun,
  signal: AbortSignal,
): Promise<void> {
  const statementName = `Statement ${number} of the transformation${description ? ` (“${description.slice(0, 200)}”)` : ''}`
  const stagingByTable = new Map(loads.map((load) => [load.target.table, load.staging]))
  const loadedTables = loads.map(({ target }) => ({ schema: stagingSchema, name: target.table }))
  const { text } = resolveNames(statement, {
    schemas: [stagingSchema],
    relations: [...loadedTables, ...relations],
    qualifiesAllTables: true,
    language: withWriteKeywords(dialect.language ?? defaultLanguage),
    address: (place) => dialect.names.place(place.schema === stagingSchema ? stagingByTable.get(place.name)! : place),
  })
  try {
    await session.execute({ texts: [text], values: [] })
  } catch (error) {
    signal.throwIfAborted()
    throw statementProblem(dialect, error, statementName)
  }
}

/** Returns the language with further keywords that precede table names in statements that write. */
const withWriteKeywords = ({ tokensOf, tableKeywords }: SqlLanguage): SqlLanguage => ({
  tokensOf,
  tableKeywords: new Set([...tableKeywords, 'into', 'update', 'delete', 'using', 'table']),
})

/**
 * Returns the problem for a failed statement: TRANSFORMATION_FAILED, or the problem of the server if a retry or more
 * disk space can help. Returns errors that are not from the server unchanged. `statementName` is how the message names
 * the statement.
 */
function statementProblem(dialect: SqlDialect, error: unknown, statementName: string): unknown {
  const problem = toWarehouseProblem(dialect, error, statementName)
  const serverProblem = problem instanceof WarehouseProblem ? problem : undefined
  if (serverProblem?.retryable || serverProblem?.code === 'DISK_FULL') return serverProblem
  const queryProblem = dialect.explainQuery(error, transformationSeconds)
  if (queryProblem?.code === 'QUERY_TIMEOUT')
    return transformationFailed(
      `${statementName} took longer than ${transformationSeconds} seconds and was stopped. Process fewer rows or simplify it.`,
      error,
    )
  const message = queryProblem?.message ?? serverProblem?.message
  const isServerError = message !== undefined
  if (!isServerError) return error
  return transformationFailed(`${statementName} failed: ${message.slice(0, 1_500)}`, error)
}

/**
 * Marks the load as transformed. Throws TRANSFORMATION_FAILED if the statements dropped, renamed or replaced its
 * staging table.
 */
async function markTransformed(dialect: SqlDialect, session: SqlSession, load: SqlStagedTable): Promise<void> {
  const stagingTable = await findRelation(dialect, session, load.staging)
  if (stagingTable?.id !== load.id)
    throw transformationFailed(`The transformation dropped or renamed table "${load.target.table}". Keep that table.`)
  load.transformed = true
}

const transformationFailed = (sentence: string, cause?: unknown) =>
  new WarehouseProblem('TRANSFORMATION_FAILED', sentence, { cause })
