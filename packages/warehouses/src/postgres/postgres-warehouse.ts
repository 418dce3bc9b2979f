import type { Warehouse } from '../warehouse.ts'
import { postgresCatalog } from './postgres-catalog.ts'
import type { WarehouseAccess } from './postgres-connections.ts'
import { postgresLoader } from './postgres-loader.ts'
import { postgresQueries } from './postgres-queries.ts'
import { type PostgresLimits, postgresServer } from './postgres-server.ts'
import { postgresUpkeep } from './postgres-upkeep.ts'
import { postgresViews } from './postgres-views.ts'
import { endReadWatch } from './queries/statement-watchdog.ts'

/** Opens an organisation's PostgreSQL warehouse. Connects at the first use. Dispose it to close all connections. */
export function openPostgresWarehouse(access: WarehouseAccess, limits: PostgresLimits = {}): Warehouse {
  const server = postgresServer(access, limits)
  const { copies, transactions, statements } = server.pools
  return {
    loader: postgresLoader(server),
    catalog: postgresCatalog(server),
    queries: postgresQueries(access),
    views: postgresViews(server),
    upkeep: postgresUpkeep(server),
    async [Symbol.asyncDispose]() {
      await Promise.all([copies.end(), transactions.end(), statements.end(), endReadWatch(access)])
    },
  }
}
