import { connect } from '@sluice/database'
import { listen } from '@sluice/http-server'
import { createLogger, createMetrics, main, Redaction, stopOnSignal } from '@sluice/process'
import { buildApp } from '../src/app.ts'
import { readConfig } from '../src/config.ts'
import type { DB } from '../src/database.ts'
import { startMaintenance } from '../src/maintenance/maintenance.ts'
import { listJobs } from '../src/maintenance/maintenance-jobs.ts'
import { createAuditTally } from '../src/openid-provider/audit-event-counter.ts'
import { startModelCleanup } from '../src/openid-provider/storage/oidc-adapter.ts'
import { endSwitchedOff, findConsoleOffReason } from '../src/openid-provider/storage/built-in-applications.ts'
import { createMailMetrics, startMailSender } from '../src/email/send-queued-mails.ts'
import { mailSenderFrom } from '@sluice/mail'
import { readKeyRotation } from '../src/sign-in/tokens/key-rotation.ts'
import { assertMigrated } from '../src/migrations.ts'
import { answerPasswordReset } from '../src/sign-in/password/password-reset-requests.ts'

/** Serves the identity API until the process gets a signal to stop. */
await main(async () => {
  const config = readConfig()
  const redaction = new Redaction()
  redaction.add(...config.secrets)
  const logger = createLogger({ name: 'identity', level: config.LOG_LEVEL, redaction })
  const { db } = connect<DB>(config.IDENTITY_DATABASE_URL, {
    name: 'identity',
    onError: (error) => logger.warn({ err: error }, 'an idle database connection broke'),
  })
  // Lists and reports may take long, so they have a small connection pool of their own and never block sign-ins.
  const searches = connect<DB>(config.IDENTITY_DATABASE_URL, {
    name: 'identity-searches',
    max: 4,
    statementTimeout: 5_000,
    onError: (error) => logger.warn({ err: error }, 'an idle database connection broke'),
  })
  await assertMigrated(db)
  const ended = await endSwitchedOff(db, config)
  if (ended > 0) logger.info({ count: ended }, 'ended the tokens of a console or device flow that is switched off')

  let stopping = false
  const metrics = createMetrics('identity')
  const tally = createAuditTally(db, logger)
  const app = buildApp({ db, searches: searches.db, config, logger, metrics, tally, isStopping: () => stopping })
  const listening = await listen(app, { port: config.IDENTITY_PORT, host: config.LISTEN_HOST })
  const maintenance = startMaintenance({ db, logger, metrics, jobs: listJobs(readKeyRotation(config)) })
  const modelCleanup = startModelCleanup(db, logger)
  const mailSender = startMailSender({
    db,
    config,
    logger,
    send: mailSenderFrom(config),
    metrics: createMailMetrics(metrics),
    answerPasswordReset: () => answerPasswordReset(db, config),
  })
  const consoleNote = findConsoleOffReason(config)
  if (consoleNote !== undefined) logger.info(consoleNote)
  logger.info({ port: config.IDENTITY_PORT, host: config.LISTEN_HOST }, 'listening')

  stopOnSignal(logger, [
    {
      name: 'http',
      stop() {
        stopping = true
        return listening.close()
      },
    },
    { name: 'mail', stop: () => mailSender.stop() },
    { name: 'maintenance', stop: () => Promise.all([maintenance.stop(), modelCleanup.stop()]) },
    { name: 'audit', stop: () => tally.flush() },
    { name: 'database', stop: () => Promise.all([db.destroy(), searches.db.destroy()]) },
  ])
})
