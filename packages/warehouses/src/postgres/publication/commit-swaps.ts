import type { ClientBase } from 'pg'
import type { ReaderAdvice } from '@sluice/row-stream'
import { asSentence } from '@sluice/process'
import type { TableChange } from '../../load-target.ts'
import { WarehouseProblem } from '../../warehouse.ts'
import type { DependentView } from '../views/dependent-views.ts'
import { type TableSwap, statementsOf } from './swap.ts'

/** SQLSTATEs for a lock that another transaction holds, and for a table that another load has just created or dropped. */
export const retryableCodes = new Set(['55P03', '40P01', '40001', '42P07', '23505', '42710', '42P01'])

/** A table that is published, and the views over its changed columns. */
interface ChangedTable {
  place: string
  views: readonly DependentView[]
  published: { changes: readonly TableChange[] }
  /** A restore publishes an earlier table, whose columns cannot be corrected. */
  restores?: boolean
}

/**
 * Publishes all tables of a publication atomically. All statements are one message: no round trip to the server takes place while
 * the exclusive locks are held, from the first DETACH to COMMIT. Throws WarehouseProblem VIEWS_DEPEND.
 */
export async function commitSwaps(
  client: ClientBase,
  swaps: readonly (ChangedTable & Pick<TableSwap, 'statements'>)[],
): Promise<void> {
  const settings = `set local statement_timeout = '${swaps.some(hasMaterializedView) ? '5min' : '30s'}'; ${asyncCommit}`
  const statements = [settings, ...statementsOf(swaps), 'commit']
  await client.query(statements.join(';')).catch((error: unknown) => {
    throw viewNotRecreated(error, swaps, statements) ?? error
  })
}

const hasMaterializedView = ({ views }: ChangedTable): boolean => views.some(({ materialised }) => materialised)

/** Returns the problem of a view that is valid with the old type of a column and not with the new one. */
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
    place,
    views,
    published,
    restores = false,
  } = swaps.find((swap) => swap.views.some(isCreatedBy(failed))) ?? changed
  // Only a materialized view reads values when it is created.
  const candidates = code.startsWith('22') ? views.filter(({ materialised }) => materialised) : views
  const view = views.find(isCreatedBy(failed))
  const names = (view ? [view] : candidates).map(({ name }) => name).join(', ')
  const what = view || candidates.length === 1 ? 'the view over it' : 'one of the views over it'
  const sentence = `The columns of ${place} change (${describeChanges(published.changes)}), and ${what} (${names}) cannot be created again with them: ${asSentence(message)} The old data stays.`
  return new WarehouseProblem('VIEWS_DEPEND', sentence, { cause: error, advice: restores ? restoreAdvice : loadAdvice })
}

const mostNamed = 10

function describeChanges(all: readonly TableChange[]): string {
  const changes = all.flatMap(({ kind, column, from, to }) => {
    if (kind === 'TYPE_WIDENED' || kind === 'TYPE_CHANGED') return [`"${column}" from ${from} to ${to}`]
    return kind === 'COLUMN_DROPPED' ? [`"${column}" is dropped`] : []
  })
  const more = changes.length > mostNamed ? ` and ${changes.length - mostNamed} more` : ''
  return `${changes.slice(0, mostNamed).join(', ')}${more}`
}

const loadAdvice: ReaderAdvice = {
  pipeline:
    'Correct the file or source, or set dataType of the column in csvOptions.columns (files); otherwise change or drop the view. Then run again.',
  dataset: 'Correct the file and send it again, or change or drop the view.',
}
const restoreAdvice: ReaderAdvice = { pipeline: 'Change or drop the view and restore again.' }

const isCreatedBy =
  (statement: string | undefined) =>
  ({ create }: DependentView): boolean =>
    statement !== undefined && create.includes(statement)

/** Returns the statement at a place of the message, which PostgreSQL counts in characters from 1. */
function statementAt(statements: readonly string[], position: number): string | undefined {
  let end = 0
  return statements.find((statement) => {
    end += Array.from(statement).length + 1
    return position <= end
  })
}

/**
 * For a transaction with locks that readers wait for: COMMIT releases them before the disk write, which may take a second just
 * after a large load. The publication reports nothing before `untilDurable`.
 */
const asyncCommit = 'set local synchronous_commit = off'

/**
 * Commits with a wait for the WAL flush, if the server is configured for it, which includes all earlier WAL. A failure loses
 * nothing: the next attempt checks for the ledger's row.
 */
export async function flushWal(client: ClientBase): Promise<void> {
  await client.query(`select pg_logical_emit_message(true, 'sluice', 'published')`)
}
