import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { type Failpoint, failpointNames } from '@sluice/process'
import type { Stack } from '../../worker/worker-stack.ts'
import { freePort } from '@sluice/testing/free-port'
import { type Program, startProgram } from '../../start-program.ts'
import type { Dice } from './seeded-random.ts'

/** How a worker is going to die. */
export interface Plan {
  /**
   * When the worker is killed: at a failpoint, or after a number of milliseconds. A stopped worker continues after
   * other workers have taken its runs.
   */
  death: 'point' | 'moment' | 'stopped'
  point: Failpoint
  passage: number
  /** Milliseconds: until it is killed, or from its waking to its death. */
  after: number
}

export interface Death extends Plan {
  /** The uids of all runs that the worker took up. */
  runs: string[]
  /** Whether the worker died as the plan says. False when it never reached the failpoint of its plan. */
  asPlanned: boolean
  output: string
}

/** Milliseconds that a worker waits for its first run, and after each run that it took up for its failpoint. */
const idleTimeoutMs = 3_000
const failpointTimeoutMs = 15_000

/** The list names some failpoints more than once: runs pass them more often, or a death there can break more. */
const points: [Failpoint, ...Failpoint[]] = [
  'in-copy',
  'rows-staged',
  'in-publication',
  'in-publication',
  'published',
  'published',
  // No run of these tests is scheduled, belongs to a workflow, refreshes a view, or has a quality gate.
  ...failpointNames.filter((name) => !/^(schedule|view|workflow)-|^at-gate$/.test(name)),
]
/** Failpoints after which a stopped worker could change data that belongs to another worker when it continues. */
const pauses: [Failpoint, ...Failpoint[]] = [
  'in-copy',
  'copied',
  'rows-staged',
  'before-swap',
  'before-swap',
  'in-publication',
  'published',
]

export function makePlan(dice: Dice): Plan {
  const death = dice.pick<Plan['death']>(['point', 'point', 'point', 'moment', 'moment', 'stopped'])
  const point = dice.pick<Failpoint>(death === 'stopped' ? pauses : points)
  const most = point === 'in-copy' ? 3 : 1
  const passage = dice.between(1, dice.chance(0.2) ? 2 : most)
  return { death, point, passage: isProvoked(point) ? 1 : passage, after: dice.between(0, 1_200) }
}

/** Runs reach these failpoints only when somebody cancels them, or stops their worker. */
const isProvoked = (point: Failpoint) => point === 'lost' || point === 'giving-back'

interface Interference {
  cancel(runs: string[]): Promise<void>
  /** Called while the worker is stopped by SIGSTOP. */
  whileStopped(runs: string[]): Promise<void>
}

/** Starts a worker as production does, and kills it as planned, or when it does not reach its failpoint in time. */
export async function liveAndDie(stack: Stack, plan: Plan, interference: Interference): Promise<Death> {
  const worker = await spawn(stack, trapsOf(plan))
  let asPlanned = false
  try {
    if (await worker.heard(/a run was claimed/, idleTimeoutMs)) asPlanned = await die(worker, plan, interference)
  } finally {
    // Also after an error: no database of the server can be dropped while a stopped worker has a COPY open.
    await worker.program.stop('SIGKILL')
  }
  return { ...plan, asPlanned, runs: worker.runs(), output: worker.program.output() }
}

/** Returns whether the worker came to the point of its plan. */
async function die(worker: Living, plan: Plan, { cancel, whileStopped }: Interference): Promise<boolean> {
  if (plan.death === 'moment') {
    await Promise.race([sleep(plan.after), worker.program.ended])
    return true
  }
  if (plan.point === 'lost') await cancel(worker.runs())
  if (plan.point === 'giving-back') worker.program.signal('SIGTERM')
  if (!(await worker.heard(/failpoint \S+: (exit|stop)/, failpointTimeoutMs))) return false
  if (plan.death === 'stopped') {
    await worker.program.stopped()
    await whileStopped(worker.runs())
    worker.program.signal('SIGCONT')
    await Promise.race([sleep(plan.after + 800), worker.program.ended])
  }
  return true
}

/** The failpoint that ends the worker, and sleeps that lengthen the moments in which a death matters. */
function trapsOf({ death, point, passage }: Plan): string {
  const slow = 'in-copy:sleep:15,in-publication:sleep:15,published:sleep:10'
  if (death === 'moment') return slow
  const end = `${point}:${death === 'point' ? 'exit' : 'stop'}@${passage}`
  return isProvoked(point) ? `${slow},in-copy:sleep:1500@1,${end}` : `${slow},${end}`
}

export interface Living {
  program: Program
  runs(): string[]
  /**
   * Waits until the output matches. Returns false if the worker ends first, or executes runs for `timeoutMs` without a
   * match.
   */
  heard(words: RegExp, timeoutMs: number): Promise<boolean>
}

/** Milliseconds that a worker may need to start. */
const startTimeoutMs = 60_000

/** Starts bin/run-worker.ts. Does not wait until it is ready. */
export async function spawn(stack: Stack, traps?: string): Promise<Living> {
  const environment = {
    ...stack.environment,
    WORKER_PORT: String(await freePort()),
    LOG_LEVEL: 'debug',
    CLIENT_CONCURRENCY: '64',
    ...(traps && { FAILPOINTS: traps }),
  }
  let wake = () => {}
  const program = startProgram('pipeline/bin/run-worker.ts', environment, () => wake())
  let over = false
  void program.ended.then(() => ((over = true), wake()))
  return {
    program,
    runs: () =>
      [...program.output().matchAll(/"run":"([0-9a-f-]{36})","attempt":\d+,"msg":"a run was claimed"/g)].map(
        ([, run]) => run!,
      ),
    async heard(words, timeoutMs) {
      const latestStart = Date.now() + startTimeoutMs
      let started: number | undefined
      for (;;) {
        if (words.test(program.output())) return true
        // The time counts from when the worker takes runs: the start takes longer on a busy machine.
        if (started === undefined && program.output().includes('pipeline worker takes runs')) started = Date.now()
        if (over || Date.now() > (started === undefined ? latestStart : started + timeoutMs)) return false
        const woken = new Promise<void>((resolve) => (wake = resolve))
        await Promise.race([woken, sleep(100)])
      }
    },
  }
}

/*
 * `age` and `hurry` update many rows while the queue updates the same rows in another order. They skip rows that the queue has
 * locked, because the two statements could deadlock otherwise.
 */

/** Makes the last heartbeat of these runs an hour old, so that the queue gives them to other workers. */
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

/** Makes every job due that the queue holds back for later. */
export async function hurry(stack: Stack): Promise<void> {
  await sql`
    update pgboss.job set start_after = now()
    where id in (
      select id from pgboss.job where state in ('created', 'retry') and start_after > now() for no key update skip locked)
  `.execute(stack.db)
}
