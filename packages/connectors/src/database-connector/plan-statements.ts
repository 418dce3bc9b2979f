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
import { findDatabaseProblem } from './problems.ts'
import type { StatementDescription } from './thread-protocol.ts'

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
  runWithTimeout<T>(session: DatabaseSession, wait: { mayScan: boolean }, act: () => Promise<T>): Promise<T>
  /** Called with a sentence for each table that cannot be read. */
  onUnreadable(message: string): void
}

/**
 * Describes all statements before it reads any row. So one run reports every table that cannot be read, and reads no
 * rows that it would have to discard. Throws a `SourceProblem` that covers all of them. If the increment of one table
 * cannot continue, all tables are read in full, because a publication either merges into all of its tables or replaces
 * all of them.
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
      if (!session.withSavepoint) break
    }
  }
  if (problems.length > 0) throw createUnreadableProblem(problems, statements.length)
  return readAllInFull(context, plannedStatements)
}

/**
 * Plans all statements as full reads if one of them cannot continue from its stored cursor. Does nothing for a single
 * statement.
 */
async function readAllInFull(context: PlanContext, plannedStatements: PlannedStatement[]): Promise<PlannedStatement[]> {
  if (plannedStatements.length === 1) return plannedStatements
  const restart = plannedStatements.find(({ description }) => description.increment?.fullRead !== undefined)
  if (!restart) return plannedStatements
  restart.description.increment!.fullRead =
    `${formatStatementName(restart.statement)}: ${restart.description.increment!.fullRead!} All other tables are read in full too.`
  const fullStatements: PlannedStatement[] = []
  for (const plannedStatement of plannedStatements)
    fullStatements.push(
      plannedStatement.description.increment?.fullRead === undefined
        ? await replan(context, plannedStatement)
        : plannedStatement,
    )
  return fullStatements
}

async function planStatement(context: PlanContext, statement: SourceStatement): Promise<PlannedStatement> {
  const { session, runWithTimeout } = context
  const described = await runWithTimeout(session, { mayScan: false }, () => session.describe(statement))
  return planRows(context, statement, described)
}

const replan = (context: PlanContext, { statement, described }: PlannedStatement): Promise<PlannedStatement> => {
  const { last: _, ...increment } = statement.increment!
  return planRows(context, { ...statement, increment }, described)
}

/** Names the columns and determines which rows are read. */
async function planRows(
  { session, runWithTimeout }: PlanContext,
  statement: SourceStatement,
  described: DescribedStatement,
): Promise<PlannedStatement> {
  const { notes, bytes } = described
  const names = toUniqueIdentifiers(described.columns.map(({ label }) => label))
  const columns = described.columns.map((column, index): Column => ({ name: names[index]!, ...column }))
  const { increment: request } = statement
  if (!request) return { statement, described, description: { columns, notes, bytes }, filter: {} }
  const source = {
    findLargest: described.findLargest,
    readClock: () => session.readClock(),
  }
  const plan = await runWithTimeout(session, { mayScan: true }, () => planIncrement(source, columns, request))
  const { filter, note, ...increment } = plan
  const allNotes = note === undefined ? notes : [...notes, { level: 'INFO' as const, message: note }]
  // The database's size estimate covers all rows, so it does not apply to an increment.
  const estimate = filter.cursor ? undefined : bytes
  return { statement, described, description: { columns, notes: allNotes, bytes: estimate, increment }, filter }
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
 * Returns the error to report for a statement that failed while its rows were read. Names the table if there are
 * several.
 */
export function nameStatement(
  context: Pick<PlanContext, 'config' | 'engine'>,
  statement: SourceStatement,
  statementCount: number,
  error: unknown,
): unknown {
  const problem = statementCount > 1 ? findTableProblem(context, statement, error) : undefined
  if (!problem) return error
  const { code, message, cause } = problem
  return new SourceProblem(
    code,
    `${message} A run loads all tables or none, so the other tables keep their old rows too.`,
    {
      cause,
    },
  )
}

const maxNamedTables = 5

function createUnreadableProblem(problems: readonly SourceProblem[], count: number): SourceProblem {
  const shownMessages = problems.slice(0, maxNamedTables).map(({ message }) => message)
  const moreCount = problems.length - shownMessages.length
  const moreText = moreCount > 0 ? ` The log names ${moreCount} more.` : ''
  const [first] = problems
  const message = `${problems.length} of ${count} tables cannot be read, and a run loads all of them or none. ${shownMessages.join(' ')}${moreText}`
  return new SourceProblem(first!.code, message, { cause: first!.cause })
}
