import type { ClientBase } from 'pg'
import type { ReaderAdvice } from '@sluice/row-stream'
import { asSentence } from '@sluice/process'
import type { TableChange } from '../../load-target.ts'
import { WarehouseProblem } from '../../warehouse.ts'
import { sqlStateOf, sqlStates } from '../server/sql-states.ts'
import type { DependentView } from '../views/dependent-views.ts'
import { type TableSwap, statementsOf } from './table-swap.ts'

/**
 * SQLSTATEs that a retry can resolve: another transaction holds a lock, or another load has just created or dropped the
 * table.
 */
export const retryableStates: ReadonlySet<string> = new Set([
  sqlStates.lockNotAvailable,
  sqlStates.deadlockDetected,
  sqlStates.serializationFailure,
  sqlStates.duplicateTable,
  sqlStates.uniqueViolation,
  sqlStates.duplicateObject,
  sqlStates.undefinedTable,
])

/** A table that the transaction publishes, and the views that read its changed columns. */
interface ChangedTable {
  qualifiedName: string
  views: readonly DependentView[]
  published: { changes: readonly TableChange[] }
  /**
   * True for a restore. The error then gives other advice, because the user cannot correct the columns of an earlier
   * table version.
   */
  restores?: boolean
}

/**
 * Swaps all tables and commits. Sends all statements as one message, so that no network round trip occurs while
 * exclusive locks are held, from the first DETACH to COMMIT. COMMIT releases the locks without waiting for the disk,
 * which may take a second. The last statement waits for the disk. If it fails, the publication is committed, and the
 * next attempt finds the run in the ledger. Throws VIEWS_DEPEND if a view cannot be recreated.
 */
export async function commitSwaps(
  client: ClientBase,
  swaps: readonly (ChangedTable & Pick<TableSwap, 'statements'>)[],
): Promise<void> {
  // Recreating a materialised view runs its query.
  const timeout = swaps.some(hasMaterializedView) ? '5min' : '30s'
  const setTimeoutSql = `set local statement_timeout = '${timeout}'`
  const statements = [setTimeoutSql, asyncCommit, ...statementsOf(swaps), 'commit', waitForDisk]
  await client.query(statements.join(';')).catch((error: unknown) => {
    throw viewNotRecreated(error, swaps, statements) ?? error
  })
}

const hasMaterializedView = ({ views }: ChangedTable): boolean => views.some(({ materialised }) => materialised)

/**
 * Returns the problem if a view that worked with the old columns of a table cannot be recreated with the new ones.
 * Returns undefined for any other error. `statements` are the statements of the message that failed.
 */
function viewNotRecreated(
  error: unknown,
  swaps: readonly ChangedTable[],
  statements: readonly string[],
): WarehouseProblem | undefined {
  const { message, position } = error as Error & { position?: string }
  const code = sqlStateOf(error)
  // SQLSTATE classes 22 (data exception) and 42 (syntax error or access rule violation).
  const isDataError = code.startsWith('22')
  const isSyntaxOrNameError = code.startsWith('42')
  const canBeErrorOfView = (isDataError || isSyntaxOrNameError) && !retryableStates.has(code)
  const tableWithViews = swaps.find(({ views }) => views.length > 0)
  if (!tableWithViews || !canBeErrorOfView) return undefined
  const failedStatement = statementAt(statements, Number(position))
  const tableOfFailedView = swaps.find(({ views }) => views.some(isCreatedBy(failedStatement)))
  const { qualifiedName, views, published, restores = false } = tableOfFailedView ?? tableWithViews
  const failedView = views.find(isCreatedBy(failedStatement))
  // If the failed view is unknown, the message names all candidates. Only materialised views read rows when they are
  // created, so a value that cannot be converted comes from one of them.
  const candidates = isDataError ? views.filter(({ materialised }) => materialised) : views
  const namedViews = failedView ? [failedView] : candidates
  const names = namedViews.map(({ name }) => name).join(', ')
  const noun = namedViews.length === 1 ? 'the view over it' : 'one of the views over it'
  const sentence = `The columns of ${qualifiedName} change (${describeChanges(published.changes)}), and ${noun} (${names}) cannot be recreated with them: ${asSentence(message)} The old data stays.`
  return new WarehouseProblem('VIEWS_DEPEND', sentence, { cause: error, advice: restores ? restoreAdvice : loadAdvice })
}

const maxNamedChanges = 10

/** Describes the changes that can break a view: changed types and dropped columns. */
function describeChanges(changes: readonly TableChange[]): string {
  const texts: string[] = []
  for (const { kind, column, from, to } of changes) {
    if (kind === 'TYPE_WIDENED' || kind === 'TYPE_CHANGED') texts.push(`"${column}" from ${from} to ${to}`)
    if (kind === 'COLUMN_DROPPED') texts.push(`"${column}" is dropped`)
  }
  const moreText = texts.length > maxNamedChanges ? ` and ${texts.length - maxNamedChanges} more` : ''
  return `${texts.slice(0, maxNamedChanges).join(', ')}${moreText}`
}

const loadAdvice: ReaderAdvice = {
  pipeline:
    'Correct the file or source, or change or drop the view. For a file, you can also set dataType of the column in csvOptions.columns. Then run again.',
  dataset: 'Correct the file and upload it again, or change or drop the view.',
}
const restoreAdvice: ReaderAdvice = { pipeline: 'Change or drop the view and restore again.' }

/** Returns a function that checks whether this statement creates a view. */
const isCreatedBy =
  (statement: string | undefined) =>
  ({ create }: DependentView): boolean =>
    statement !== undefined && create.includes(statement)

/**
 * Returns the statement at this position of the message, in which a semicolon separates the statements. PostgreSQL
 * counts characters from 1. Returns undefined for NaN.
 */
function statementAt(statements: readonly string[], position: number): string | undefined {
  let end = 0
  return statements.find((statement) => {
    end += Array.from(statement).length + 1
    return position <= end
  })
}

const asyncCommit = 'set local synchronous_commit = off'

/**
 * Writes a message to the WAL, which nothing reads. The statement commits with the default `synchronous_commit`, so it
 * returns only when all earlier commits are on disk.
 */
const waitForDisk = `select pg_logical_emit_message(true, 'sluice', 'published')`

/** Waits until everything that this server has committed is on disk. */
export async function flushWal(client: ClientBase): Promise<void> {
  await client.query(waitForDisk)
}
