import { MailRefused, render, type SendMail } from '@sluice/mail'
import { Counter, keepRounds, type Logger, type Registry } from '@sluice/process'
import type { Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import type { Channel } from './alert.ts'
import { type Claimed, giveBack, giveUpUnsendable, markFailed, markSent, noteWaiting } from './claim-alerts.ts'
import { type FairClaim, fairClaims } from './claim-alerts.ts'
import { letterAbout } from './alert-email.ts'
import { Refused } from './webhook.ts'
import type { Webhook } from './webhook.ts'

interface Parts {
  db: Kysely<DB>
  logger: Logger
  /** What people call the pipeline service. */
  publicUrl: string
  /** Undefined where the operator has no mail server. */
  sendMail: SendMail | undefined
  /** Undefined where the operator has no webhook. */
  webhook: Webhook | undefined
  registry?: Registry
  /** Milliseconds between two looks at what is due. */
  every?: number
}

/** Concurrency limits of each channel. */
const slots = { total: 5, perClient: 3 }
/** A whole try may take this long, in milliseconds: less than the lease. */
const longestTry = 60_000
/** What is under way when the process stops may take this long. */
const farewell = 5_000

/**
 * Sends alerts until it is stopped. Several processes may do so. Each slot of a channel sends one alert after another, so that a slow
 * webhook or mail server does not delay the other slots.
 */
export function keepPostingAlerts(parts: Parts): { stop(): Promise<void> } {
  const { db, sendMail, webhook, logger, every = 3_000 } = parts
  const tries = counterOf(parts.registry)
  const keep = (round: (signal: AbortSignal) => Promise<boolean>) =>
    keepRounds(round, {
      rest: every,
      farewell,
      failed: (err) => logger.warn({ err }, 'alerts could not be looked after; it is tried again'),
    })
  const keepSlots = (channel: Channel) => {
    const claim = fairClaims(db, channel, slots)
    return Array.from({ length: slots.total }, () => keep((signal) => postNext(parts, claim, signal, tries)))
  }
  const kept = [
    ...(sendMail ? keepSlots('MAIL') : [keep(() => leaveMails(db))]),
    ...(webhook ? keepSlots('WEBHOOK') : [keep(() => leaveCalls(db))]),
  ]
  return {
    async stop() {
      await Promise.all(kept.map((one) => one.stop()))
      await webhook?.close()
    },
  }
}

const noMail = 'No mail goes out here: the operator has set no SMTP_URL.'
const noWebhook = 'No worker has ALERT_WEBHOOK_URL.'

type Told = (channel: string, outcome: string) => void

/** Marks mails as waiting, or gives them up, in a process without a mail server. */
async function leaveMails(db: Kysely<DB>): Promise<boolean> {
  await giveUpUnsendable(db, 'MAIL', noMail)
  await noteWaiting(db, 'MAIL', noMail)
  return false
}

async function leaveCalls(db: Kysely<DB>): Promise<boolean> {
  await giveUpUnsendable(db, 'WEBHOOK', noWebhook)
  return false
}

/** Sends one due alert. Returns whether more may be due. */
async function postNext(
  parts: Parts,
  claim: () => Promise<FairClaim | undefined>,
  signal: AbortSignal,
  told: Told,
): Promise<boolean> {
  using claimed = await claim()
  if (!claimed) return false
  await post(parts, claimed.alert, signal, told)
  return true
}

async function post(parts: Parts, alert: Claimed, stop: AbortSignal, told: Told): Promise<void> {
  const { db, logger } = parts
  const { channel, uid, tries } = alert
  const late = AbortSignal.timeout(longestTry)
  try {
    await send(parts, alert, AbortSignal.any([stop, late]))
  } catch (error) {
    if (stop.aborted) return giveBack(db, alert)
    const permanent = (error instanceof MailRefused || error instanceof Refused) && error.permanent
    const message = late.aborted ? 'It took longer than a minute.' : (error as Error).message.slice(0, 500)
    logger.warn({ alert: uid, channel, tries, permanent, reason: message }, 'an alert was not taken')
    told(channel, permanent || alert.last ? 'given-up' : 'delayed')
    return markFailed(db, alert, { message, permanent })
  }
  told(channel, 'sent')
  await markSent(db, alert)
  logger.info({ alert: uid, channel, tries }, 'an alert was sent')
}

async function send({ sendMail, webhook, publicUrl }: Parts, alert: Claimed, signal: AbortSignal): Promise<void> {
  const { uid, channel, recipient, content, created_at: created } = alert
  if (channel === 'WEBHOOK') return webhook!.call(uid, content, signal)
  const letter = letterAbout(content, publicUrl)
  await sendMail!({ uid, recipient, subject: letter.subject, created, ...render(letter) }, signal)
}

function counterOf(registry: Registry | undefined): Told {
  if (!registry) return () => {}
  const counter = new Counter({
    name: 'pipeline_alert_tries_total',
    help: 'Tries to send an alert, by channel and by what came of them.',
    labelNames: ['channel', 'outcome'],
    registers: [registry],
  })
  return (channel, outcome) => counter.inc({ channel, outcome })
}
