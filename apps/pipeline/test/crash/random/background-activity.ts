import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { sweepStaging } from '../../../src/worker/maintenance/maintain-warehouses.ts'
import { WarehouseProblem } from '@sluice/warehouses/warehouse'
import { never } from '@sluice/warehouses/testing/row-fixtures'
import type { Dice } from './seeded-random.ts'
import { age, hurry } from './worker-fleet.ts'
import { type Game, listActiveRuns } from './simulation-state.ts'
import { wrongForReaders } from './check-invariants.ts'
import { askNext, cancel } from './load-targets.ts'

/** Keeps every target busy, cancels a run now and then, and lets time fly for the queue. */
export async function askAndHurry(game: Game): Promise<void> {
  const { stack, targets } = game
  while (!game.over) {
    const busy = new Set((await listActiveRuns(game)).map(({ runnable_id: id }) => id))
    for (const target of targets) {
      if (busy.has(target.pipeline.id) || game.draining) continue
      const { number } = await askNext(stack, target)
      const dice = target.dice.branch(`fate ${number}`)
      if (dice.chance(0.1)) setTimeout(() => void cancel(stack, target).catch(() => {}), dice.between(0, 2_500))
    }
    await hurry(stack)
    await sleep(100)
  }
}

/** Somebody who reads all the while. */
export async function read(game: Game): Promise<void> {
  while (!game.over) {
    for (const target of game.targets) {
      game.wrong.push(...(await wrongForReaders(game.seats.get(target.pipeline.client)!.reader, target)))
      await sleep(40)
    }
  }
}

/**
 * Runs the maintenance that a worker runs every minute, because these workers end earlier. Its connections are cut too.
 */
export async function sweep(game: Game): Promise<void> {
  while (!game.over) {
    await sweepStaging(game.stack)
      .run(never)
      .catch((error: unknown) => {
        if (!(error instanceof WarehouseProblem && error.retryable)) throw error
      })
    await sleep(3_000)
  }
}

/** A run is taken from a worker that lives: it was silent for too long, as far as the queue knows. */
export async function takeAway(game: Game, dice: Dice): Promise<void> {
  const [first, ...others] = await listActiveRuns(game)
  if (first) await age(game.stack, [dice.pick([first, ...others]).uid])
}

/** The warehouse or the service's own database ends everybody's connections, as in a restart. */
export async function cutConnections({ stack, seats }: Game, dice: Dice): Promise<void> {
  if (dice.chance(0.3)) {
    await sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name in ('pipeline worker', 'sluice queue')`.execute(stack.db)
    return
  }
  const [first, ...others] = [...seats.values()]
  await dice.pick([first!, ...others]).judge.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name = 'sluice'`,
  )
}
