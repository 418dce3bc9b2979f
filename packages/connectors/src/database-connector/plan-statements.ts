import { type Column, SourceProblem, toUniqueIdentifiers } from '@sluice/row-stream'
import type { DatabaseConfig } from './database-config.ts'
import {
  type DatabaseEngine,
  type DatabaseSession,
  type DescribedStatement,
  formatStatementName,
  type SourceStatement,
} from './database-session.ts'
import { planIncrement } from './increments/plan-increment.ts'
import type { RowFilter } from './increments/row-filter.ts'
import { findDatabaseProblem } from './database-problems.ts'
import type { StatementDescription } from './database-thread-protocol.ts'

/** A statement that the database has described, with the filter for the rows to read. */
export interface PlannedStatement {
  statement: SourceStatement
  described: DescribedStatement
  description: StatementDescription
  filter: RowFilter
}

export interface PlanContext {
  session: DatabaseSession
  config: DatabaseConfig
  engine: DatabaseEngine
  /** Runs an operation, and ends the read if the database sends no data for too long. `mayScan` allows more time. */
  runWithTimeout<T>(session: DatabaseSession, wait: { mayScan: boolean }, operation: () => Promise<T>): Promise<T>
  /** Called with a sentence for each table that cannot be read. */
  onUnreadable(message: string): void
}

/**
 * Describes all statements and plans their reads, before any row is read. Throws one `SourceProblem` for all tables
 * that cannot be read. If the increment of one table cannot continue, all tables are read in full, because a
 * publication either merges into all of its tables or replaces all of them.
 */
export async function planStatements(
  context: PlanContext,
  statements: readonly SourceStatement[],
): Promise<PlannedStatement[]> {
  const { session, onUnreadable } = context
  const plannedStatements: PlannedStatement[] = []
  const problems: SourceProblem[] = []
  for (const statement of statements) {
    const plan = () => planStatement(context, statement)
    try {
      plannedStatements.push(await (session.withSavepoint ? session.withSavepoint(plan) : plan()))
    } catch (error) {
      const problem = findTableProblem(context, statement, error)
      if (!problem || statements.length === 1) throw error
      onUnreadable(problem.message)
      problems.push(problem)
      // The error has ended a transaction without savepoints, so no other statement can be described.
      if (!session.withSavepoint) break
    }
  }
  if (problems.length > 0) throw createUnreadableProblem(problems, statements.length)
  return planFullReadsIfNeeded(context, plannedStatements)
}

/**
 * Returns the statements unchanged if the increments of all tables can continue from their stored cursors. Otherwise
 * plans a full read of all tables. The first table that cannot continue has the reason for the log.
 */
async function planFullReadsIfNeeded(
  context: PlanContext,
  plannedStatements: PlannedStatement[],
): Promise<PlannedStatement[]> {
  if (plannedStatements.length === 1) return plannedStatements
  const firstFullRead = plannedStatements.find(isFullReadOfIncrement)
  if (!firstFullRead) return plannedStatements
  const fullReads: PlannedStatement[] = []
  for (const planned of plannedStatements) {
    if (planned === firstFullRead) fullReads.push(extendFullReadReason(planned))
    else fullReads.push(isFullReadOfIncrement(planned) ? planned : await planFullRead(context, planned))
  }
  return fullReads
}

/** Adds to the reason for a full read the table, and that all other tables are read in full too. */
function extendFullReadReason(planned: PlannedStatement): PlannedStatement {
  const { statement, description } = planned
  const reason = description.increment!.fullRead!
  const fullRead = `${formatStatementName(statement)}: ${reason} All other tables are read in full too.`
  return { ...planned, description: { ...description, increment: { ...description.increment, fullRead } } }
}

/** True if the increment of a statement cannot continue from its stored cursor. */
const isFullReadOfIncrement = ({ description }: PlannedStatement): boolean =>
  description.increment?.fullRead !== undefined

