import { asSentence } from '../../../as-sentence.ts'
import type { ClientBase } from 'pg'
import { WarehouseProblem } from '../warehouse.ts'
import { unflushed } from './durable.ts'
import type { DependentView } from './dependent-views.ts'
import { statementsOf, type Swap } from './swap.ts'

/** Someone holds a lock, or another load made or dropped the same table just now. */
export const worthAnotherTry = new Set(['55P03', '40P01', '40001', '42P07', '23505', '42710', '42P01'])

/**
 * Makes all tables of a publication visible at once. Everything is one message, so the exclusive locks are held for no round
 * trip, from the first DETACH to COMMIT. Throws WarehouseProblem VIEWS_DEPEND.
 */
export async function commitSwaps(
  client: ClientBase,
  swaps: readonly (Pick<Swap, 'views' | 'statements'> & { place: string })[],
): Promise<void> {
  const settings = `set local statement_timeout = '${swaps.some(materialises) ? '5min' : '30s'}'; ${unflushed}`
  await client.query([settings, ...statementsOf(swaps), 'commit'].join(';')).catch((error: unknown) => {
    throw unmakeable(error, swaps) ?? error
  })
}

interface ChangedTable {
  place: string
  views: readonly DependentView[]
}

const materialises = ({ views }: ChangedTable): boolean => views.some(({ materialised }) => materialised)

/** A view that stood over the old type and does not over the new one. */
function unmakeable(error: unknown, swaps: readonly ChangedTable[]): WarehouseProblem | undefined {
  const { code = '', message } = error as { code?: string; message: string }
  const swap = swaps.find(({ views }) => views.length > 0)
  if (!swap || worthAnotherTry.has(code) || !/^(42|22)/.test(code)) return undefined
  const names = swap.views.map(({ name }) => name).join(', ')
  const sentence = `The columns of ${swap.place} change, and the views over it (${names}) cannot be created again with them: ${asSentence(message)} Change or drop them and run again. The old data stays.`
  return new WarehouseProblem('VIEWS_DEPEND', sentence, { cause: error })
}
