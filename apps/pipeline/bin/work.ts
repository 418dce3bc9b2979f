import { mkdir } from 'node:fs/promises'
import { setFlagsFromString } from 'node:v8'
import { connect, missingKeysCheck } from '@sluice/database'
import { createLogger, createMetrics, giveWay, main, Redaction, Semaphore, stopOnSignal } from '@sluice/process'
import { sql } from 'kysely'
import { sendingOf } from '@sluice/mail'
import { catalogueClient } from '../src/catalogue-client.ts'
import { readConfig } from '../src/config.ts'
import type { DB } from '../src/database.ts'
import { armFailpoints } from '../src/engine/failpoints.ts'
import { keepPostingAlerts } from '../src/engine/alerts/post-alerts.ts'
import { webhook } from '../src/engine/alerts/webhook.ts'
import { openDatasets } from '../src/engine/datasets/open-datasets.ts'
import { openDestinations } from '../src/engine/destinations/destinations.ts'
import { openWorkerQueue } from '../src/engine/queue/pg-boss-queue.ts'
import { schedulerMetrics } from '../src/engine/schedules/metrics.ts'
import { startScheduler } from '../src/engine/schedules/scheduler.ts'
import { keepReaderThreads } from '../src/engine/sources/files/keep-reader-threads.ts'
import { openSources } from '../src/engine/sources/sources.ts'
import { clientWarehouses } from '../src/engine/warehouses/client-warehouses.ts'
import { everyKind } from '../src/engine/warehouses/every-kind.ts'
import { otherKinds } from '../src/engine/warehouses/other-kinds.ts'
import { alertNoSuccess } from '../src/engine/worker/duties/alert-no-success.ts'
import { dropDeleted } from '../src/engine/worker/duties/drop-deleted.ts'
import { eraseDeletedClients } from '../src/engine/worker/duties/erase-deleted-clients.ts'
import { expirePrevious } from '../src/engine/worker/duties/expire-previous.ts'
import { forgetRuns } from '../src/engine/worker/duties/forget-runs.ts'
import { keepMonths } from '../src/engine/worker/duties/keep-months.ts'
import { namePublishers } from '../src/engine/worker/duties/name-publishers.ts'
import { pruneLedgers } from '../src/engine/worker/duties/prune-ledgers.ts'
import { queueMissingRuns } from '../src/engine/worker/duties/queue-missing-runs.ts'
import { removeFiles } from '../src/engine/worker/duties/remove-files.ts'
import { sweepStaging } from '../src/engine/worker/duties/sweep-staging.ts'
import { startJanitor } from '../src/engine/worker/janitor.ts'
import { workerMetrics } from '../src/engine/worker/metrics.ts'
import { listenForProbes } from '../src/engine/worker/probes.ts'
import { startWorker } from '../src/engine/worker/worker.ts'
import { advanceDue } from '../src/engine/workflows/advance-due.ts'
import { filesHealthCheck } from '../src/files/files-directory.ts'
import { identityLookups } from '../src/identity/identity-service.ts'
import { demandMigrated } from '../src/migrations.ts'
import { durableSealedColumns } from '../src/sealed-secrets.ts'

/** Runs that are looked at beyond the slots: those that get none are put back, and must not keep others from being looked at. */
const lookingOn = 2

