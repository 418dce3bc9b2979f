import type { ClientBase } from 'pg'
import { asSentence } from '../../../as-sentence.ts'
import type { WarehouseProblem } from '../warehouse.ts'
import type { DependentView } from './dependent-views.ts'
import { unflushed } from './durable.ts'
import { type ChangedTable, findUncheckedViews, tablesOfViews, viewFails } from './readable-views.ts'
import { statementsOf, type Swap } from './swap.ts'

/** Someone holds a lock, or another load made or dropped the same table just now. */
export const worthAnotherTry = new Set(['55P03', '40P01', '40001', '42P07', '23505', '42710', '42P01'])

/**
 * Makes all tables of a publication visible at once. Everything is one message, so the exclusive locks are held for no round
 * trip, from the first DETACH to COMMIT; only views over changed columns are read in between. Returns a sentence for each view that could not
 * be read in time. Throws WarehouseProblem VIEWS_DEPEND.
 */
export async function commitSwaps(
  client: ClientBase,
  swaps: readonly (ChangedTable & Pick<Swap, 'statements'>)[],
): Promise<string[]> {
  const settings = `set local statement_timeout = '${swaps.some(materialises) ? '5min' : '30s'}'; ${unflushed}`
  const views = tablesOfViews(swaps)
  const end = views.size === 0 ? ['commit'] : []
  const statements = [settings, ...statementsOf(swaps), ...end]
  await client.query(statements.join(';')).catch((error: unknown) => {
    throw unmakeable(error, swaps, statements) ?? error
  })
  if (views.size === 0) return []
  const unchecked = await findUncheckedViews(client, views)
  await client.query('commit')
  return unchecked
}

const materialises = ({ views }: ChangedTable): boolean => views.some(({ materialised }) => materialised)

/** A view that stood over the old type and does not over the new one. */
function unmakeable(
  error: unknown,
  swaps: readonly ChangedTable[],
  statements: readonly string[],
): WarehouseProblem | undefined {
  const { code = '', message } = error as { code?: string; message: string }
  const changed = swaps.find(({ views }) => views.length > 0)
  if (!changed || worthAnotherTry.has(code) || !/^(42|22)/.test(code)) return undefined
  const failed = statementAt(statements, Number((error as { position?: string }).position))
  const swap = swaps.find(({ views }) => views.some(isCreatedBy(failed))) ?? changed
  // Only a materialized view reads values when it is created.
  const candidates = code.startsWith('22') ? swap.views.filter(({ materialised }) => materialised) : swap.views
  const view = swap.views.find(isCreatedBy(failed))
  const names = (view ? [view] : candidates).map(({ name }) => name).join(', ')
  const what = view || candidates.length === 1 ? 'the view over it' : 'one of the views over it'
  return viewFails(swap, `${what} (${names}) cannot be created again`, asSentence(message), error)
}

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
