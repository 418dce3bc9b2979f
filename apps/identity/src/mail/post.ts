import type { Kysely } from 'kysely'
import { eachToItsEnd, keepRounds, type Logger } from '@sluice/process'
import type { DB } from '../database.ts'
import { claimMails, giveBack, markDelayed, markFailed, markSent, type Claimed } from './claims.ts'
import type { MailMetrics } from './metrics.ts'
import { openBody, type MailConfig } from './outbox.ts'
import { MailRefused, type SendMail } from '@sluice/mail'

interface Parts {
  db: Kysely<DB>
  config: MailConfig
  logger: Logger
  /** Undefined: there is no server, and mails stay where they are. */
  send: SendMail | undefined
  metrics?: MailMetrics
  /** Answers what somebody may get a mail for. False: there was nothing. */
  answer(): Promise<boolean>
}

/** Milliseconds between looks at what is due: one question of an index that is nearly always empty. */
const rest = 1_000
const afterTrouble = 5_000
const atOnce = 5
/** A whole try may take this long, in milliseconds: far less than another process waits before it takes the mail over. */
const longestTry = 60_000
/** What is under way when the process stops may take this long. */
const farewell = 10_000

/** Answers what mails come of, and sends what is in the outbox, until it is stopped. Several processes may. */
export const keepPosting = (parts: Parts): { stop(): Promise<void> } =>
  keepRounds((signal) => postOnce(parts, signal), {
    rest,
    afterTrouble,
    farewell,
    failed: (err) => parts.logger.warn({ err }, 'mails could not be looked after; it is tried again'),
  })

/** One look at what is due. Answers whether there was anything. */
export async function postOnce(parts: Parts, signal: AbortSignal = new AbortController().signal): Promise<boolean> {
  const answered = await parts.answer()
  if (!parts.send) return answered
  const claimed = await claimMails(parts.db, atOnce)
  await eachToItsEnd(claimed.map((mail) => post(parts, mail, signal)))
  return answered || claimed.length > 0
}

async function post({ db, config, logger, send, metrics }: Parts, mail: Claimed, stop: AbortSignal): Promise<void> {
  const about = { mail: mail.uid, attempts: mail.attempts }
  if (mail.overdue) {
    metrics?.tries.inc({ outcome: 'failed' })
    return markFailed(db, mail, undefined)
  }
  const late = AbortSignal.timeout(longestTry)
  try {
    const { uid, recipient, subject, created_at: created } = mail
    const outgoing = { ...openBody(config, uid, mail.body), uid, recipient, subject, created }
    await send!(outgoing, AbortSignal.any([stop, late]))
  } catch (error) {
    if (stop.aborted) return giveBack(db, mail)
    const reason = late.aborted ? 'The server took longer than a minute.' : (error as Error).message
    const permanent = error instanceof MailRefused && error.permanent
    logger.warn(
      { ...about, reason, permanent },
      permanent ? 'a mail was refused' : 'a mail was not taken; it is tried again',
    )
    metrics?.tries.inc({ outcome: permanent ? 'failed' : 'delayed' })
    return permanent ? markFailed(db, mail, reason) : markDelayed(db, mail, reason)
  }
  metrics?.tries.inc({ outcome: 'sent' })
  await markSent(db, mail)
  logger.info(about, 'a mail was sent')
}
