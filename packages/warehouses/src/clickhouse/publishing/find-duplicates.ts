import type { DuplicateValues } from '../../duplicate-key.ts'
import { type ClientAccess, maxStatementSeconds } from '../clickhouse-settings.ts'
import { quoteIdentifier } from '../names.ts'
import { rowsOf } from '../protocol/http.ts'

/** Finds values of the columns that several rows share; undefined if none exist. `from` is a table or a subquery. */
export async function findDuplicates(
  { read }: Pick<ClientAccess, 'read'>,
  columns: readonly string[],
  from: string,
  signal: AbortSignal,
  settings: Record<string, string | number> = {},
): Promise<DuplicateValues | undefined> {
  const names = columns.map((name) => quoteIdentifier(name))
  const [duplicate] = await rowsOf<{ values: string[]; rows: string | number }>(
    read,
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
