import { asSentence } from '../../../as-sentence.ts'
import type { ClientBase } from 'pg'
import { WarehouseProblem } from '../warehouse.ts'
import { unflushed } from './durable.ts'
import type { DependentView } from './dependent-views.ts'
import { statementsOf, type Swap } from './swap.ts'

/** SQLSTATEs for a lock that another transaction holds, and for a table that another load has just created or dropped. */
export const retryableCodes = new Set(['55P03', '40P01', '40001', '42P07', '23505', '42710', '42P01'])

/**
 * Makes all tables of a publication visible at once. Sends all statements from the first DETACH to COMMIT in one message, so that no
 * exclusive lock is held during a network round trip. Throws WarehouseProblem VIEWS_DEPEND.
 */
export async function commitSwaps(
  client: ClientBase,
  swaps: readonly (Pick<Swap, 'views' | 'statements'> & { place: string })[],
): Promise<void> {
  const settings = `set local statement_timeout = '${swaps.some(hasMaterializedView) ? '5min' : '30s'}'; ${unflushed}`
  await client.query([settings, ...statementsOf(swaps), 'commit'].join(';')).catch((error: unknown) => {
    throw viewNotRecreated(error, swaps) ?? error
  })
}

interface ChangedTable {
  place: string
  views: readonly DependentView[]
}

const hasMaterializedView = ({ views }: ChangedTable): boolean => views.some(({ materialised }) => materialised)

/** Returns the problem of a view that is valid with the old type of a column and not with the new one. */
function viewNotRecreated(error: unknown, swaps: readonly ChangedTable[]): WarehouseProblem | undefined {
  const { code = '', message } = error as { code?: string; message: string }
  const swap = swaps.find(({ views }) => views.length > 0)
  if (!swap || retryableCodes.has(code) || !/^(42|22)/.test(code)) return undefined
  const names = swap.views.map(({ name }) => name).join(', ')
  const sentence = `The columns of ${swap.place} change, and the views over it (${names}) cannot be created again with the new columns: ${asSentence(message)} Change or drop them and run again. The old data stays.`
  return new WarehouseProblem('VIEWS_DEPEND', sentence, { cause: error })
}
