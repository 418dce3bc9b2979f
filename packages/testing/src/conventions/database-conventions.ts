import pg from 'pg'

/**
 * Returns a sentence for each mistake in a migrated database: foreign keys without an index that starts with their
 * columns, and timestamps without time zone.
 */
export async function brokenDatabaseRules(connectionString: string): Promise<string[]> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    const { rows } = await client.query<{ broken: string }>(`
      select format('%s: foreign key %s has no index', conrelid::regclass, conname) as broken
      from pg_constraint c
      where contype = 'f' and connamespace = 'public'::regnamespace and conparentid = 0 and not exists (
        select from pg_index i
        where i.indrelid = c.conrelid and (i.indkey::int2[])[0:cardinality(c.conkey) - 1] @> c.conkey)
      union all
      select format('%s.%s: a time without a zone', table_name, column_name)
      from information_schema.columns
      where table_schema = 'public' and data_type = 'timestamp without time zone'
      order by 1`)
    return rows.map(({ broken }) => broken)
  } finally {
    await client.end()
  }
}
