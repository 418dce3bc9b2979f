import type { DB } from '../../database.ts'
import type { Transaction } from 'kysely'
import { runTransaction } from '../runs/run-transaction.ts'
import { reckoned } from './plan-runs.ts'
import { scheduleOf } from './schedule.ts'
import type { Clock, SchedulerParts } from './scheduler.ts'
import { isZone } from './wall-clock.ts'
import { writePlans } from './write-plans.ts'
import { nextRunInNewZone } from './zone-change.ts'

type Parts = SchedulerParts & { clock: Clock; signal: AbortSignal }

const page = 500

/** Plans anew what is scheduled in the zone that its client was in before. What is due already is started first, as it was planned. */
export async function followZones(parts: Parts): Promise<void> {
  const { db, clients, logger, signal } = parts
  const planned = await db
    .selectFrom('runnables')
    .select(['client', 'zone'])
    .distinct()
    .where('zone', 'is not', null)
    .where('next_run_at', 'is not', null)
    .execute()
  if (planned.length === 0) return
  const found = await clients([...new Set(planned.map(({ client }) => client))])
  for (const { client, zone: from } of planned) {
    const to = found.get(client)?.timeZone
    if (to === undefined || to === from || !isZone(to)) continue
    let moved: number
    do {
      if (signal.aborted) return
      moved = await runTransaction(db, (trx) => move(trx, parts, client, from!, to))
      if (moved > 0) logger.info({ client, from, to, count: moved }, 'schedules follow their client into another zone')
    } while (moved === page)
  }
}

async function move(trx: Transaction<DB>, { clock }: Parts, client: string, from: string, to: string) {
  const now = await clock(trx)
  const rows = await trx
    .selectFrom('runnables')
    .selectAll()
    .where('client', '=', client)
    .where('zone', '=', from)
    .where('planned', '=', true)
    .where('next_run_at', '>', now)
    .orderBy('id')
    .limit(page)
    .forNoKeyUpdate()
    .skipLocked()
    .execute()
  const plans = rows.map((row) => {
    const next = reckoned(
      () => nextRunInNewZone(scheduleOf(row), from, to, now.getTime()),
      () => {},
    )
    return { id: row.id, zone: to, ...next }
  })
  await writePlans(trx, plans)
  return rows.length
}