// Its threads take it over: rows are bytes, few objects are made, and what is thrown away need not be kept for later.
setFlagsFromString('--optimize-for-size')
// Whoever waits for the API is served first.
giveWay(5)

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
    // The error itself drags its whole connection into the log.
    onError: ({ message }) => logger.warn({ reason: message }, 'a database connection broke'),
  })
  await demandMigrated(db)
  const queue = await openWorkerQueue({
    connectionString: config.PIPELINE_DATABASE_URL,
    concurrency: config.WORKER_CONCURRENCY + lookingOn,
    clientConcurrency: config.CLIENT_CONCURRENCY,
    heartbeatSeconds: config.WORKER_HEARTBEAT_SECONDS,
    logger,
  })
  const adminUrl = config.WAREHOUSE_DATABASE_URL
  const databaseBytes = config.databaseBytes ? { databaseBytes: config.databaseBytes } : {}
  const loads = Math.min(config.WORKER_CONCURRENCY, config.CLIENT_CONCURRENCY)
  const keyRing = config.SECRET_KEYS
  const niceness = config.WAREHOUSE_NICENESS
  const keepDays = config.KEEP_PREVIOUS_DAYS
  const warehouses = everyKind(
    clientWarehouses({ db, keyRing, adminUrl, logger, redaction, loads, niceness, keepDays, ...databaseBytes }),
    {
      db,
      keyRing,
      redaction,
      others: otherKinds(config, { keepDays }),
    },
  )
  const identity = identityLookups(config)
  const destinations = openDestinations({ allowed: config.OUTGOING_ALLOWED })

  let stopping = false
  const probes = await listenForProbes({
    port: config.WORKER_PORT,
    host: config.LISTEN_HOST,
    registry,
    isStopping: () => stopping,
    parts: [
      { name: 'database', check: () => sql`select 1`.execute(db) },
      { name: 'queue', check: () => queue.check() },
      filesHealthCheck(filesDirectory),
      { name: 'secrets', spare: true, check: missingKeysCheck(db, config.SECRET_KEYS, durableSealedColumns) },
      { name: 'warehouse', check: () => warehouses.check() },
      ...warehouses.others.map((part) => ({ ...part, spare: true })),
    ],
  })
  const worker = await startWorker({
    db,
    queue,
    warehouses,
    sources: openSources({
      filesDirectory,
      allowed: config.OUTGOING_ALLOWED,
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
    clientStands: async (uid) => {
      if (uid === catalogueClient) return true
      // Nobody can tell while the identity service is away: then what was asked for is done.
      const client = await identity.client(uid).catch(() => 'unknown' as const)
      return client === 'unknown' || (client !== undefined && !client.disabled && client.pipelinesEnabled)
    },
  })
  keepReaderThreads()
  const janitor = startJanitor({
    db,
    logger,
    metrics,
    duties: [
      queueMissingRuns({ db, queue }),
      dropDeleted({ db, warehouses, logger }),
      sweepStaging({ db, warehouses }),
      expirePrevious({ db, warehouses }),
      removeFiles({ db, filesDirectory }),
      forgetRuns({ db, days: config.RUN_RETENTION_DAYS }),
      pruneLedgers({ db, warehouses, days: config.RUN_RETENTION_DAYS }),
      namePublishers({ db, identity }),
      alertNoSuccess({ db, identity }),
      eraseDeletedClients({ db, warehouses, filesDirectory, identity, logger }),
      keepMonths({ db, days: config.RUN_RETENTION_DAYS }),
    ],
  })
  const scheduler = startScheduler({
    db,
    queue,
    clients: (uids) => identity.clients(uids),
    logger,
    metrics: schedulerMetrics(registry),
    also: [{ name: 'workflows', run: () => advanceDue(db, queue) }],
  })
  const { ALERT_WEBHOOK_URL, ALERT_WEBHOOK_SECRET: secret, OUTGOING_ALLOWED: allowed } = config
  const publicUrl = config.PIPELINE_PUBLIC_URL
  const alerts = keepPostingAlerts({
    db,
    logger,
    publicUrl,
    registry,
    sendMail: sendingOf(config),
    webhook: ALERT_WEBHOOK_URL && secret ? webhook({ url: ALERT_WEBHOOK_URL, secret, allowed, publicUrl }) : undefined,
  })
  if (config.CLIENT_CONCURRENCY >= config.WORKER_CONCURRENCY)
    logger.warn(
      { CLIENT_CONCURRENCY: config.CLIENT_CONCURRENCY, WORKER_CONCURRENCY: config.WORKER_CONCURRENCY },
      'one organisation may take every slot of this worker but the last: lower CLIENT_CONCURRENCY',
    )
  logger.info({ port: config.WORKER_PORT, concurrency: config.WORKER_CONCURRENCY }, 'pipeline worker takes runs')

  const steps = [
    { name: 'scheduler', stop: () => scheduler.stop() },
    { name: 'worker', stop: () => ((stopping = true), worker.stop()) },
    { name: 'janitor', stop: () => janitor.stop() },
    { name: 'alerts', stop: () => alerts.stop() },
    { name: 'destinations', stop: () => destinations.close() },
    { name: 'warehouses', stop: () => warehouses[Symbol.asyncDispose]() },
    { name: 'probes', stop: () => probes.close() },
    { name: 'database', stop: () => db.destroy() },
  ]
  stopOnSignal(logger, steps, 20_000)
})
