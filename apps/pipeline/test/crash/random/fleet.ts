import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { type Failpoint, failpointNames } from '../../../src/engine/failpoints.ts'
import type { Stack } from '../../engine/stack.ts'
import { freePort } from '@sluice/testing/free-port'
import { type Program, startProgram } from '../../program.ts'
import type { Dice } from './dice.ts'

/** How a worker is going to die. */
export interface Plan {
  /** At a point of the program, after so many milliseconds, or stopped at a point and woken when its runs are others'. */
  death: 'point' | 'moment' | 'stopped'
  point: Failpoint
  passage: number
  /** Milliseconds: until it is killed, or from its waking to its death. */
  after: number
}

export interface Death extends Plan {
  /** The uids of the runs that it had in hand at some time. */
  runs: string[]
  /** Whether it died where it was meant to, and not of old age. */
  asPlanned: boolean
  output: string
}

/** Milliseconds that a worker lives when it does not come to where it is to die. */
const oldAge = 4_000

/** Some come by more often, or have more to break: these are more likely. */
const points: [Failpoint, ...Failpoint[]] = [
  'in-copy',
  'in-publication',
  'in-publication',
  'published',
  'published',
  // Neither schedules nor views nor workflows are in this game.
  ...failpointNames.filter((name) => !/^(schedule|view|workflow)-/.test(name)),
]
/** Where a worker that is stopped and woken could do what is not its to do any more. */
const pauses: [Failpoint, ...Failpoint[]] = [
  'in-copy',
  'copied',
  'before-swap',
  'before-swap',
  'in-publication',
  'published',
]

export function makePlan(dice: Dice): Plan {
  const death = dice.pick<Plan['death']>(['point', 'point', 'point', 'moment', 'moment', 'stopped'])
  const point = dice.pick<Failpoint>(death === 'stopped' ? pauses : points)
  const most = point === 'in-copy' ? 3 : 1
  return { death, point, passage: dice.between(1, dice.chance(0.2) ? 2 : most), after: dice.between(0, 1_200) }
}

/** A worker as production starts it, from its start to its death. Undefined when it did not come up at all. */
export async function liveAndDie(
  stack: Stack,
  plan: Plan,
  whenStopped: (runs: string[]) => Promise<void>,
): Promise<Death> {
  const worker = await spawn(stack, trapsOf(plan))
  let asPlanned = false
  try {
    await worker.heard(/a run is taken up/, oldAge)
    if (plan.death === 'moment') await Promise.race([sleep(plan.after), worker.program.ended])
    asPlanned = plan.death === 'moment' || (await worker.heard(/failpoint \S+: (exit|stop)/, oldAge))
    if (plan.death === 'stopped' && asPlanned) {
      await worker.program.stopped()
      await whenStopped(worker.runs())
      worker.program.signal('SIGCONT')
      await Promise.race([sleep(plan.after + 800), worker.program.ended])
    }
  } finally {
    // Also where something goes wrong: while a stopped worker has a COPY open, no database of the server can be dropped.
    await worker.program.stop('SIGKILL')
  }
  return { ...plan, asPlanned, runs: worker.runs(), output: worker.program.output() }
}

/** What makes windows wider, and where it ends. */
function trapsOf({ death, point, passage }: Plan): string {
  const slow = 'in-copy:sleep:15,in-publication:sleep:15,published:sleep:10'
  if (death === 'moment') return slow
  return `${slow},${point}:${death === 'point' ? 'exit' : 'stop'}@${passage}`
}

export interface Living {
  program: Program
  runs(): string[]
  /** Waits until it says so; false when it ends or the milliseconds pass before. */
  heard(words: RegExp, within: number): Promise<boolean>
}

/** Starts bin/work.ts; answers at once. */
export async function spawn(stack: Stack, traps?: string): Promise<Living> {
  const environment = {
    ...stack.environment,
    WORKER_PORT: String(await freePort()),
    LOG_LEVEL: 'debug',
    CLIENT_CONCURRENCY: '64',
    ...(traps && { FAILPOINTS: traps }),
  }
  let wake = () => {}
  const program = startProgram('pipeline/bin/work.ts', environment, () => wake())
  let over = false
  void program.ended.then(() => ((over = true), wake()))
  return {
    program,
    runs: () =>
      [...program.output().matchAll(/"run":"([0-9a-f-]{36})","attempt":\d+,"msg":"a run is taken up"/g)].map(
        ([, run]) => run!,
      ),
    async heard(words, within) {
      const end = Date.now() + 20_000
      let started: number | undefined
      for (;;) {
        if (words.test(program.output())) return true
        // Its age counts from when it takes runs: how long the start takes depends on the machine.
        if (started === undefined && program.output().includes('pipeline worker takes runs')) started = Date.now()
        if (over || Date.now() > Math.min(end, (started ?? Number.POSITIVE_INFINITY) + within)) return false
        const woken = new Promise<void>((resolve) => (wake = resolve))
        await Promise.race([woken, sleep(100)])
      }
    },
  }
}

/*
 * Many rows by one statement, in whatever order, while the queue writes the same rows in its own: what it has locked just now is
 * passed over, or each could wait for the other.
 */

/** To the queue, these runs' workers have been silent for long. */
export async function age(stack: Stack, runs: readonly string[]): Promise<void> {
  for (let left = 1; left > 0; ) {
    const { rows } = await sql<{ left: number }>`
      with silent as (
        select id from pgboss.job
        where state = 'active' and data ->> 'run' = any(${[...runs]}::text[])
          and (heartbeat_on is null or heartbeat_on > now() - interval '30 minutes')
      ), free as (
        select id from pgboss.job where id in (select id from silent) for no key update skip locked
      ), aged as (
        update pgboss.job set heartbeat_on = now() - interval '1 hour' where id in (select id from free) returning id
      )
      select (select count(*) from silent) - (select count(*) from aged) as left`.execute(stack.db)
    left = rows[0]!.left
    if (left > 0) await sleep(20)
  }
}

/** Time flies: whatever the queue keeps back for later is due now, or a moment later. */
export async function hurry(stack: Stack): Promise<void> {
  await sql`
    update pgboss.job set start_after = now()
    where id in (
      select id from pgboss.job where state in ('created', 'retry') and start_after > now() for no key update skip locked)
  `.execute(stack.db)
}
