import { mkdir } from 'node:fs/promises'
import { spoolDirectory } from '@sluice/file-formats/spool/spool-file'
import { createRunningExports } from '../src/exports/running-exports.ts'
import { connect } from '@sluice/database'
import { listen } from '@sluice/http-server'
import { createLogger, createMetrics, main, Redaction, stopOnSignal } from '@sluice/process'
import { pipelineApp } from '../src/app.ts'
import { readConfig } from '../src/config.ts'
import type { DB } from '../src/database.ts'
import { openQueue } from '../src/queue/pg-boss-queue.ts'
import { openDatasets } from '../src/warehouses/find-public-datasets.ts'
import { openDestinations } from '../src/destinations/destinations.ts'
import { createConnectorRegistry } from '@sluice/connectors/registry/connector-registry'
import { clientWarehouses } from '../src/warehouses/client-warehouses.ts'
import { readerEndpoints } from '../src/warehouse-readers/reader-addresses.ts'
import { warehouseReaders } from '../src/warehouse-readers/warehouse-readers.ts'
import { routeWarehouses } from '../src/warehouses/warehouse-router.ts'
import { warehouseDrivers } from '@sluice/warehouses/registry/warehouse-registry'
import { identityLookups } from '../src/identity/http-identity-lookups.ts'
import { assertMigrated } from '../src/migrations.ts'

await main(async () => {
  const config = readConfig()
  const redaction = new Redaction()
  redaction.add(...config.secrets)
  const logger = createLogger({ name: 'pipeline', level: config.LOG_LEVEL, redaction })
  await mkdir(config.FILES_DIRECTORY, { recursive: true })

  const { db } = connect<DB>(config.PIPELINE_DATABASE_URL, {
    name: 'pipeline',
    onError: ({ message }) => logger.warn({ reason: message }, 'a database connection broke'),
  })
  await assertMigrated(db)
  const queue = await openQueue(db, logger)
  const keyRing = config.SECRET_KEYS
  const adminUrl = config.WAREHOUSE_DATABASE_URL
  const databaseBytes = config.databaseBytes ? { databaseBytes: config.databaseBytes } : {}
  const niceness = config.WAREHOUSE_NICENESS
  const drivers = warehouseDrivers(config)
  const warehouses = routeWarehouses(
    clientWarehouses({ db, keyRing, adminUrl, logger, redaction, niceness, ...databaseBytes }),
    {
      db,
      keyRing,
      redaction,
      otherDrivers: drivers,
    },
  )
  const identity = identityLookups(config)
  const endpoints = readerEndpoints(config, drivers)
  const readers = warehouseReaders({ db, keyRing, redaction, warehouses, endpoints, identity, logger })
  const destinations = openDestinations({ allowed: config.OUTGOING_ALLOWED })
  let stopping = false

  const app = pipelineApp({
    db,
    config,
    logger,
    metrics: createMetrics('pipeline'),
    isStopping: () => stopping,
    identity,
    warehouses,
    readers,
    readerCertificate: config.WAREHOUSE_PUBLIC_CERTIFICATE,
    queue,
    sources: createConnectorRegistry({
      filesDirectory: config.FILES_DIRECTORY,
      allowed: config.OUTGOING_ALLOWED,
      datasets: openDatasets({ db, warehouses }),
    }),
    destinations,
    exports: createRunningExports(spoolDirectory(config.FILES_DIRECTORY), {
      diskBytes: config.EXPORT_DISK_LIMIT,
      idleMs: 60_000,
      maxAgeMs: config.EXPORT_HOURS * 3_600_000,
    }),
    files: {
      directory: config.FILES_DIRECTORY,
      uploadLimit: config.UPLOAD_LIMIT,
      clientLimit: config.CLIENT_FILES_LIMIT,
    },
  })
  const listening = await listen(app, { port: config.PIPELINE_PORT, host: config.LISTEN_HOST })
  logger.info({ port: config.PIPELINE_PORT, host: config.LISTEN_HOST }, 'pipeline service listens')

  stopOnSignal(logger, [
    { name: 'http', stop: () => ((stopping = true), listening.close()) },
    { name: 'queue', stop: () => queue[Symbol.asyncDispose]() },
    { name: 'destinations', stop: () => destinations.close() },
    { name: 'warehouses', stop: () => warehouses[Symbol.asyncDispose]() },
    { name: 'database', stop: () => db.destroy() },
  ])
})
