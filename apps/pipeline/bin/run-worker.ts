import { mkdir } from 'node:fs/promises'
import { connect, createMissingKeysCheck } from '@sluice/database'
import {
  Redaction,
  Semaphore,
  createLogger,
  createMetrics,
  lowerCpuPriority,
  main,
  stopOnSignal,
  armFailpoints,
} from '@sluice/process'
import { sql } from 'kysely'
import { mailSenderFrom } from '@sluice/mail'
import { catalogueClient } from '../src/warehouses/public-dataset-owner.ts'
import { readConfig } from '../src/config.ts'
import type { DB } from '../src/database.ts'
import { startSendingAlerts } from '../src/alerts/send-alerts.ts'
import { createWebhook } from '../src/alerts/webhook.ts'
import { openDatasets } from '../src/warehouses/find-public-datasets.ts'
import { openDestinations } from '../src/destinations/destinations.ts'
import { openWorkerQueue } from '../src/queue/pg-boss-queue.ts'
import { startScheduler } from '../src/schedules/scheduler.ts'
import { createSchedulerMetrics } from '../src/schedules/scheduler-context.ts'
import { keepReaderThreads } from '@sluice/file-formats/start-reader-thread'
import { createConnectorRegistry } from '@sluice/connectors/registry/connector-registry'
import { computeThreadHeap } from '../src/worker-slots.ts'
import { keepSystemThread } from '@sluice/connectors/registry/spool-http-system-in-thread'
import { clientWarehouses } from '../src/warehouses/client-warehouses.ts'
import { readerEndpoints } from '../src/warehouse-readers/reader-addresses.ts'
import { warehouseReaders } from '../src/warehouse-readers/warehouse-readers.ts'
import { routeWarehouses } from '../src/warehouses/warehouse-router.ts'
import { warehouseDrivers } from '@sluice/warehouses/registry/warehouse-registry'
import { alertNoSuccess } from '../src/worker/maintenance/alert-no-success.ts'
import {
  dropDeleted,
  expirePrevious,
  pruneLedgers,
  sweepStaging,
} from '../src/worker/maintenance/maintain-warehouses.ts'
import { eraseDeletedClients } from '../src/worker/maintenance/erase-deleted-clients.ts'
import { deleteOldRuns, maintainPartitions } from '../src/worker/maintenance/delete-old-runs.ts'
import { addDomainToDatasetPublishers } from '../src/worker/maintenance/add-domain-to-dataset-publishers.ts'
import { queueMissingRuns } from '../src/worker/maintenance/queue-missing-runs.ts'
import { removeExpiredUploads, removeFiles } from '../src/worker/maintenance/remove-unused-files.ts'
import { readerSessionsLock, readersLock, startMaintenance } from '../src/worker/maintenance/maintenance.ts'
import { workerMetrics } from '../src/worker/metrics.ts'
import { listenForProbes } from '../src/worker/health-server.ts'
import { startWorker } from '../src/worker/worker.ts'
import { advanceDueWorkflows } from '../src/run-lifecycle/advance-due-workflows.ts'
import { filesHealthCheck } from '../src/files/files-health-check.ts'
import { identityLookups } from '../src/identity/http-identity-lookups.ts'
import { assertMigrated } from '../src/migrations.ts'
import { durableSealedColumns } from '../src/secrets/encrypted-secrets.ts'

/**
 * Jobs that the queue delivers beyond the worker's slots. A run that finds no slot goes back to the queue, so that it
 * does not block jobs of other organisations.
 */
const extraDeliveries = 2

// Lower the worker's CPU priority, so that the API stays fast.
lowerCpuPriority(5)

