import { sql, type RawBuilder } from 'kysely'
import pg from 'pg'

/**
 * Begins a statement that PostgreSQL is to parse and plan once per connection, not once per request: for the few that are
 * asked with every request. One name, one text. Such a statement names its columns, or makes JSON of its rows: a column
 * that a migration adds behind the back of a running process would make `select *` fail until the connection ends.
 */
export const prepared = (name: string): RawBuilder<unknown> => sql.raw(`/*prepared ${name}*/`)

const mark = '/*prepared '

/** A connection that keeps marked statements by their names. */
export class PreparingClient extends pg.Client {
  override query = ((text: unknown, values?: unknown, callback?: unknown) => {
    const query = super.query.bind(this) as (...given: unknown[]) => unknown
    if (typeof text !== 'string' || !text.startsWith(mark)) return query(text, values, callback)
    return query({ name: text.slice(mark.length, text.indexOf('*/')), text, values }, callback)
  }) as pg.Client['query']
}
