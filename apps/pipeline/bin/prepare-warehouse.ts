import { databaseUrl, listSetting, main, readSettings, textSetting } from '@sluice/process'
import { prepareWarehouseServer } from '@sluice/warehouses/postgres/server/prepare-server'

/**
 * Prepares a warehouse server so that organisations are isolated from each other, which needs a superuser. Run it once
 * per server; repeating it is safe.
 */
await main(async () => {
  const { values } = readSettings(process.env, {
    WAREHOUSE_SUPERUSER_URL: databaseUrl(),
    /** The role in WAREHOUSE_DATABASE_URL, with which the services connect to the warehouse. */
    WAREHOUSE_ROLE: textSetting('warehouse'),
    /** Databases on the same server to which organisations must not connect. */
    WAREHOUSE_CLOSED_DATABASES: listSetting(['postgres']),
  })
  await prepareWarehouseServer(values.WAREHOUSE_SUPERUSER_URL, {
    admin: values.WAREHOUSE_ROLE,
    close: values.WAREHOUSE_CLOSED_DATABASES,
  })
  process.stdout.write('The warehouse server is prepared.\n')
})
