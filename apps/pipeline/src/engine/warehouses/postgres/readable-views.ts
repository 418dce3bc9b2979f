import type { ClientBase } from 'pg'
import { asSentence } from '../../../as-sentence.ts'
import type { Advice } from '../../../advice.ts'
import { type TableChange, WarehouseProblem } from '../warehouse.ts'
import type { DependentView } from './dependent-views.ts'

/** A table whose columns change, and the recreated views over it. */
export interface ChangedTable {
  place: string
  views: readonly DependentView[]
  published: { changes: readonly TableChange[] }
  /** A restore publishes an earlier table; its columns cannot be corrected. */
  restores?: boolean
}

/** Milliseconds for all views of a publication: until then readers of its tables wait. */
const limitMs = 3_000

/** Returns the table of each view by the name of the view. Materialized views are filled when they are recreated. */
export const tablesOfViews = (tables: readonly ChangedTable[]): ReadonlyMap<string, ChangedTable> =>
  new Map(
    tables.flatMap((table) =>
      table.views.filter(({ materialised }) => !materialised).map(({ name }) => [name, table] as const),
    ),
  )

/** The problem VIEWS_DEPEND for a view that does not work with the changed columns. `what` names the view. */
export function viewFails(
  { place, published, restores = false }: ChangedTable,
  what: string,
  reason: string,
  cause: unknown,
): WarehouseProblem {
  const changes = published.changes.flatMap(({ kind, column, from, to }) => {
    if (kind === 'TYPE_WIDENED' || kind === 'TYPE_CHANGED') return [`"${column}" from ${from} to ${to}`]
    return kind === 'COLUMN_DROPPED' ? [`"${column}" is dropped`] : []
  })
  const more = changes.length > mostNamed ? ` and ${changes.length - mostNamed} more` : ''
  const sentence = `The columns of ${place} change (${changes.slice(0, mostNamed).join(', ')}${more}), and ${what} with them: ${reason} The old data stays.`
  return new WarehouseProblem('VIEWS_DEPEND', sentence, { cause, advice: restores ? restoreAdvice : loadAdvice })
}

const mostNamed = 10
const loadAdvice: Advice = {
  pipeline:
    'Correct the file or source, or set dataType of the column in csvOptions.columns (files); otherwise change or drop the view. Then run again.',
  dataset: 'Correct the file and send it again, or change or drop the view.',
}
const restoreAdvice: Advice = { pipeline: 'Change or drop the view and restore again.' }

/**
 * Reads recreated views once, inside the publishing transaction. PostgreSQL writes casts into the definition of a view, such
 * as `(amount)::numeric`, so that the view is valid over a column that became text, and fails on the values. A view that is
 * not read within the time limit is accepted, as is one that fails for another reason than its values.
 *
 * The SQL of a view may come from a user who may not load. It runs as the role that loads, which has no more rights here than
 * in a transformation, and read-only; the savepoint undoes settings that a function changes.
 *
 * Returns a sentence for each view that was not read in time. Throws WarehouseProblem VIEWS_DEPEND.
 */
export async function findUncheckedViews(
  client: ClientBase,
  views: ReadonlyMap<string, ChangedTable>,
): Promise<string[]> {
  const until = performance.now() + limitMs
  const unchecked: string[] = []
  for (const [name, table] of views) {
    const failure = await readError(client, `select count((v.*)::text) from ${name} v`, until)
    if (failure === 'TIMEOUT')
      unchecked.push(
        `View ${name} was not checked: reading the views over ${table.place} takes longer than ${limitMs / 1000} seconds.`,
      )
    if (!isDataError(failure)) continue
    const column = await findFailingColumn(client, name, until)
    const what = column === undefined ? 'the view over it' : `column "${column}" of the view over it`
    throw viewFails(table, `${what} (${name}) cannot be read`, asSentence(failure.message), failure)
  }
  return unchecked
}

/** Undefined if no column alone is the cause, such as for a condition. */
async function findFailingColumn(client: ClientBase, view: string, until: number): Promise<string | undefined> {
  if (isDataError(await readError(client, `select count(*) from ${view}`, until))) return undefined
  const { rows } = await client.query<{ name: string; quoted: string }>(
    `select attname as name, quote_ident(attname) as quoted from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`,
    [view],
  )
  for (const { name, quoted } of rows)
    if (isDataError(await readError(client, `select count(v.${quoted}::text) from ${view} v`, until))) return name
  return undefined
}

type ReadError = Error & { code?: string }

/** Whether a value made the query fail (SQLSTATE class 22). */
const isDataError = (failure: ReadError | 'TIMEOUT' | undefined): failure is ReadError =>
  failure !== undefined && failure !== 'TIMEOUT' && failure.code?.startsWith('22') === true

/** Returns the error of a query, if it fails. The transaction stays as it was before. */
async function readError(client: ClientBase, query: string, until: number): Promise<ReadError | 'TIMEOUT' | undefined> {
  const left = Math.ceil(until - performance.now())
  if (left <= 0) return 'TIMEOUT'
  const failure = await client
    .query(`savepoint reading; set local transaction_read_only = on; set local statement_timeout = ${left}; ${query}`)
    .then(
      () => undefined,
      (error: ReadError) => error,
    )
  await client.query('rollback to savepoint reading').catch((error: unknown) => {
    // The connection is lost, and the first error says why.
    throw failure ?? error
  })
  // SQLSTATE of a cancelled query, here by the statement timeout.
  return failure?.code === '57014' ? 'TIMEOUT' : failure
}
