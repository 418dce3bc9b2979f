import { type Kysely, sql } from 'kysely'
import type { DB } from '../../database.ts'
import type { AlertContent, Channel } from './alert.ts'
import { Semaphore } from '@sluice/process'

/** An alert that this process is to send now. */
export interface Claimed {
  id: number
  uid: string
  client: string
  channel: Channel
  recipient: string
  content: AlertContent
  created_at: Date
  tries: number
  /** A day old: this try is its last. */
  last: boolean
}

/** Seconds after which an alert that another process took is taken for lost with it. Longer than any try. */
const lease = 75

const isDue = (channel: Channel) =>
  sql<boolean>`sent_at is null and given_up_at is null and try_after <= now() and channel = ${channel}`

/** Lists the clients that have due alerts on a channel. */
export async function listDueClients(db: Kysely<DB>, channel: Channel): Promise<string[]> {
  const { rows } = await sql<{ client: string }>`select distinct client from alerts where ${isDue(channel)}`.execute(db)
  return rows.map(({ client }) => client)
}

/**
 * Leases the client's oldest due alert, so that no other process takes it. An alert waits for a worker that has its channel. If the
 * process ends before it records the outcome, the lease expires and the alert is sent again with the same id: at-least-once delivery.
 */
export async function claimAlert(db: Kysely<DB>, channel: Channel, client: string): Promise<Claimed | undefined> {
  const { rows } = await sql<Claimed>`
    update alerts set tries = tries + 1, try_after = now() + make_interval(secs => ${lease})
    where id = (
      select id from alerts where ${isDue(channel)} and client = ${client}
      order by try_after, id limit 1 for update skip locked)
    returning id, uid, client, channel, recipient, content, created_at, tries,
      created_at < now() - interval '1 day' as last`.execute(db)
  return rows[0]
}

export async function markSent(db: Kysely<DB>, { id }: Claimed): Promise<void> {
  await sql`update alerts set sent_at = now(), last_problem = null where id = ${id}`.execute(db)
}

/** It is tried again after 10 seconds, then three times as long each time, up to an hour; or never, where that is of no use. */
export async function markFailed(
  db: Kysely<DB>,
  { id, tries, last }: Claimed,
  { message, permanent }: { message: string; permanent: boolean },
): Promise<void> {
  const seconds = Math.min(3_600, 10 * 3 ** (tries - 1)) * (0.8 + Math.random() * 0.4)
  await sql`
    update alerts set last_problem = ${message}, try_after = now() + make_interval(secs => ${seconds}),
      given_up_at = case when ${permanent || last} then now() end
    where id = ${id}`.execute(db)
}

/** This process stops before it could send it: another may at once, and it was no try. */
export async function giveBack(db: Kysely<DB>, { id }: Claimed): Promise<void> {
  await sql`update alerts set try_after = now(), tries = tries - 1 where id = ${id}`.execute(db)
}

/**
 * Ends the waiting of alerts that no worker could send for a day, so that none has their channel: those to the operator are deleted,
 * mails are kept with the reason. Until a day has gone by, a worker that has the channel may only be starting.
 */
export async function giveUpUnsendable(db: Kysely<DB>, channel: Channel, reason: string): Promise<void> {
  const old = sql`channel = ${channel} and sent_at is null and given_up_at is null and created_at < now() - interval '1 day'
    and try_after <= now()`
  if (channel === 'WEBHOOK') await sql`delete from alerts where ${old}`.execute(db)
  else await sql`update alerts set given_up_at = now(), last_problem = ${reason} where ${old}`.execute(db)
}

/** Says of mails that wait why they do. */
export async function noteWaiting(db: Kysely<DB>, channel: Channel, reason: string): Promise<void> {
  await sql`update alerts set last_problem = ${reason}
    where channel = ${channel} and sent_at is null and given_up_at is null and last_problem is null and tries = 0`.execute(
    db,
  )
}

interface Slots {
  /** Maximum number of alerts that this process sends concurrently on the channel. */
  total: number
  /** Maximum number for one client, so that a client with slow recipients does not occupy all slots. */
  perClient: number
}

/** A claimed alert. Dispose of it when the attempt to send has ended. */
export type FairClaim = Disposable & { alert: Claimed }

/** Claims alerts of one channel, round robin by client, least recently served first. */
export function fairClaims(db: Kysely<DB>, channel: Channel, { total, perClient }: Slots) {
  // Claims run one at a time, because concurrent claims would count a client's slots wrongly.
  const claiming = new Semaphore({ total: 1, each: 1, waiting: total, title: 'Too many alerts are being claimed.' })
  const held = new Map<string, number>()
  /** Clients, least recently served first. */
  const served = new Set<string>()

  async function claim(): Promise<FairClaim | undefined> {
    const due = new Set(await listDueClients(db, channel))
    const inTurn = [
      ...[...due].filter((client) => !served.has(client)),
      ...[...served].filter((client) => due.has(client)),
    ]
    for (const client of inTurn) {
      const before = held.get(client) ?? 0
      const alert = before < perClient ? await claimAlert(db, channel, client) : undefined
      if (!alert) continue
      served.delete(client)
      served.add(client)
      held.set(client, before + 1)
      return { alert, [Symbol.dispose]: () => release(client) }
    }
    return undefined
  }

  function release(client: string) {
    const left = held.get(client)! - 1
    if (left === 0) held.delete(client)
    else held.set(client, left)
  }

  /** Returns the next alert, or undefined if no due alert may start. */
  return () => claiming.run('', claim)
}
