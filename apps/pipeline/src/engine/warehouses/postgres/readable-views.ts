import type { ClientBase } from 'pg'
import { WarehouseProblem } from '../warehouse.ts'
import type { DependentView } from './dependent-views.ts'

/** A table whose columns change, and the recreated views over it. */
export interface ChangedTable {
  place: string
  views: readonly DependentView[]
}

/** Milliseconds for all views of a publication: until then readers of its tables wait. */
const limitMs = 3_000

/** Returns the table of each view by the name of the view. Materialized views are filled when they are recreated. */
export const viewsToRead = (tables: readonly ChangedTable[]): ReadonlyMap<string, string> =>
  new Map(
    tables.flatMap(({ place, views }) =>
      views.filter(({ materialised }) => !materialised).map(({ name }) => [name, place] as const),
    ),
  )

/**
 * Reads recreated views once, inside the publishing transaction. PostgreSQL writes casts into the definition of a view, such
 * as `(amount)::numeric`, so that the view is valid over a column that became text, and fails on the values. A view that is
 * not read within the time limit is accepted, as is one that fails for another reason than its values.
 *
 * The SQL of a view may come from a user who may not load. It runs as the role that loads, which has no more rights here than
 * in a transformation, and read-only; the savepoint undoes settings that a function changes.
 *
 * Throws WarehouseProblem VIEWS_DEPEND.
 */
export async function assertViewsReadable(client: ClientBase, views: ReadonlyMap<string, string>): Promise<void> {
  const until = performance.now() + limitMs
  for (const [name, place] of views) {
    const failure = await dataError(client, `select count((v.*)::text) from ${name} v`, until)
    if (!failure) continue
    const column = await findFailingColumn(client, name, until)
    const what = column === undefined ? 'the view over it' : `column "${column}" of the view over it`
    const sentence = `The columns of ${place} change, and ${what} (${name}) cannot be read with them: ${failure.message}. Change or drop the view and run again. The old data stays.`
    throw new WarehouseProblem('VIEWS_DEPEND', sentence, { cause: failure })
  }
}

/** Undefined if no column alone is the cause, such as for a condition. */
async function findFailingColumn(client: ClientBase, view: string, until: number): Promise<string | undefined> {
  if (await dataError(client, `select count(*) from ${view}`, until)) return undefined
  const { rows } = await client.query<{ name: string; quoted: string }>(
    `select attname as name, quote_ident(attname) as quoted from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`,
    [view],
  )
  for (const { name, quoted } of rows)
    if (await dataError(client, `select count(v.${quoted}::text) from ${view} v`, until)) return name
  return undefined
}

/** The error if a value makes the query fail (SQLSTATE class 22). The transaction stays as it was before. */
async function dataError(client: ClientBase, query: string, until: number): Promise<Error | undefined> {
  const left = Math.ceil(until - performance.now())
  if (left <= 0) return undefined
  const failure = await client
    .query(`savepoint reading; set local transaction_read_only = on; set local statement_timeout = ${left}; ${query}`)
    .then(
      () => undefined,
      (error: Error & { code?: string }) => error,
    )
  await client.query('rollback to savepoint reading').catch((error: unknown) => {
    // The connection is lost, and the first error says why.
    throw failure ?? error
  })
  return failure?.code?.startsWith('22') ? failure : undefined
}
