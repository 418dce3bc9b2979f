import type { ClientBase } from 'pg'
import type { Place, StagingTable } from '../views.ts'
import type { WarehouseTable } from '../warehouse.ts'
import { describeColumn, findTable } from './catalogue.ts'
import { qualified } from './names.ts'
import { readShape } from './shape.ts'

/** Foreign tables and partitions are not shown: the ones are elsewhere, the others are rows of a table that is. */
export async function relations(client: ClientBase, schemas: readonly string[]): Promise<Place[]> {
  const { rows } = await client.query<Place>(
    `select n.nspname as schema, c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = any($1) and c.relkind in ('r', 'p', 'v', 'm') and not c.relispartition
       and n.nspname not like 'pg\\_%' and n.nspname not like 'sluice%'
     order by n.nspname collate "C", c.relname collate "C"`,
    [schemas],
  )
  return rows
}

/** One after the other on one connection: a page of them, no more. */
export async function findTables(client: ClientBase, places: readonly Place[]): Promise<WarehouseTable[]> {
  const found: WarehouseTable[] = []
  for (const { schema, name } of places) {
    const table = await findTable(client, schema, name)
    if (table) found.push(table)
  }
  return found
}

/** A staging table says in its comment which run made it, and for which table. */
export async function findStaging(
  client: ClientBase,
  schema: string,
  table: string,
  { counted = false } = {},
): Promise<StagingTable | undefined> {
  const { rows } = await client.query<{ name: string; run: string }>(
    `select c.relname as name, o.origin->>'run' as run
     from pg_class c,
       lateral (select case when obj_description(c.oid, 'pg_class') is json object
                            then obj_description(c.oid, 'pg_class')::jsonb end as origin) o
     where c.relnamespace = to_regnamespace('sluice') and c.relkind = 'r' and not c.relispartition
       and o.origin->>'schema' = $1 and o.origin->>'table' = $2 and o.origin ? 'run'
       and c.relname not in (select partition_name from sluice.kept_table where partition_name is not null)
     order by c.oid desc limit 1`,
    [schema, table],
  )
  const [found] = rows
  const shape = found && (await readShape(client, 'sluice', found.name))
  if (!found || !shape) return undefined
  const columns = shape.columns.map(describeColumn)
  // The server has no estimate of a table that it has never analysed.
  const rowCount = counted ? await countRows(client, found.name) : shape.estimatedRows
  const { size } = shape
  return { schema: 'sluice', name: found.name, run: found.run, columns, rowCount, size, foreignKeys: [] }
}

async function countRows(client: ClientBase, stagingTable: string): Promise<number> {
  const { rows } = await client.query(`select count(*)::float8 as count from ${qualified('sluice', stagingTable)}`)
  return rows[0].count
}
