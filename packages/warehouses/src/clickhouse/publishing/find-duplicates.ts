import type { DuplicateValues } from '../../duplicate-key.ts'
import { maxStatementSeconds } from '../clickhouse-settings.ts'
import { quoteIdentifier } from '../names.ts'
import { rowsOf, type ServerAccess } from '../protocol/http.ts'

/**
 * Finds one combination of the columns' values that several rows share, and the number of these rows. Returns undefined
 * if none exists. `from` is a table or a subquery, which is read as `user`.
 */
export async function findDuplicates(
  user: ServerAccess,
  columns: readonly string[],
  from: string,
  signal: AbortSignal,
  settings: Record<string, string | number> = {},
): Promise<DuplicateValues | undefined> {
  const names = columns.map((name) => quoteIdentifier(name))
  const [duplicate] = await rowsOf<{ values: string[]; rows: string | number }>(
    user,
    `select [${names.map((name) => `ifNull(toString(${name}), '')`).join(', ')}] as values, count() as rows
     from ${from} group by ${names.join(', ')} having count() > 1 limit 1`,
    {
      signal,
      settings: {
        max_bytes_before_external_group_by: 2 ** 30,
        optimize_aggregation_in_order: 1,
        max_execution_time: maxStatementSeconds,
        ...settings,
      },
    },
  )
  return duplicate && { values: duplicate.values, rows: Number(duplicate.rows) }
}
