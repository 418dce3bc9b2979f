import { connect } from '@sluice/database'
import { listen } from '@sluice/http-server'
import { createLogger, createMetrics, main, Redaction, stopOnSignal } from '@sluice/process'
import { identityApp } from '../src/app.ts'
import { readConfig } from '../src/config.ts'
import type { DB } from '../src/database.ts'
import { startMaintenance } from '../src/housekeeping.ts'
import { maintenanceJobs } from '../src/housekeeping/maintenance-jobs.ts'
import { auditTally } from '../src/oidc/audit-tally.ts'
import { keepSweeping } from '../src/oidc/sweep.ts'
import { mailMetrics, startMailSender } from '../src/mail/send-queued-mails.ts'
import { mailSenderFrom } from '@sluice/mail'
import { rotationOf } from '../src/sign-in/key-rotation.ts'
import { assertMigrated } from '../src/migrations.ts'
import { answerPasswordReset } from '../src/sign-in/password-reset-requests.ts'

/** Serves the identity API until it is told to stop. */
await main(async () => {
  const config = readConfig()
  const redaction = new Redaction()
  redaction.add(...config.secrets)
  const logger = createLogger({ name: 'identity', level: config.LOG_LEVEL, redaction })
  const { db } = connect<DB>(config.IDENTITY_DATABASE_URL, {
    name: 'identity',
    onError: (error) => logger.warn({ err: error }, 'an idle database connection broke'),
  })
  // Lists and reports may take long: they have few connections, and never those that sign-ins need.
  const searches = connect<DB>(config.IDENTITY_DATABASE_URL, {
    name: 'identity-searches',
    max: 4,
    statementTimeout: 5_000,
    onError: (error) => logger.warn({ err: error }, 'an idle database connection broke'),
  })
  await assertMigrated(db)

  let stopping = false
  const metrics = createMetrics('identity')
  const tally = auditTally(db, logger)
  const app = identityApp({ db, searches: searches.db, config, logger, metrics, tally, isStopping: () => stopping })
  const listening = await listen(app, { port: config.IDENTITY_PORT, host: config.LISTEN_HOST })
  const house = startMaintenance({ db, logger, metrics, jobs: maintenanceJobs(rotationOf(config)) })
  const sweeping = keepSweeping(db, logger)
  const post = startMailSender({
    db,
    config,
    logger,
    send: mailSenderFrom(config),
    metrics: mailMetrics(metrics),
    answer: () => answerPasswordReset(db, config),
  })
  logger.info({ port: config.IDENTITY_PORT, host: config.LISTEN_HOST }, 'listening')

  stopOnSignal(logger, [
    {
      name: 'http',
      stop() {
        stopping = true
        return listening.close()
      },
    },
    { name: 'post', stop: () => post.stop() },
    { name: 'housekeeping', stop: () => Promise.all([house.stop(), sweeping.stop()]) },
    { name: 'audit', stop: () => tally.flush() },
    { name: 'database', stop: () => Promise.all([db.destroy(), searches.db.destroy()]) },
  ])
})
