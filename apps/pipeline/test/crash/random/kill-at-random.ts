import { setTimeout as sleep } from 'node:timers/promises'
import { createLogger, Redaction } from '@sluice/process'
import { sql } from 'kysely'
import { openWorkerQueue } from '../../../src/queue/pg-boss-queue.ts'
import { sweepStaging } from '../../../src/worker/maintenance/maintain-warehouses.ts'
import { stagingTables } from '../../worker/large-load.ts'
import { startStack, type Stack } from '../../worker/worker-stack.ts'
import { until } from '@sluice/testing/wait-until'
import { never } from '@sluice/warehouses/testing/row-fixtures'
import { type Dice, dice } from './seeded-random.ts'
import { age, type Death, liveAndDie, makePlan, spawn } from './worker-fleet.ts'
import { type Game, lookAt, listActiveRuns } from './simulation-state.ts'
import { wrongAtLast } from './check-invariants.ts'
import { askAndHurry, cutConnections, read, sweep, takeAway } from './background-activity.ts'
import { cancel, makeTargets, type Target } from './load-targets.ts'

export interface Story {
  seed: string
  kills: number
  /** Kills by where the worker was. */
  places: Record<string, number>
  /** Workers that did not reach the failpoint of their plan, by failpoint. They do not count as kills. */
  missed: Record<string, number>
  /** Runs by how they ended. */
  states: Record<string, number>
  seconds: number
  /** What was found wrong; nothing is right. */
  wrong: string[]
}

interface Wish {
  kills: number
  seed: string
  /** How many at once. */
  workers?: number
  /** Called now and then with the progress, and at once with each violation. */
  tell(line: string): void
}

/**
 * Loads into a few tables while workers are killed. After every kill, each table must contain the rows of exactly one
 * run. At the end, runs, ledgers, tables and queue must agree. The seed determines which worker is killed at which
 * failpoint, and what is loaded; the exact times also depend on the machine. A worker that does not reach its failpoint
 * does not count as a kill.
 */
export async function killAtRandom({ kills, seed, workers = 6, tell }: Wish): Promise<Story> {
  const began = Date.now()
  const all = dice(seed)
  await using stack = await startStack({ heartbeatSeconds: 10 })
  await using _watch = await watchOver(stack)
  const targets = await makeTargets(stack, all)
  const game: Game = {
    stack,
    targets,
    seats: new Map(),
    wrong: [],
    kills: 0,
    places: {},
    missed: {},
    draining: false,
    over: false,
  }
  try {
    for (const client of new Set(targets.map(({ pipeline }) => pipeline.client))) {
      await stack.warehouses.open(client)
      game.seats.set(client, { judge: await stack.inside(client), reader: await stack.inside(client) })
    }
    const maxStarts = 20 + kills * 3
    let starts = 0
    let alive = 0
    const slot = async () => {
      while (game.kills + alive < kills && game.wrong.length === 0) {
        if (starts === maxStarts) {
          const missed = JSON.stringify(game.missed)
          game.wrong.push(`${starts} workers were started and only ${game.kills} died as planned; missed: ${missed}`)
          break
        }
        starts += 1
        alive += 1
        await oneDeath(game, all.branch(`worker ${starts}`)).finally(() => (alive -= 1))
        if (game.wrong.length > 0) tell(game.wrong[0]!.split('\n')[0]!)
        else if (game.kills % 25 === 0)
          tell(`${game.kills} of ${kills} kills, ${Math.round((Date.now() - began) / 1000)} s`)
      }
    }
    const around = Promise.all([askAndHurry(game), read(game), sweep(game)]).finally(() => (game.over = true))
    around.catch(() => {})
    await Promise.all(Array.from({ length: workers }, slot))
    if (game.wrong.length === 0) await settle(game)
    game.over = true
    await around
    const states = await stack.db
      .selectFrom('runs')
      .select((eb) => ['state', eb.fn.countAll<number>().as('count')])
      .groupBy('state')
      .execute()
    return {
      seed,
      kills: game.kills,
      places: game.places,
      missed: game.missed,
      states: Object.fromEntries(states.map(({ state, count }) => [state, count])),
      seconds: Math.round((Date.now() - began) / 1000),
      wrong: game.wrong,
    }
  } finally {
    game.over = true
    for (const { judge, reader } of game.seats.values()) await Promise.allSettled([judge.end(), reader.end()])
  }
}

