import type { Catalogue } from '../dialects/dialect.ts'
import { sql } from '../dialects/sql.ts'
import { catalogueOf } from '../tsql/catalogue.ts'
import type { Home } from '../tsql/names.ts'

/** As of SQL Server, but for what is in the 60 databases below. */
export function synapseCatalogueOf(home: Home): Catalogue {
  return {
    ...catalogueOf(home),
    async bytes(session, { id }) {
      const [row] = await session.rows<{ bytes: number | string | null }>(
        sql`select 8192 * sum(s.reserved_page_count) as bytes
          from sys.pdw_table_mappings m
          join sys.pdw_nodes_tables t on t.name = m.physical_name
          join sys.dm_pdw_nodes_db_partition_stats s
            on s.object_id = t.object_id and s.pdw_node_id = t.pdw_node_id and s.distribution_id = t.distribution_id
          where m.object_id = ${Number(id)}`,
      )
      return Number(row?.bytes ?? 0)
    },
  }
}
