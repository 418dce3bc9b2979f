import type { OldRows, UserQuery } from '../warehouse.ts'
import type { WarehouseAccess } from './access.ts'
import { planning } from './planning.ts'

const seconds = 30

/**
 * The live tables themselves and what shows their rows: views, and what materialised ones keep. Of these, those that the
 * statement before has locked, which are all that it names or that views lead it to. What is named comes first.
 */
const touched = `
  with recursive old (oid, depth) as (
    select oid, 0 from unnest($1::oid[]) as live (oid)
    union
    select r.ev_class, old.depth + 1 from old
      join pg_depend d on d.refobjid = old.oid and d.refclassid = 'pg_class'::regclass and d.classid = 'pg_rewrite'::regclass
      join pg_rewrite r on r.oid = d.objid and r.ev_class <> old.oid
  )
  select format('%s.%s', n.nspname, c.relname) as name, c.relkind in ('v', 'm') as view
  from old join pg_class c on c.oid = old.oid join pg_namespace n on n.oid = c.relnamespace
  where n.nspname <> 'sluice' and n.nspname not like 'sluice\\_%' and exists (
    select from pg_locks l where l.pid = pg_backend_pid() and l.locktype = 'relation' and l.relation = c.oid
      and l.database = (select oid from pg_database where datname = current_database()))
  order by view desc, depth desc, name limit 1`

/** See `Rehearsal.oldRows`. `live` are the oids of the tables and their partitions. */
export function readsOldRows(
  access: WarehouseAccess,
  live: readonly number[],
  query: UserQuery,
  signal: AbortSignal,
): Promise<OldRows | undefined> {
  return planning(access, query, { seconds, signal }, async (client, plan) => {
    await plan(query.schemas ?? [])
    const { rows } = await client.query<OldRows>(touched, [live])
    return rows[0]
  })
}
