import type { Kysely } from 'kysely'
import { Semaphore } from '@sluice/process'
import type { DB } from '../../database.ts'
import type { Channel } from './alert.ts'
import { type Claimed, claimAlert, listDueClients } from './claims.ts'

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
