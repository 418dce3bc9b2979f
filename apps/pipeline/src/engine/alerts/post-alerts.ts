import { MailRefused, render, type SendMail } from '@sluice/mail'
import { Counter, eachToItsEnd, keepRounds, type Logger, type Registry } from '@sluice/process'
import type { Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import type { Channel } from './alert.ts'
import { type Claimed, claimAlerts, giveBack, giveUpUnsendable, markFailed, markSent, noteWaiting } from './claims.ts'
import { letterAbout } from './letter.ts'
import { Refused } from './refused.ts'
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

const atOnce = 5
/** A whole try may take this long, in milliseconds: less than the lease. */
const longestTry = 60_000
/** What is under way when the process stops may take this long. */
const farewell = 5_000

/** Sends what is to be told of failed runs, until it is stopped. Several processes may. */
export function keepPostingAlerts(parts: Parts): { stop(): Promise<void> } {
  const tries = counterOf(parts.registry)
  const posting = keepRounds((signal) => postOnce(parts, signal, tries), {
    rest: parts.every ?? 3_000,
    farewell,
    failed: (err) => parts.logger.warn({ err }, 'alerts could not be looked after; it is tried again'),
  })
  return {
    async stop() {
      await posting.stop()
      await parts.webhook?.close()
    },
  }
}

const noMail = 'No mail goes out here: the operator has set no SMTP_URL.'
const noWebhook = 'No worker has ALERT_WEBHOOK_URL.'

type Told = (channel: string, outcome: string) => void

/** One look at what is due. Answers whether there may be more. */
async function postOnce(parts: Parts, signal: AbortSignal, told: Told): Promise<boolean> {
  const channels: Channel[] = [
    ...(parts.sendMail ? (['MAIL'] as const) : []),
    ...(parts.webhook ? (['WEBHOOK'] as const) : []),
  ]
  if (!parts.webhook) await giveUpUnsendable(parts.db, 'WEBHOOK', noWebhook)
  if (!parts.sendMail) {
    await giveUpUnsendable(parts.db, 'MAIL', noMail)
    await noteWaiting(parts.db, 'MAIL', noMail)
  }
  const claimed = await claimAlerts(parts.db, channels, atOnce)
  await eachToItsEnd(claimed.map((alert) => post(parts, alert, signal, told)))
  return claimed.length === atOnce
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