async function planStatement(context: PlanContext, statement: SourceStatement): Promise<PlannedStatement> {
  const { session, runWithTimeout } = context
  const described = await runWithTimeout(session, { mayScan: false }, () => session.describe(statement))
  return planRows(context, statement, described)
}

/** Plans a statement again, as if it had no stored cursor. */
function planFullRead(context: PlanContext, { statement, described }: PlannedStatement): Promise<PlannedStatement> {
  const { previousCursor: _, ...increment } = statement.increment!
  return planRows(context, { ...statement, increment }, described)
}

/**
 * Gives the described columns their names in the warehouse, and plans which rows are read: all without an increment.
 */
async function planRows(
  { session, runWithTimeout }: PlanContext,
  statement: SourceStatement,
  described: DescribedStatement,
): Promise<PlannedStatement> {
  const { notes, estimatedBytes } = described
  const names = toUniqueIdentifiers(described.columns.map(({ label }) => label))
  const columns = described.columns.map((column, index): Column => ({ name: names[index]!, ...column }))
  const { increment: incrementRequest } = statement
  if (!incrementRequest) return { statement, described, description: { columns, notes, estimatedBytes }, filter: {} }
  const source = {
    findLargest: described.findLargest,
    readClock: () => session.readClock(),
  }
  // The search for the largest cursor value may scan all rows.
  const plan = await runWithTimeout(session, { mayScan: true }, () => planIncrement(source, columns, incrementRequest))
  const { filter, note, ...increment } = plan
  const allNotes = note === undefined ? notes : [...notes, { level: 'INFO' as const, message: note }]
  // The database's size estimate covers all rows, so it does not apply to an increment.
  const estimate = filter.cursor ? undefined : estimatedBytes
  const description = { columns, notes: allNotes, estimatedBytes: estimate, increment }
  return { statement, described, description, filter }
}

/** Problem codes that concern one table, after which other tables can still be described. */
const tableCodes: ReadonlySet<string> = new Set([
  'PERMISSION_DENIED',
  'TABLE_MISSING',
  'NO_COLUMNS',
  'STATEMENT_INVALID',
  'STATEMENT_NOT_ALLOWED',
  'STATEMENT_FAILED',
  'INCREMENTAL_COLUMN_MISSING',
  'INCREMENTAL_COLUMN_UNSUITABLE',
])

/**
 * Returns the problem of one table, with the table's name. Returns undefined for an error that does not concern a
 * single table.
 */
function findTableProblem(
  { config, engine }: Pick<PlanContext, 'config' | 'engine'>,
  statement: SourceStatement,
  error: unknown,
): SourceProblem | undefined {
  const problem = findDatabaseProblem(error, config, engine, true)
  if (!problem || !tableCodes.has(problem.code)) return undefined
  const { code, message, cause } = problem
  return new SourceProblem(code, `${formatStatementName(statement)}: ${message}`, { cause })
}

/**
 * Returns the error to report for a statement that failed while its rows were read: a problem with the table's name if
 * there are several tables, otherwise the same error.
 */
export function createReadError(
  context: Pick<PlanContext, 'config' | 'engine'>,
  statement: SourceStatement,
  statementCount: number,
  error: unknown,
): unknown {
  const problem = statementCount > 1 ? findTableProblem(context, statement, error) : undefined
  if (!problem) return error
  const { code, message, cause } = problem
  const explanation = 'A run loads all tables or none, so the other tables keep their old rows too.'
  return new SourceProblem(code, `${message} ${explanation}`, { cause })
}

const maxNamedTables = 5

function createUnreadableProblem(problems: readonly SourceProblem[], tableCount: number): SourceProblem {
  const messages = problems.slice(0, maxNamedTables).map(({ message }) => message)
  const unnamedCount = problems.length - messages.length
  const moreText = unnamedCount > 0 ? ` The log names ${unnamedCount} more.` : ''
  const [first] = problems
  const message = `${problems.length} of ${tableCount} tables cannot be read, and a run loads all of them or none. ${messages.join(' ')}${moreText}`
  return new SourceProblem(first!.code, message, { cause: first!.cause })
}
