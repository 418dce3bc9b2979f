import type { Warehouse } from '../warehouse.ts'
import { sqlCatalog } from './sql-catalog.ts'
import type { SqlDialect } from './sql-dialect.ts'
import { sqlLoader } from './sql-loader.ts'
import { sqlQueries } from './sql-queries.ts'
import { sqlSessions } from './sql-sessions.ts'
import { sqlUpkeep } from './sql-upkeep.ts'
import { sqlViews } from './sql-views.ts'

/** A client's part of a server whose SQL `dialect` generates. The first use creates or repairs it. */
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
