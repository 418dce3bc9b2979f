import type { Kysely } from 'kysely'
import { Semaphore } from '@sluice/process'
import type { DB } from '../../database.ts'
import type { Channel } from './alert.ts'
import { type Claimed, claimAlert, listDueClients } from './claims.ts'

interface Slots {
  /** Alerts that this process tries at the same time by the channel. */
  total: number
  /** How many of them may be of one client, so that a client whose alerts hang does not hold all slots. */
  perClient: number
}

/** A claim of an alert. Disposing of it says that its try is over. */
export type FairClaim = Disposable & { alert: Claimed }

/** Claims alerts of one channel, round robin by client: the next one is of the client that was served longest ago. */
export function fairClaims(db: Kysely<DB>, channel: Channel, { total, perClient }: Slots) {
  // One claim at a time: concurrent ones would count the same slots of a client.
  const claiming = new Semaphore({ total: 1, each: 1, waiting: total, title: 'Too many alerts are being claimed.' })
  const held = new Map<string, number>()
  /** The client that was served longest ago comes first. */
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

  /** The next alert, or undefined if none is due that may start. */
  return () => claiming.run('', claim)
}
