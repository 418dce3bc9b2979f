import type { ClientBase } from 'pg'
import type { ReaderAdvice } from '@sluice/row-stream'
import { asSentence } from '@sluice/process'
import type { TableChange } from '../../load-target.ts'
import { WarehouseProblem } from '../../warehouse.ts'
import type { DependentView } from '../views/dependent-views.ts'
import { type TableSwap, statementsOf } from './table-swap.ts'

/**
 * SQLSTATEs that a retry can resolve: another transaction holds a lock, or another load has just created or dropped the
 * table.
 */
export const retryableCodes = new Set(['55P03', '40P01', '40001', '42P07', '23505', '42710', '42P01'])

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
 * Swaps all tables and commits. It sends all statements as one message, so no network round trip occurs while exclusive
 * locks are held, from the first DETACH to COMMIT. COMMIT releases them before the disk write, which may take a second;
 * the last statement waits for it. If that fails, the next attempt finds the run in the ledger. Throws VIEWS_DEPEND if
 * a view cannot be recreated.
 */
export async function commitSwaps(
  client: ClientBase,
  swaps: readonly (ChangedTable & Pick<TableSwap, 'statements'>)[],
): Promise<void> {
  const settings = `set local statement_timeout = '${swaps.some(hasMaterializedView) ? '5min' : '30s'}'; ${asyncCommit}`
  const statements = [settings, ...statementsOf(swaps), 'commit', waitForDisk]
  await client.query(statements.join(';')).catch((error: unknown) => {
    throw viewNotRecreated(error, swaps, statements) ?? error
  })
}

const hasMaterializedView = ({ views }: ChangedTable): boolean => views.some(({ materialised }) => materialised)

/** Returns the problem for a view that compiled with a column's old type and does not compile with its new type. */
function viewNotRecreated(
  error: unknown,
  swaps: readonly ChangedTable[],
  statements: readonly string[],
): WarehouseProblem | undefined {
  const { code = '', message } = error as { code?: string; message: string }
  const changed = swaps.find(({ views }) => views.length > 0)
  if (!changed || retryableCodes.has(code) || !/^(42|22)/.test(code)) return undefined
  const failed = statementAt(statements, Number((error as { position?: string }).position))
  const {
    qualifiedName,
    views,
    published,
    restores = false,
  } = swaps.find((swap) => swap.views.some(isCreatedBy(failed))) ?? changed
  // A value that cannot be converted (SQLSTATE class 22) comes from a materialised view: only materialised views read
  // rows when they are created.
  const candidates = code.startsWith('22') ? views.filter(({ materialised }) => materialised) : views
  const view = views.find(isCreatedBy(failed))
  const names = (view ? [view] : candidates).map(({ name }) => name).join(', ')
  const noun = view || candidates.length === 1 ? 'the view over it' : 'one of the views over it'
  const sentence = `The columns of ${qualifiedName} change (${describeChanges(published.changes)}), and ${noun} (${names}) cannot be recreated with them: ${asSentence(message)} The old data stays.`
  return new WarehouseProblem('VIEWS_DEPEND', sentence, { cause: error, advice: restores ? restoreAdvice : loadAdvice })
}

const maxNamedChanges = 10

function describeChanges(all: readonly TableChange[]): string {
  const changes = all.flatMap(({ kind, column, from, to }) => {
    if (kind === 'TYPE_WIDENED' || kind === 'TYPE_CHANGED') return [`"${column}" from ${from} to ${to}`]
    return kind === 'COLUMN_DROPPED' ? [`"${column}" is dropped`] : []
  })
  const moreText = changes.length > maxNamedChanges ? ` and ${changes.length - maxNamedChanges} more` : ''
  return `${changes.slice(0, maxNamedChanges).join(', ')}${moreText}`
}

const loadAdvice: ReaderAdvice = {
  pipeline:
    'Correct the file or source, or change or drop the view. For a file, you can also set dataType of the column in csvOptions.columns. Then run again.',
  dataset: 'Correct the file and upload it again, or change or drop the view.',
}
const restoreAdvice: ReaderAdvice = { pipeline: 'Change or drop the view and restore again.' }

const isCreatedBy =
  (statement: string | undefined) =>
  ({ create }: DependentView): boolean =>
    statement !== undefined && create.includes(statement)

/** Returns the statement at this position of the combined message. PostgreSQL counts characters from 1. */
function statementAt(statements: readonly string[], position: number): string | undefined {
  let end = 0
  return statements.find((statement) => {
    end += Array.from(statement).length + 1
    return position <= end
  })
}

const asyncCommit = 'set local synchronous_commit = off'

/** Its commit waits until everything before it is on disk. */
const waitForDisk = `select pg_logical_emit_message(true, 'sluice', 'published')`

/** Waits until everything that this server has committed is on disk. */
export async function flushWal(client: ClientBase): Promise<void> {
  await client.query(waitForDisk)
}
