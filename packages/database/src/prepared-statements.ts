import { sql, type RawBuilder } from 'kysely'
import pg from 'pg'

/**
 * Returns an SQL comment that marks a statement as prepared: PostgreSQL then parses and plans it once per connection.
 * Use it for statements that run with every request or run, at their start or, with a query builder, in `modifyEnd`.
 * Each name must have exactly one SQL text. The statement must list its columns or return JSON: a statement with
 * `select *` fails on every open connection after a migration adds a column.
 */
export const prepared = (name: string): RawBuilder<unknown> => sql.raw(`/*prepared ${name}*/`)

/**
 * Converts a row that a statement returned as JSON to the types that `select *` would return: texts in columns named
 * `…_at` or `…_after` become Dates. Changes the object and returns it.
 */
// The caller knows what the statement selects.
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export function parseJsonRow<Row>(json: unknown): Row {
  const row = json as Record<string, unknown>
  for (const [name, value] of Object.entries(row))
    if (typeof value === 'string' && /_(?:at|after)$/.test(name)) row[name] = new Date(value)
  return row as Row
}

/** The comment of `prepared` at the start of a statement (group 1) or at its end (group 2). */
const preparedMarkPattern = /^\s*\/\*prepared ([\w-]+)\*\/|\/\*prepared ([\w-]+)\*\/$/

/** A pg client that runs marked statements as named prepared statements. */
export class PreparingClient extends pg.Client {
  override query = ((text: unknown, values?: unknown, callback?: unknown) => {
    const query = super.query.bind(this) as (...args: unknown[]) => unknown
    const mark = typeof text === 'string' ? preparedMarkPattern.exec(text) : undefined
    const name = mark?.[1] ?? mark?.[2]
    return name ? query({ name, text, values }, callback) : query(text, values, callback)
  }) as pg.Client['query']
}
