import type { DialectCatalog, SqlDialect } from '../sql-warehouse/sql-dialect.ts'
import { openSqlWarehouse } from '../sql-warehouse/sql-warehouse.ts'
import { type Warehouse, WarehouseProblem } from '../warehouse.ts'
import type { ClientAccess } from '../tsql/tsql-settings.ts'
import { orderText, tsqlDialect } from '../tsql/tsql-dialect.ts'
import { type DatabaseHome, quoteIdentifier } from '../tsql/sql-identifiers.ts'
import { embeddedColumnName, splitOrderedQuery } from '../tsql/statements/split-ordered-query.ts'
import { synapseChangesOf } from './synapse-statements.ts'
import { sql } from '../sql-warehouse/sql-statement.ts'
import { catalogueOf } from '../tsql/tsql-catalog.ts'
import { withConnection } from '../tsql/provision-warehouse.ts'

/** The name of the column with row numbers. It is longer than any name that users can choose. */
const rowNumberColumn = quoteIdentifier('row_number'.padEnd(64, '~'))

/** Returns the SQL dialect for one organisation's schemas in a dedicated SQL pool of Azure Synapse. */
export function synapseDialect(access: ClientAccess): SqlDialect {
  const shared = tsqlDialect(access, synapseChangesOf)
  return {
    ...shared,
    catalogue: synapseCatalogueOf(access),
    publication: 'NON_TRANSACTIONAL',
    async provision() {
      await shared.provision()
      await assertSnapshotIsolation(access)
    },
    // Synapse has no OFFSET, so rows are numbered.
    page(place, columns, { limit, offset, order }) {
      const list = columns.map(quoteIdentifier).join(', ')
      const numberedRows = `select ${list}, row_number() over (order by ${orderText(order)}) as ${rowNumberColumn} from ${shared.names.place(place)}`
      const lastRow = offset + Math.max(1, limit)
      return `select ${list} from (${numberedRows}) as numbered where ${rowNumberColumn} between ${offset + 1} and ${lastRow} order by ${rowNumberColumn}`
    },
    numberRows(query, columns) {
      const { withClause, tableExpression, orderBy, optionClause } = splitOrderedQuery(query, columns)
      if (orderBy === '') return undefined
      const list = columns.map((_column, index) => embeddedColumnName(index)).join(', ')
      return `${withClause}select ${list}, row_number() over (order by ${orderBy}) as n from ${tableExpression} ${optionClause}`
    },
  }
}

export const openSynapseWarehouse = (access: ClientAccess): Warehouse => openSqlWarehouse(synapseDialect(access))

/**
 * Returns the catalogue queries. They equal those of SQL Server, except that the size of a table is the sum of its
 * sizes in the 60 distribution databases of the pool.
 */
function synapseCatalogueOf(database: DatabaseHome): DialectCatalog {
  return {
    ...catalogueOf(database),
    async bytes(session, { id }) {
      const [row] = await session.rows<{ bytes: number | string | null }>(
        // A page has 8,192 bytes. The mapping has the name of the table's part in each distribution database.
        sql`select 8192 * sum(partition_stats.reserved_page_count) as bytes
          from sys.pdw_table_mappings mapping
          join sys.pdw_nodes_tables node_table on node_table.name = mapping.physical_name
          join sys.dm_pdw_nodes_db_partition_stats partition_stats
            on partition_stats.object_id = node_table.object_id
            and partition_stats.pdw_node_id = node_table.pdw_node_id
            and partition_stats.distribution_id = node_table.distribution_id
          where mapping.object_id = ${Number(id)}`,
      )
      return Number(row?.bytes ?? 0)
    },
  }
}

/**
 * Throws unless the pool has snapshot isolation, with which queries read committed rows. Without it, they would read
 * uncommitted rows: partial ledger entries and partial transformations.
 */
async function assertSnapshotIsolation({ logins, database }: ClientAccess): Promise<void> {
  const isSnapshotOn = await withConnection(logins.service, (_run, queryScalar) =>
    queryScalar(`select cast(is_read_committed_snapshot_on as int) as value from sys.databases where name = db_name()`),
  )
  if (Number(isSnapshotOn) === 1) return
  throw new WarehouseProblem(
    'WAREHOUSE_NOT_SET_UP',
    `The Synapse pool “${database}” lets queries read uncommitted rows. An operator has to run ALTER DATABASE [${database}] SET READ_COMMITTED_SNAPSHOT ON in its master database, while there are no other connections.`,
  )
}
