import type { ClientBase } from 'pg'
import type { ForeignKey } from '../warehouse.ts'

/** Those of a table or of the partition with its rows. Loads make none; transformations may. */
export async function foreignKeysOf(client: ClientBase, oid: number): Promise<ForeignKey[]> {
  const { rows } = await client.query<ForeignKey>(
    `select a.attname as column, fn.nspname as "referencedSchema", f.relname as "referencedTable",
       fa.attname as "referencedColumn"
     from pg_constraint k join pg_class f on f.oid = k.confrelid join pg_namespace fn on fn.oid = f.relnamespace
     cross join lateral unnest(k.conkey, k.confkey) with ordinality as pair (here, there, position)
     join pg_attribute a on a.attrelid = k.conrelid and a.attnum = pair.here
     join pg_attribute fa on fa.attrelid = k.confrelid and fa.attnum = pair.there
     where k.contype = 'f' and k.conparentid = 0
       and k.conrelid in ($1::oid, (select partdefid from pg_partitioned_table where partrelid = $1::oid))
     order by k.conname, pair.position`,
    [oid],
  )
  return rows
}
