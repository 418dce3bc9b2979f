import type { Warehouse } from '../warehouse.ts'
import { clickHouseCatalog } from './clickhouse-catalog.ts'
import { clickHouseLoader } from './clickhouse-loader.ts'
import { clickHouseQueries } from './clickhouse-queries.ts'
import { clickHouseServer } from './clickhouse-server.ts'
import type { ClientAccess } from './clickhouse-settings.ts'
import { clickHouseUpkeep } from './clickhouse-upkeep.ts'
import { clickHouseViews } from './clickhouse-views.ts'

/**
 * Opens an organisation's warehouse on a ClickHouse server, with one database per schema. The first use creates or
 * repairs it and completes publications that a crashed worker had decided, before any other statement runs.
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
