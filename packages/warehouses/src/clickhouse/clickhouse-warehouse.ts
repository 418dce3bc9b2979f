import type { Warehouse } from '../warehouse.ts'
import { clickHouseCatalog } from './clickhouse-catalog.ts'
import { clickHouseLoader } from './clickhouse-loader.ts'
import { clickHouseQueries } from './clickhouse-queries.ts'
import { clickHouseServer } from './clickhouse-server.ts'
import type { ClientAccess } from './clickhouse-settings.ts'
import { clickHouseUpkeep } from './clickhouse-upkeep.ts'
import { clickHouseViews } from './clickhouse-views.ts'

/**
 * Returns a client's warehouse on a ClickHouse server: one database for each of its schemas. The first use creates or
 * repairs it, and finishes publications that a dead worker had decided, before it runs any other statement.
 */
export function openClickHouseWarehouse(access: ClientAccess, { keepDays = 0 } = {}): Warehouse {
  const server = clickHouseServer(access, keepDays)
  return {
    loader: clickHouseLoader(server),
    catalog: clickHouseCatalog(server),
    queries: clickHouseQueries(server),
    views: clickHouseViews(server),
    upkeep: clickHouseUpkeep(server),
    async [Symbol.asyncDispose]() {},
  }
}