await main(async () => {
  const config = readConfig()
  armFailpoints(config.FAILPOINTS)
  const redaction = new Redaction()
  redaction.add(...config.secrets)
  const logger = createLogger({ name: 'pipeline-worker', level: config.LOG_LEVEL, redaction })
  const registry = createMetrics('pipeline-worker')
  const metrics = workerMetrics(registry)
  const filesDirectory = config.FILES_DIRECTORY
  await mkdir(filesDirectory, { recursive: true })

  const { db } = connect<DB>(config.PIPELINE_DATABASE_URL, {
    name: 'pipeline worker',
    // Log only the message, because the error object contains the whole connection.
    onError: ({ message }) => logger.warn({ reason: message }, 'a database connection broke'),
  })
  await assertMigrated(db)
  const queue = await openWorkerQueue({
    connectionString: config.PIPELINE_DATABASE_URL,
    concurrency: config.WORKER_CONCURRENCY + extraDeliveries,
    clientConcurrency: config.CLIENT_CONCURRENCY,
    heartbeatSeconds: config.WORKER_HEARTBEAT_SECONDS,
    logger,
  })
  const adminUrl = config.WAREHOUSE_DATABASE_URL
  const databaseBytes = config.databaseBytes ? { databaseBytes: config.databaseBytes } : {}
  const loads = Math.min(config.WORKER_CONCURRENCY, config.CLIENT_CONCURRENCY)
  const threadHeapMegabytes = computeThreadHeap(config.WORKER_CONCURRENCY)
  const keyRing = config.SECRET_KEYS
  const niceness = config.WAREHOUSE_NICENESS
  const keepDays = config.KEEP_PREVIOUS_DAYS
  const drivers = warehouseDrivers(config, { keepDays })
  const warehouses = routeWarehouses(
    clientWarehouses({ db, keyRing, adminUrl, logger, redaction, loads, niceness, keepDays, ...databaseBytes }),
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
  const probes = await listenForProbes({
    port: config.WORKER_PORT,
    host: config.LISTEN_HOST,
    registry,
    isStopping: () => stopping,
    checks: [
      { name: 'database', check: () => sql`select 1`.execute(db) },
      { name: 'queue', check: () => queue.check() },
      filesHealthCheck(filesDirectory),
      { name: 'secrets', optional: true, check: createMissingKeysCheck(db, config.SECRET_KEYS, durableSealedColumns) },
      { name: 'warehouse', check: () => warehouses.check() },
      ...warehouses.checks.map((part) => ({ ...part, optional: true })),
    ],
  })
  const worker = await startWorker({
    db,
    queue,
    warehouses,
    sources: createConnectorRegistry({
      filesDirectory,
      allowed: config.OUTGOING_ALLOWED,
      threadHeapMegabytes,
      datasets: openDatasets({ db, warehouses }),
    }),
    destinations,
    keyRing: config.SECRET_KEYS,
    clientConcurrency: config.CLIENT_CONCURRENCY,
    slots: new Semaphore({ total: config.WORKER_CONCURRENCY, waiting: 0, title: 'Every slot is taken.' }),
    sourceSilence: config.SOURCE_SILENCE_SECONDS,
    mails: config.SMTP_URL !== undefined,
    redaction,
    logger,
    metrics,
    isClientActive: async (uid) => {
      if (uid === catalogueClient) return true
      // If the identity service is unavailable, assume that the organisation is active.
      const client = await identity.client(uid).catch(() => 'unknown' as const)
      return client === 'unknown' || (client !== undefined && !client.disabled && client.pipelinesEnabled)
    },
  })
  keepReaderThreads()
  keepSystemThread(threadHeapMegabytes)
  const maintenance = startMaintenance({
    db,
    logger,
    metrics,
    jobs: [
      queueMissingRuns({ db, queue }),
      dropDeleted({ db, warehouses, logger }),
      sweepStaging({ db, warehouses }),
      expirePrevious({ db, warehouses }),
      removeExpiredUploads({ db, filesDirectory }),
      removeFiles({ db, filesDirectory }),
      deleteOldRuns({ db, days: config.RUN_RETENTION_DAYS }),
      pruneLedgers({ db, warehouses, keepDays: config.RUN_RETENTION_DAYS }),
      addDomainToDatasetPublishers({ db, identity }),
      alertNoSuccess({ db, identity }),
      eraseDeletedClients({ db, warehouses, readers, filesDirectory, identity, logger }),
      maintainPartitions({ db, days: config.RUN_RETENTION_DAYS }),
    ],
  })
  // Warehouse readers (database logins for other programs) lose access within ten seconds after they expire or their
  // organisation is disabled.
  const readerSync = startMaintenance({
    db,
    logger,
    metrics,
    jobs: [{ name: 'warehouse readers', run: (signal) => readers.sync(signal) }],
    intervalMs: 5_000,
    lockKey: readersLock,
  })
  // Checks every second, because a session of a warehouse reader can take thousands of locks within a second.
  const readerSessions = startMaintenance({
    db,
    logger,
    metrics,
    jobs: [{ name: 'sessions of warehouse readers', run: () => readers.limitSessions() }],
    intervalMs: 1_000,
    lockKey: readerSessionsLock,
  })
  const scheduler = startScheduler({
    db,
    queue,
    clients: (uids) => identity.clients(uids),
    logger,
    metrics: createSchedulerMetrics(registry),
    additionalJobs: [{ name: 'workflows', run: () => advanceDueWorkflows(db, queue) }],
  })
  const { ALERT_WEBHOOK_URL, ALERT_WEBHOOK_SECRET: secret, OUTGOING_ALLOWED: allowed } = config
  const publicUrl = config.PIPELINE_PUBLIC_URL
  const alerts = startSendingAlerts({
    db,
    logger,
    publicUrl,
    registry,
    sendMail: mailSenderFrom(config),
    webhook:
      ALERT_WEBHOOK_URL && secret ? createWebhook({ url: ALERT_WEBHOOK_URL, secret, allowed, publicUrl }) : undefined,
  })
  if (config.CLIENT_CONCURRENCY >= config.WORKER_CONCURRENCY)
    logger.warn(
      { CLIENT_CONCURRENCY: config.CLIENT_CONCURRENCY, WORKER_CONCURRENCY: config.WORKER_CONCURRENCY },
      'one organisation can use all slots of this worker except the last: lower CLIENT_CONCURRENCY',
    )
  logger.info({ port: config.WORKER_PORT, concurrency: config.WORKER_CONCURRENCY }, 'pipeline worker takes runs')

  const steps = [
    { name: 'scheduler', stop: () => scheduler.stop() },
    { name: 'worker', stop: () => ((stopping = true), worker.stop()) },
    { name: 'maintenance', stop: () => maintenance.stop() },
    { name: 'warehouse readers', stop: () => readerSync.stop() },
    { name: 'sessions of warehouse readers', stop: () => readerSessions.stop() },
    { name: 'alerts', stop: () => alerts.stop() },
    { name: 'destinations', stop: () => destinations.close() },
    { name: 'warehouses', stop: () => warehouses[Symbol.asyncDispose]() },
    { name: 'probes', stop: () => probes.close() },
    { name: 'database', stop: () => db.destroy() },
  ]
  stopOnSignal(logger, steps, 20_000)
})