/** Opens the queue of a worker that takes no runs and requeues the runs of dead workers. */
export function watchOver({ environment }: Stack) {
  return openWorkerQueue({
    connectionString: environment['PIPELINE_DATABASE_URL']!,
    concurrency: 1,
    clientConcurrency: 1,
    heartbeatSeconds: 10,
    logger: createLogger({ name: 'test', level: 'silent', redaction: new Redaction() }),
  })
}

async function oneDeath(game: Game, dice: Dice): Promise<void> {
  const { stack } = game
  const cancelAll = async (runs: string[]) => {
    for (const target of targetsOf(game, runs)) await cancel(stack, target)
  }
  const death = await liveAndDie(stack, makePlan(dice), {
    cancel: cancelAll,
    async whileStopped(runs) {
      await age(stack, runs)
      const cancelled = dice.chance(0.5)
      if (cancelled) await cancelAll(runs)
      // Shortly after a cancellation the staging table still exists and could be published.
      await sleep(dice.between(0, cancelled ? 200 : 4_000))
    },
  })
  if (death.asPlanned) game.kills += 1
  const place = placeOf(death)
  const places = death.asPlanned ? game.places : game.missed
  places[place] = (places[place] ?? 0) + 1
  await age(stack, death.runs)
  if (dice.chance(0.04)) await cutConnections(game, dice)
  if (dice.chance(0.05)) await takeAway(game, dice)
  for (const target of targetsOf(game, death.runs)) {
    const wrong = await lookAt(game, target)
    game.wrong.push(...wrong.map((sentence) => `${sentence}; after kill ${game.kills}, ${place}:\n${death.output}`))
  }
}

function targetsOf({ targets }: Game, runs: readonly string[]): Target[] {
  return targets.filter(({ asked }) => asked.some(({ uid }) => runs.includes(uid)))
}

function placeOf({ death, point }: Death): string {
  if (death === 'moment') return 'any moment'
  return `${point}${death === 'stopped' ? ', after a stop' : ''}`
}

/** Waits until workers that are not killed have ended all runs, then checks the tables. */
async function settle(game: Game): Promise<void> {
  const { stack, targets, seats } = game
  game.draining = true
  const workers = [await spawn(stack), await spawn(stack)]
  try {
    const left = async () => ({ runs: await listActiveRuns(game), jobs: await liveJobs(stack) })
    const settled = async () => {
      const { runs, jobs } = await left()
      return runs.length === 0 && jobs.length === 0
    }
    await until(settled, { within: 240_000, every: 100 }).catch(async () => {
      game.wrong.push(`not settled within four minutes: ${JSON.stringify(await left())}`)
    })
  } finally {
    await Promise.all(workers.map(({ program }) => program.stop('SIGTERM')))
  }
  await sweepStaging(stack).run(never)
  for (const [client, { judge }] of seats) {
    const staging = await stagingTables(judge)
    if (staging > 0) game.wrong.push(`${staging} staging tables are left in the warehouse of ${client}`)
  }
  for (const target of targets) {
    const { judge } = seats.get(target.pipeline.client)!
    game.wrong.push(...(await lookAt(game, target)), ...(await wrongAtLast(stack, judge, target)))
  }
}

async function liveJobs({ db }: Stack): Promise<object[]> {
  const { rows } = await sql<object>`
    select state, data ->> 'run' as run, start_after from pgboss.job where state < 'completed'`.execute(db)
  return rows
}
