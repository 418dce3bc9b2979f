import type { ClientBase, Pool } from 'pg'
import { withClient } from './access.ts'
import { failed } from './workshop.ts'

/** Schemas, relations, functions and types of the client. Row types of tables and array types are left out: they exist with their table or type. */
const objects = `
  select oid::text, name from (
    select oid, nspname, quote_ident(nspname) as name from pg_namespace
    union all
    select c.oid, nspname, format('%I.%I', nspname, relname) from pg_class c join pg_namespace n on n.oid = relnamespace
    where relkind in ('r', 'p', 'v', 'm', 'S', 'f')
    union all
    select p.oid, nspname, format('%I.%I', nspname, proname) from pg_proc p join pg_namespace n on n.oid = pronamespace
    union all
    select t.oid, nspname, format('%I.%I', nspname, typname) from pg_type t join pg_namespace n on n.oid = typnamespace
    where typtype in ('d', 'e', 'r') or exists (select from pg_class c where c.oid = typrelid and relkind = 'c')
  ) o where nspname !~ '^(pg_|sluice_|sluice$|information_schema$)'`

/** Lists committed relations outside a schema that a session has locked for a change. A transaction holds such locks until it ends. */
const changed = `
  select distinct format('%I.%I', nspname, relname) as name
  from pg_locks l join pg_class c on c.oid = l.relation join pg_namespace n on n.oid = relnamespace
  where l.pid = $1 and l.locktype = 'relation' and relkind in ('r', 'p', 'v', 'm', 'S', 'f')
    and l.database = (select oid from pg_database where datname = current_database())
    and l.mode <> all ('{AccessShareLock,RowShareLock}') and nspname <> $2 and nspname !~ '^pg_'`

/**
 * Throws TRANSFORMATION_FAILED if the open transaction of `client` wrote to a relation outside `schema`, or created a schema, relation,
 * function or type there. Other changes, such as grants and comments, pass: the caller rolls the transaction back in any case. Compares
 * with another connection, which does not see created objects.
 */
export async function assertNothingWrittenElsewhere(
  client: ClientBase,
  others: Pool,
  { process, schema }: { process: number; schema: string },
): Promise<void> {
  const seen = (await client.query<{ oid: string; name: string }>(objects)).rows
  const names = await withClient(others, undefined, async (other) => {
    const committed = new Set((await other.query<{ oid: string }>(objects)).rows.map(({ oid }) => oid))
    const { rows } = await other.query<{ name: string }>(changed, [process, schema])
    return [...rows, ...seen.filter(({ oid }) => !committed.has(oid))].map(({ name }) => name)
  })
  if (names.length === 0) return
  const shown = [...new Set(names)].toSorted()
  const more = shown.length > 5 ? ` and ${shown.length - 5} more` : ''
  throw failed(
    `A dry run changes only the rows that are being loaded, and the transformation also changes ${shown.slice(0, 5).join(', ')}${more}. It was rolled back.`,
  )
}
