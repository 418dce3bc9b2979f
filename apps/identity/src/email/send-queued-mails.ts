import { type Kysely, sql } from 'kysely'
import { Counter, type Logger, type Registry, waitForAll, startPollingLoop } from '@sluice/process'
import type { DB } from '../database.ts'
import { type MailConfig, openMailBody } from './outbox.ts'
import { MailRefused, type SendMail } from '@sluice/mail'

interface MailSenderOptions {
  db: Kysely<DB>
  config: MailConfig
  logger: Logger
  /** Undefined if no SMTP server is configured; mails then stay in the outbox. */
  send: SendMail | undefined
  metrics?: MailMetrics
  /** Handles one pending password-reset request. Returns false if none was pending. */
  answerPasswordReset(): Promise<boolean>
}

/**
 * Milliseconds between queries for due mails. The query is cheap, because it reads an index that is nearly always
 * empty.
 */
const pollIntervalMs = 1_000
const pollAfterFailureMs = 5_000
const mailsPerBatch = 5
/**
 * The timeout of one attempt in milliseconds. It is far shorter than the lease, so no other process claims the mail
 * during the attempt.
 */
const sendTimeoutMs = 60_000
/** Milliseconds to wait for unfinished sends when the process stops. */
const shutdownTimeoutMs = 10_000

/**
 * Handles password-reset requests and sends queued mails until it is stopped. Several processes may do this
 * concurrently.
 */
export const startMailSender = (options: MailSenderOptions): { stop(): Promise<void> } =>
  startPollingLoop((signal) => sendQueuedMails(options, signal), {
    pauseMs: pollIntervalMs,
    pauseAfterFailureMs: pollAfterFailureMs,
    stopTimeoutMs: shutdownTimeoutMs,
    failed: (err) => options.logger.warn({ err }, 'mails could not be processed; the next try is in a few seconds'),
  })

/**
 * Handles one pending password-reset request, which can queue mails, and then sends one batch of due mails if an SMTP
 * server is configured. Returns whether it did anything, because then more work may be waiting.
 */
export async function sendQueuedMails(
  options: MailSenderOptions,
  signal: AbortSignal = new AbortController().signal,
): Promise<boolean> {
  const hadResetRequest = await options.answerPasswordReset()
  const hasSmtpServer = options.send !== undefined
  if (!hasSmtpServer) return hadResetRequest
  const claimedMails = await claimMails(options.db, mailsPerBatch)
  await waitForAll(claimedMails.map((mail) => sendMail(options, mail, signal)))
  return hadResetRequest || claimedMails.length > 0
}

/**
 * Sends a claimed mail and stores the outcome: sent, failed, or delayed for another attempt. An expired mail fails
 * without an attempt. If `stopSignal` aborts the attempt, the mail becomes due again.
 */
async function sendMail(
  { db, config, logger, send, metrics }: MailSenderOptions,
  mail: ClaimedMail,
  stopSignal: AbortSignal,
): Promise<void> {
  const logFields = { mail: mail.uid, attempts: mail.attempts }
  if (mail.overdue) {
    metrics?.attempts.inc({ outcome: 'failed' })
    return markFailed(db, mail, undefined)
  }
  const timeout = AbortSignal.timeout(sendTimeoutMs)
  try {
    const { uid, recipient, subject, created_at: created } = mail
    const outgoing = { ...openMailBody(config, uid, mail.body), uid, recipient, subject, created }
    await send!(outgoing, AbortSignal.any([stopSignal, timeout]))
  } catch (error) {
    if (stopSignal.aborted) return requeueMail(db, mail)
    const reason = timeout.aborted ? 'The mail server took longer than a minute.' : (error as Error).message
    const isPermanent = error instanceof MailRefused && error.permanent
    logger.warn(
      { ...logFields, reason, permanent: isPermanent },
      isPermanent ? 'the server refused a mail permanently' : 'a mail could not be sent; it is tried again later',
    )
    metrics?.attempts.inc({ outcome: isPermanent ? 'failed' : 'delayed' })
    return isPermanent ? markFailed(db, mail, reason) : markDelayed(db, mail, reason)
  }
  metrics?.attempts.inc({ outcome: 'sent' })
  await markSent(db, mail)
  logger.info(logFields, 'a mail was sent')
}

interface MailMetrics {
  /** Counts attempts by outcome: sent, delayed or failed. */
  attempts: Counter<'outcome'>
}

/** The mail metrics at /metrics. Alert on mails that fail or are delayed for long. */
export const createMailMetrics = (registry: Registry): MailMetrics => ({
  attempts: new Counter({
    name: 'identity_mail_tries_total',
    help: 'Attempts to send a mail, by outcome.',
    labelNames: ['outcome'],
    registers: [registry],
  }),
})

interface ClaimedMail {
  id: number
  uid: string
  recipient: string
  subject: string
  body: string
  attempts: number
  created_at: Date
  /** Whether the mail has expired, so that it must not be sent. */
  overdue: boolean
}

/** Minutes after which another process may claim a mail again. The lease is longer than any attempt. */
const leaseMinutes = 5

/**
 * Claims up to `limit` due mails for this process: moves their next attempt to the end of a lease, so that no other
 * process claims them before. If this process ends before it stores the outcome, the mails become due again. A mail may
 * thus be sent twice, but is never lost.
 */
export async function claimMails(db: Kysely<DB>, limit: number): Promise<ClaimedMail[]> {
  const { rows } = await sql<ClaimedMail>`
    update mails set attempts = attempts + 1, next_try_at = now() + make_interval(mins => ${leaseMinutes})
    where id in (
      select id from mails where state = 'QUEUED' and next_try_at <= now()
      order by next_try_at, id limit ${limit} for update skip locked
    )
    returning id, uid, recipient, subject, body, attempts, created_at, expires_at <= now() as overdue`.execute(db)
  return rows
}

/** Marks a mail as sent and deletes its body. */
async function markSent(db: Kysely<DB>, { id }: ClaimedMail): Promise<void> {
  await sql`
    update mails set state = 'SENT', body = null, reason = null, finished_at = now()
    where id = ${id} and state = 'QUEUED'`.execute(db)
}

/** Marks a mail as failed and deletes its body. The mail is never retried. */
async function markFailed(db: Kysely<DB>, { id }: ClaimedMail, reason: string | undefined): Promise<void> {
  await sql`
    update mails set state = 'FAILED', body = null, finished_at = now(), reason = coalesce(${reason ?? null}, 'Gave up. Last error: ' || reason, 'Gave up: it could not be sent in time.')
    where id = ${id} and state = 'QUEUED'`.execute(db)
}

/**
 * Schedules the next attempt: 30 seconds after the first failure, then double the delay each time up to an hour, with
 * jitter.
 */
async function markDelayed(db: Kysely<DB>, { id, attempts }: ClaimedMail, reason: string): Promise<void> {
  const seconds = Math.min(3600, 30 * 2 ** (attempts - 1)) * (0.75 + Math.random() / 4)
  await sql`
    update mails set next_try_at = now() + make_interval(secs => ${seconds}), reason = ${reason}
    where id = ${id} and state = 'QUEUED'`.execute(db)
}

/**
 * Releases a claimed mail when this process stops. Another process may send it at once. The interrupted attempt does
 * not count.
 */
async function requeueMail(db: Kysely<DB>, { id }: ClaimedMail): Promise<void> {
  await sql`
    update mails set next_try_at = now(), attempts = attempts - 1 where id = ${id} and state = 'QUEUED'`.execute(db)
}
