import { sql, type RawBuilder } from 'kysely'
import pg from 'pg'

/**
 * Begins a statement that PostgreSQL is to parse and plan once per connection, not once per request: for the few that are
 * asked with every request. One name, one text. Such a statement names its columns, or makes JSON of its rows: a column
 * that a migration adds behind the back of a running process would make `select *` fail until the connection ends.
 */
export const prepared = (name: string): RawBuilder<unknown> => sql.raw(`/*prepared ${name}*/`)

/**
 * A row that a statement made JSON of, as `select *` would have answered it: what is named `…_at` or `…_after` is a Date.
 * For several rows of different tables in one answer.
 */
// The caller knows what the statement selects.
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export function rowOf<Row>(json: unknown): Row {
  const row = json as Record<string, unknown>
  for (const [name, value] of Object.entries(row))
    if (typeof value === 'string' && /_(?:at|after)$/.test(name)) row[name] = new Date(value)
  return row as Row
}

const mark = /^\s*\/\*prepared ([\w-]+)\*\//

/** A connection that keeps marked statements by their names. */
export class PreparingClient extends pg.Client {
  override query = ((text: unknown, values?: unknown, callback?: unknown) => {
    const query = super.query.bind(this) as (...given: unknown[]) => unknown
    const name = typeof text === 'string' ? mark.exec(text)?.[1] : undefined
    return name ? query({ name, text, values }, callback) : query(text, values, callback)
  }) as pg.Client['query']
}
