import { sql } from 'kysely'

/**
 * A column of a row that a statement reads or returns. The transaction of the statement then commits without waiting for the disk. A crash
 * of the server can lose it, but not if a later commit has waited for the disk. Only for rows that may be lost in such a crash.
 */
export const commitWithoutFlush = sql<string>`set_config('synchronous_commit', 'off', true)`
