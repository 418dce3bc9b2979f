import type { Client } from 'pg'

/** Lists the staging tables in a client's database. Omits tables that are kept for a restore. */
export async function stagingTables(inside: Client): Promise<string[]> {
  return namesOf(inside, ofStaging)
}

/** What no load leaves once it is over: its staging tables, and the schemas in which its rows were transformed. */
export async function leftovers(inside: Client): Promise<string[]> {
  return namesOf(inside, `${ofStaging} union all select nspname from pg_namespace where nspname like 'sluice\\_%'`)
}

const ofStaging = `
  select relname as name from pg_class
  where relnamespace = 'sluice'::regnamespace and relname like 'run\\_%' and relkind = 'r' and not relispartition
    and relname not in (select partition_name from sluice.kept_table where partition_name is not null)`

async function namesOf(inside: Client, query: string): Promise<string[]> {
  const { rows } = await inside.query<{ name: string }>(query)
  return rows.map(({ name }) => name)
}
