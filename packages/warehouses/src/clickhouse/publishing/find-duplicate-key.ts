import { type ClientAccess, maxStatementSeconds } from '../clickhouse-settings.ts'
import { quoteIdentifier } from '../names.ts'
import { rowsOf } from '../protocol/http.ts'

/**
 * Finds a key value that several rows share. `from` is a table or subquery. Returns the values of the key's columns as
 * text, joined by commas. Returns undefined if all keys are unique.
 */
export async function findDuplicateKey(
  { read }: Pick<ClientAccess, 'read'>,
  keys: readonly string[],
  from: string,
  signal: AbortSignal,
  settings: Record<string, string | number> = {},
): Promise<string | undefined> {
  const names = keys.map((name) => quoteIdentifier(name))
  const [duplicateKey] = await rowsOf<{ key_values: string }>(
    read,
    `select arrayStringConcat([${names.map((name) => `toString(${name})`).join(', ')}], ', ') as key_values
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
  return duplicateKey?.key_values
}
