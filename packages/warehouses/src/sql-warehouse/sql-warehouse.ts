import type { Warehouse } from '../warehouse.ts'
import { sqlCatalog } from './sql-catalog.ts'
import type { SqlDialect } from './sql-dialect.ts'
import { sqlLoader } from './sql-loader.ts'
import { sqlQueries } from './sql-queries.ts'
import { sqlSessions } from './sql-sessions.ts'
import { sqlUpkeep } from './sql-upkeep.ts'
import { sqlViews } from './sql-views.ts'

/**
 * Opens an organisation's warehouse on a SQL server. `dialect` generates the server's SQL. The first use creates or
 * repairs the organisation's schemas and users.
 */
export function openSqlWarehouse(dialect: SqlDialect): Warehouse {
  const sessions = sqlSessions(dialect)
  return {
    loader: sqlLoader(sessions),
    catalog: sqlCatalog(sessions),
    queries: sqlQueries(sessions),
    views: sqlViews(sessions),
    upkeep: sqlUpkeep(sessions),
    async [Symbol.asyncDispose]() {},
  }
}
