import { setTimeout as sleep } from 'node:timers/promises'
import { createLogger, Redaction } from '@sluice/process'
import { sql } from 'kysely'
import { openWorkerQueue } from '../../../src/engine/queue/pg-boss-queue.ts'
import { sweepStaging } from '../../../src/engine/worker/duties/sweep-staging.ts'
import { stagingTables } from '../../engine/large-load.ts'
import { startStack, type Stack } from '../../engine/stack.ts'
import { until } from '../../engine/worker-process.ts'
import { never } from '../../rows.ts'
import { type Dice, dice } from './dice.ts'
import { age, type Death, liveAndDie, makePlan, spawn } from './fleet.ts'
import { type Game, lookAt, runsUnderWay } from './game.ts'
import { wrongAtLast } from './judge.ts'
import { askAndHurry, cutConnections, read, sweep, takeAway } from './surroundings.ts'
import { cancel, makeTargets, type Target } from './targets.ts'

export interface Story {
  seed: string
  kills: number
  /** Deaths by where the worker was. */
  places: Record<string, number>
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
  /** Is told now and then how far it is, and at once what is wrong. */
  tell(line: string): void
}

/**
 * Loads into a few tables while workers are killed, as often as asked. After every death the tables it touched have to be
 * one whole run each, and at the end runs, ledgers, tables and queue have to agree. The seed decides who dies where and
 * what is loaded; when exactly, the machine decides as well.
 */
export async function killAtRandom({ kills, seed, workers = 6, tell }: Wish): Promise<Story> {
  const began = Date.now()
  const all = dice(seed)
  await using stack = await startStack({ heartbeatSeconds: 10 })
  await using _watch = await watchOver(stack)
  const targets = await makeTargets(stack, all)
  const game: Game = { stack, targets, seats: new Map(), wrong: [], kills: 0, places: {}, draining: false, over: false }
  try {
    for (const client of new Set(targets.map(({ pipeline }) => pipeline.client))) {
      await stack.warehouses.open(client)
      game.seats.set(client, { judge: await stack.inside(client), reader: await stack.inside(client) })
    }
    let births = 0
    const slot = async () => {
      while (game.kills < kills && game.wrong.length === 0) {
        await oneDeath(game, all.branch(`worker ${(births += 1)}`))
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
      states: Object.fromEntries(states.map(({ state, count }) => [state, count])),
      seconds: Math.round((Date.now() - began) / 1000),
      wrong: game.wrong,
    }
  } finally {
    game.over = true
    for (const { judge, reader } of game.seats.values()) await Promise.allSettled([judge.end(), reader.end()])
  }
}

/** A worker that takes nothing, and notices the silence of the others. */
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
  const death = await liveAndDie(stack, makePlan(dice), async (runs) => {
    await age(stack, runs)
    const cancelled = dice.chance(0.5)
    if (cancelled) for (const target of targetsOf(game, runs)) await cancel(stack, target)
    // Soon after a cancellation its staging table is still there to be published.
    await sleep(dice.between(0, cancelled ? 200 : 4_000))
  })
  game.kills += 1
  const place = placeOf(death)
  game.places[place] = (game.places[place] ?? 0) + 1
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

function placeOf({ death, point, asPlanned }: Death): string {
  if (death === 'moment') return 'any moment'
  if (!asPlanned) return 'of old age'
  return `${point}${death === 'stopped' ? ', after a stop' : ''}`
}

/** Lets workers that nobody kills bring everything to its end, and compares. */
async function settle(game: Game): Promise<void> {
  const { stack, targets, seats } = game
  game.draining = true
  const workers = [await spawn(stack), await spawn(stack)]
  try {
    const left = async () => ({ runs: await runsUnderWay(game), jobs: await liveJobs(stack) })
    const settled = async () => {
      const { runs, jobs } = await left()
      return runs.length === 0 && jobs.length === 0
    }
    await until(settled, { within: 120_000, every: 100 }).catch(async () => {
      game.wrong.push(`not settled within two minutes: ${JSON.stringify(await left())}`)
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
