import { type Kysely, sql } from 'kysely'
import type { DB } from '../database.ts'
import type { AlertContent, Channel } from './alert.ts'
import { Semaphore } from '@sluice/process'

/** An alert that this process has leased to send it. */
export interface ClaimedAlert {
  id: number
  uid: string
  client: string
  channel: Channel
  recipient: string
  content: AlertContent
  created_at: Date
  tries: number
  /** Whether this is the last attempt, because the alert is a day old. */
  isLastAttempt: boolean
}

/** Seconds until the lease of an alert expires, longer than any attempt takes. */
const leaseSeconds = 75

const isDue = (channel: Channel) =>
  sql<boolean>`sent_at is null and given_up_at is null and try_after <= now() and channel = ${channel}`

export async function listClientsWithDueAlerts(db: Kysely<DB>, channel: Channel): Promise<string[]> {
  const { rows } = await sql<{ client: string }>`select distinct client from alerts where ${isDue(channel)}`.execute(db)
  return rows.map(({ client }) => client)
}

/**
 * Leases the organisation's oldest due alert, so that no other process sends it. If this process ends before it records
 * the outcome, the lease expires and the alert is sent again with the same id: at-least-once delivery.
 */
export async function claimAlert(db: Kysely<DB>, channel: Channel, client: string): Promise<ClaimedAlert | undefined> {
  // The alert is not due again before its lease expires.
  const leaseEnd = sql`now() + make_interval(secs => ${leaseSeconds})`
  const { rows } = await sql<ClaimedAlert>`
    update alerts set tries = tries + 1, try_after = ${leaseEnd}
    where id = (
      select id from alerts where ${isDue(channel)} and client = ${client}
      order by try_after, id limit 1 for update skip locked)
    returning id, uid, client, channel, recipient, content, created_at, tries,
      created_at < now() - interval '1 day' as "isLastAttempt"`.execute(db)
  return rows[0]
}

export async function markSent(db: Kysely<DB>, { id }: ClaimedAlert): Promise<void> {
  await sql`update alerts set sent_at = now(), last_problem = null where id = ${id}`.execute(db)
}

/**
 * Schedules the next attempt with exponential backoff from 10 seconds to an hour. Gives up after a permanent failure or
 * the last attempt.
 */
export async function markFailed(
  db: Kysely<DB>,
  { id, tries, isLastAttempt }: ClaimedAlert,
  { message, permanent }: { message: string; permanent: boolean },
): Promise<void> {
  const backoffSeconds = Math.min(3_600, 10 * 3 ** (tries - 1))
  // A random factor from 0.8 to 1 spreads the attempts of alerts that failed at the same time.
  const seconds = backoffSeconds * (0.8 + Math.random() * 0.2)
  await sql`
    update alerts set last_problem = ${message}, try_after = now() + make_interval(secs => ${seconds}),
      given_up_at = case when ${permanent || isLastAttempt} then now() end
    where id = ${id}`.execute(db)
}

/** Releases the lease of an alert when this process stops. The attempt does not count. */
export async function releaseAlert(db: Kysely<DB>, { id }: ClaimedAlert): Promise<void> {
  await sql`update alerts set try_after = now(), tries = tries - 1 where id = ${id}`.execute(db)
}

/**
 * Gives up alerts that waited a day because no worker has a configuration for their channel. Deletes webhook calls, and
 * keeps emails with the reason.
 */
export async function giveUpUnsendableAlerts(db: Kysely<DB>, channel: Channel, reason: string): Promise<void> {
  const hasWaitedADay = sql`channel = ${channel} and sent_at is null and given_up_at is null and created_at < now() - interval '1 day'
    and try_after <= now()`
  if (channel === 'WEBHOOK') await sql`delete from alerts where ${hasWaitedADay}`.execute(db)
  else await sql`update alerts set given_up_at = now(), last_problem = ${reason} where ${hasWaitedADay}`.execute(db)
}

/** Stores the reason why alerts are not sent yet, for users who look for a missing email. */
export async function recordWaitingReason(db: Kysely<DB>, channel: Channel, reason: string): Promise<void> {
  await sql`update alerts set last_problem = ${reason}
    where channel = ${channel} and sent_at is null and given_up_at is null and last_problem is null and tries = 0`.execute(
    db,
  )
}

interface ChannelSlots {
  /** The maximum number of alerts that this process sends concurrently on the channel. */
  total: number
  /**
   * The maximum number for one organisation, so that an organisation with slow recipients does not occupy all slots.
   */
  perClient: number
}

/** A claimed alert and its slot. Dispose of it after the attempt to send, which releases the slot. */
export type FairClaim = Disposable & { alert: ClaimedAlert }

/**
 * Returns a function that claims the next due alert of a channel. It returns undefined if no alert is due, or if every
 * organisation with a due alert uses all of its slots. The organisation that was served least recently goes first.
 * Disposing the claim releases its slot.
 */
export function createFairClaimer(db: Kysely<DB>, channel: Channel, { total, perClient }: ChannelSlots) {
  const usedSlots = new Map<string, number>()
  /** The uids of organisations, least recently served first. */
  const servedClients = new Set<string>()

  async function claim(): Promise<FairClaim | undefined> {
    const dueClients = new Set(await listClientsWithDueAlerts(db, channel))
    for (const client of sortByLastService(dueClients)) {
      if (countUsedSlots(client) >= perClient) continue
      const alert = await claimAlert(db, channel, client)
      if (!alert) continue
      moveToEnd(client)
      usedSlots.set(client, countUsedSlots(client) + 1)
      return { alert, [Symbol.dispose]: () => releaseSlot(client) }
    }
    return undefined
  }

  function sortByLastService(clients: ReadonlySet<string>): string[] {
    const neverServed = [...clients].filter((client) => !servedClients.has(client))
    const servedBefore = [...servedClients].filter((client) => clients.has(client))
    return [...neverServed, ...servedBefore]
  }

  /** Makes the organisation the most recently served one: a `Set` keeps the order of insertion. */
  function moveToEnd(client: string): void {
    servedClients.delete(client)
    servedClients.add(client)
  }

  function countUsedSlots(client: string): number {
    return usedSlots.get(client) ?? 0
  }

  function releaseSlot(client: string): void {
    const remaining = countUsedSlots(client) - 1
    if (remaining === 0) usedSlots.delete(client)
    else usedSlots.set(client, remaining)
  }

  // Concurrent claims would miscount the used slots, so a claim waits for the previous one.
  const claimMutex = new Semaphore({ total: 1, each: 1, waiting: total, title: 'Too many alerts are being claimed.' })
  return () => claimMutex.run('claim', claim)
}
