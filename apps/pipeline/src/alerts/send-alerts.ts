import { MailRefused, renderEmail, type SendMail } from '@sluice/mail'
import { Counter, startPollingLoop, type Logger, type Registry } from '@sluice/process'
import type { Kysely } from 'kysely'
import type { DB } from '../database.ts'
import type { Channel } from './alert.ts'
import {
  type ClaimedAlert,
  releaseAlert,
  giveUpUnsendableAlerts,
  markFailed,
  markSent,
  recordWaitingReason,
  type FairClaim,
  createFairClaimer,
} from './claim-alerts.ts'
import { createAlertEmail } from './alert-email.ts'
import { DeliveryRejected, type Webhook } from './webhook.ts'

interface AlertSenderOptions {
  db: Kysely<DB>
  logger: Logger
  /** The public address of the pipeline service. */
  publicUrl: string
  /** Undefined if the operator has configured no mail server. */
  sendMail: SendMail | undefined
  /** Undefined if the operator has configured no webhook. */
  webhook: Webhook | undefined
  registry?: Registry
  /** Milliseconds between two searches for due alerts. */
  intervalMs?: number
}

/** The limits of each channel: concurrent alerts in total and per organisation. */
const concurrencyLimits = { total: 5, perClient: 3 }
/** Timeout of one attempt in milliseconds, shorter than the lease. */
const attemptTimeoutMs = 60_000
/** Milliseconds to wait for running attempts when the process stops. */
const stopTimeoutMs = 5_000

/**
 * Sends due alerts until it is stopped. Several processes can do this concurrently. Each channel has several slots,
 * each of which sends one alert after another, so that a slow webhook or mail server delays only its own slot.
 */
export function startSendingAlerts(options: AlertSenderOptions): { stop(): Promise<void> } {
  const { db, sendMail, webhook, logger, intervalMs = 3_000 } = options
  const countOutcome = createOutcomeCounter(options.registry)
  /** Repeats `task`: at once if it returned true, because more work may be waiting, otherwise after `intervalMs`. */
  const startLoop = (task: (signal: AbortSignal) => Promise<boolean>) =>
    startPollingLoop(task, {
      pauseMs: intervalMs,
      stopTimeoutMs,
      failed: (err) => logger.warn({ err }, 'alerts could not be processed; this is retried'),
    })
  const startSendingOn = (channel: Channel) => {
    const claim = createFairClaimer(db, channel, concurrencyLimits)
    return Array.from({ length: concurrencyLimits.total }, () =>
      startLoop((signal) => sendNext(options, claim, signal, countOutcome)),
    )
  }
  const mailLoops = sendMail ? startSendingOn('MAIL') : [startLoop(() => giveUpOldMails(db))]
  const webhookLoops = webhook ? startSendingOn('WEBHOOK') : [startLoop(() => giveUpOldWebhookCalls(db))]
  const loops = [...mailLoops, ...webhookLoops]
  return {
    async stop() {
      await Promise.all(loops.map((loop) => loop.stop()))
      await webhook?.close()
    },
  }
}

const noMailServer = 'No email is sent, because this service has no mail server. Ask the operator to set SMTP_URL.'
const noWebhook = 'No webhook was called, because no worker has ALERT_WEBHOOK_URL. Set it for the workers.'

type CountOutcome = (channel: string, outcome: string) => void

/**
 * Called periodically if no mail server is configured: stores that as the reason why emails are not sent, and gives up
 * emails that waited for a day.
 */
async function giveUpOldMails(db: Kysely<DB>): Promise<boolean> {
  await giveUpUnsendableAlerts(db, 'MAIL', noMailServer)
  await recordWaitingReason(db, 'MAIL', noMailServer)
  return false
}

async function giveUpOldWebhookCalls(db: Kysely<DB>): Promise<boolean> {
  await giveUpUnsendableAlerts(db, 'WEBHOOK', noWebhook)
  return false
}

/** Claims and sends one due alert. Returns false if none could be claimed. */
async function sendNext(
  options: AlertSenderOptions,
  claim: () => Promise<FairClaim | undefined>,
  signal: AbortSignal,
  countOutcome: CountOutcome,
): Promise<boolean> {
  using claimed = await claim()
  if (!claimed) return false
  await sendAndRecord(options, claimed.alert, signal, countOutcome)
  return true
}

/**
 * Sends a claimed alert and stores the outcome. Releases the alert for another process if `stopSignal` aborts the
 * attempt.
 */
async function sendAndRecord(
  options: AlertSenderOptions,
  alert: ClaimedAlert,
  stopSignal: AbortSignal,
  countOutcome: CountOutcome,
): Promise<void> {
  const { db, logger } = options
  const { channel, uid, tries } = alert
  const timeout = AbortSignal.timeout(attemptTimeoutMs)
  try {
    await sendAlert(options, alert, AbortSignal.any([stopSignal, timeout]))
  } catch (error) {
    if (stopSignal.aborted) return releaseAlert(db, alert)
    const isPermanent = (error instanceof MailRefused || error instanceof DeliveryRejected) && error.permanent
    const message = timeout.aborted ? 'The attempt took longer than a minute.' : (error as Error).message.slice(0, 500)
    logger.warn(
      { alert: uid, channel, tries, permanent: isPermanent, reason: message },
      'an alert could not be delivered',
    )
    countOutcome(channel, isPermanent || alert.isLastAttempt ? 'given-up' : 'delayed')
    return markFailed(db, alert, { message, permanent: isPermanent })
  }
  countOutcome(channel, 'sent')
  await markSent(db, alert)
  logger.info({ alert: uid, channel, tries }, 'an alert was sent')
}

async function sendAlert(
  { sendMail, webhook, publicUrl }: AlertSenderOptions,
  alert: ClaimedAlert,
  signal: AbortSignal,
): Promise<void> {
  const { uid, channel, recipient, content, created_at: created } = alert
  if (channel === 'WEBHOOK') return webhook!.call(uid, content, signal)
  const email = createAlertEmail(content, publicUrl)
  await sendMail!({ uid, recipient, subject: email.subject, created, ...renderEmail(email) }, signal)
}

/** Returns a function that counts attempts by channel and outcome. Without a registry, it does nothing. */
function createOutcomeCounter(registry: Registry | undefined): CountOutcome {
  if (!registry) return () => {}
  const counter = new Counter({
    name: 'pipeline_alert_tries_total',
    help: 'Attempts to send an alert, by channel and outcome.',
    labelNames: ['channel', 'outcome'],
    registers: [registry],
  })
  return (channel, outcome) => counter.inc({ channel, outcome })
}
