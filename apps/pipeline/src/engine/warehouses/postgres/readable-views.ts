import type { ClientBase } from 'pg'
import { WarehouseProblem } from '../warehouse.ts'
import type { DependentView } from './dependent-views.ts'

/** A table whose columns change, and the recreated views over it. */
export interface ChangedTable {
  place: string
  views: readonly DependentView[]
}

/** Time limit for reading all views of a publication. Readers of its tables wait during this time. */
const limitMs = 3_000

/** Returns the names of the views to read, each with its table. Leaves out materialized views, which are filled when they are recreated. */
export const viewsToRead = (tables: readonly ChangedTable[]): ReadonlyMap<string, string> =>
  new Map(
    tables.flatMap(({ place, views }) =>
      views.filter(({ materialised }) => !materialised).map(({ name }) => [name, place] as const),
    ),
  )

/**
 * Reads recreated views once, inside the publishing transaction. PostgreSQL adds casts to the definition of a view, such as
 * `(amount)::numeric`. If the column becomes text, the view is still valid, but fails at values that are not numbers. Accepts
 * a view that is not read within the time limit, or that fails for another reason than its values.
 *
 * The SQL of a view can come from a user who has no right to load. It runs read-only, as the role that loads, with the same
 * rights as a transformation. The savepoint undoes settings that a function changes.
 *
 * Throws WarehouseProblem VIEWS_DEPEND.
 */
export async function assertViewsReadable(client: ClientBase, views: ReadonlyMap<string, string>): Promise<void> {
  const until = performance.now() + limitMs
  for (const [name, place] of views) {
    const failure = await findDataError(client, `select count((v.*)::text) from ${name} v`, until)
    if (!failure) continue
    const column = await findFailingColumn(client, name, until)
    const failing = column === undefined ? 'the view' : `column "${column}" of the view`
    const sentence = `The columns of ${place} change, and ${failing} ${name} cannot be read with the new values: ${failure.message}. Change or drop the view and run again. The old data stays.`
    throw new WarehouseProblem('VIEWS_DEPEND', sentence, { cause: failure })
  }
}

/** Returns the name of the column that fails, or undefined if the cause is not a single column, for example a condition. */
async function findFailingColumn(client: ClientBase, view: string, until: number): Promise<string | undefined> {
  if (await findDataError(client, `select count(*) from ${view}`, until)) return undefined
  const { rows } = await client.query<{ name: string; quoted: string }>(
    `select attname as name, quote_ident(attname) as quoted from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`,
    [view],
  )
  for (const { name, quoted } of rows)
    if (await findDataError(client, `select count(v.${quoted}::text) from ${view} v`, until)) return name
  return undefined
}

/** Returns the error if a value makes the query fail (SQLSTATE class 22). Rolls the transaction back to its state before the query. */
async function findDataError(client: ClientBase, query: string, until: number): Promise<Error | undefined> {
  const left = Math.ceil(until - performance.now())
  if (left <= 0) return undefined
  const failure = await client
    .query(`savepoint reading; set local transaction_read_only = on; set local statement_timeout = ${left}; ${query}`)
    .then(
      () => undefined,
      (error: Error & { code?: string }) => error,
    )
  await client.query('rollback to savepoint reading').catch((error: unknown) => {
    // The connection is lost. The first error gives the reason.
    throw failure ?? error
  })
  return failure?.code?.startsWith('22') ? failure : undefined
}
