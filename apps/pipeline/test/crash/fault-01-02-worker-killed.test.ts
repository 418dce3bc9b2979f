import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { isLongRun, longRunOnly } from '@sluice/testing/long-test-runs'
import { itUnless } from '@sluice/testing/skip-tests'
import { sql } from 'kysely'
import type { Failpoint } from '@sluice/process'
import { cancelRun } from '../../src/run-lifecycle/cancel-run.ts'
import { sweepStaging } from '../../src/worker/maintenance/maintain-warehouses.ts'
import { finished, stagingTables } from '../worker/large-load.ts'
import { startStack, type Stack } from '../worker/worker-stack.ts'
import { spawnWorker, type WorkerProcess } from '../worker/worker-process.ts'
import { until } from '@sluice/testing/wait-until'
import { never } from '@sluice/warehouses/testing/row-fixtures'
import { ask, type Loaded, loadedPipelines, logOf, numbered, seen, takenBy, trapped } from './pipelines-with-data.ts'

/** Where a worker is killed, and what happens to its run before another one takes it over. */
const everyCase: [point: Failpoint, meanwhile?: 'is cancelled' | 'was tried often'][] = [
  ['staging-made'],
  ['in-copy'],
  ['copied'],
  ['in-publication'],
  ['published'],
  ['before-status'],
  ['status-written'],
  ['in-copy', 'is cancelled'],
  ['published', 'is cancelled'],
  ['copied', 'was tried often'],
  ['published', 'was tried often'],
]
const nameOf = ([point, meanwhile]: (typeof everyCase)[number]) => (meanwhile ? `${point}, run ${meanwhile}` : point)

const always = ['in-copy', 'in-publication', 'published', 'published, run is cancelled', 'copied, run was tried often']
const isTested = (name: string) => isLongRun || always.includes(name)
const cases = everyCase.filter((one) => isTested(nameOf(one)))
const itOf = (name: string) => itUnless(isTested(name) ? undefined : longRunOnly)

interface Killed {
  scene: Loaded
  run: { id: number; uid: string }
  after: Awaited<ReturnType<typeof seen>>
  atLast: Awaited<ReturnType<typeof seen>>
  log: string
}

let stack: Stack
const killed = new Map<string, Killed>()

/** Until all workers are dead, the queue gives no run to another worker, however long the machine takes. */
const heldHeartbeatSeconds = 300

/** From now on the queue requeues a run after ten seconds without a heartbeat. */
async function shortenHeartbeats(): Promise<void> {
  await sql`update pgboss.job set heartbeat_seconds = 10, heartbeat_on = now() where state = 'active'`.execute(stack.db)
}

/** Returns the first worker that exits. Throws with the output of the workers if none reaches its failpoint. */
async function firstToExit(workers: readonly WorkerProcess[]): Promise<WorkerProcess> {
  const exits = workers.map(async (worker) => {
    await worker.ended
    return worker
  })
  const exited = await Promise.race([...exits, sleep(150_000, undefined, { ref: false })])
  if (!exited) throw new Error(`No worker is killed:\n${workers.map(({ output }) => output()).join('\n')}`)
  return exited
}

/** Sweeps staging tables as the maintenance job of a worker does once a minute. */
async function isSwept(scene: Loaded, run: Killed['run']): Promise<boolean> {
  await sweepStaging(stack).run(never)
  return (await stagingTables(scene.client, run)) === 0
}

/** Kills the workers of all cases first, because each run waits ten seconds until it is requeued. */
beforeAll(async () => {
  stack = await startStack({ heartbeatSeconds: heldHeartbeatSeconds })
  const scenes = await loadedPipelines(stack, cases.length)
  const workers = await Promise.all(cases.map(([point]) => trapped(stack, `${point}:exit`)))
  const asked: Pick<Killed, 'scene' | 'run'>[] = []
  let living = workers
  for (const scene of scenes) {
    // One run at a time: a worker that is killed while it requeues a second run would hold that run until its heartbeat
    // expires.
    asked.push({ scene, run: await ask(stack, scene.pipeline, numbered(2)) })
    const exited = await firstToExit(living)
    living = living.filter((worker) => worker !== exited)
  }
  const dead = await Promise.all(
    cases.map(async (one, index) => {
      const [taken] = takenBy(workers[index]!)
      const { scene, run } = asked.find(({ run }) => run.uid === taken)!
      const after = await seen(stack, scene, run)
      if (one[1] === 'is cancelled')
        await stack.db.transaction().execute((trx) => cancelRun(trx, stack.queue, scene.pipeline.id))
      if (one[1] === 'was tried often')
        await stack.db.updateTable('runs').set({ attempt: 5 }).where('id', '=', run.id).execute()
      return { name: nameOf(one), scene, run, after }
    }),
  )
  await shortenHeartbeats()
  const heartbeat = { WORKER_HEARTBEAT_SECONDS: '10' }
  const many = { CLIENT_CONCURRENCY: '64', WORKER_CONCURRENCY: '4' }
  await using _rescue = await spawnWorker({ ...stack.environment, ...heartbeat, ...many })
  await Promise.all(
    dead.map(async ({ name, scene, run, after }) => {
      await finished(stack, run)
      await until(async () => (await seen(stack, scene, run)).jobs === 0, { within: 60_000 })
      await until(() => isSwept(scene, run), { within: 60_000 })
      killed.set(name, {
        scene,
        run,
        after,
        atLast: await seen(stack, scene, run),
        log: await logOf(stack, run),
      })
    }),
  )
})
afterAll(async () => {
  for (const { scene } of killed.values()) await scene.client.end()
  await stack?.[Symbol.asyncDispose]()
})

const before = { holds: [1], rows: 2, publications: 0 }
const afterwards = { holds: [2], rows: 20_000, publications: 1 }

describe('run whose worker is killed', () => {
  it.each(['staging-made', 'in-copy', 'copied', 'in-publication'].filter(isTested))(
    'keeps the old rows when killed before publication (%s), and another worker publishes it once',
    (name) => {
      const { after, atLast } = killed.get(name)!
      expect(after).toMatchObject({ ...before, state: 'RUNNING', attempt: 1 })
      expect(atLast).toMatchObject({
        ...afterwards,
        state: 'OK',
        attempt: 2,
        rows_written: 20_000,
        staging: 0,
        jobs: 0,
      })
    },
  )

  it.each(['published', 'before-status'].filter(isTested))(
    'is completed from the ledger without another load when killed between commit and status (%s)',
    (name) => {
      const { after, atLast, log } = killed.get(name)!
      expect(after).toMatchObject({ ...afterwards, state: 'RUNNING', attempt: 1 })
      expect(atLast).toMatchObject({
        ...afterwards,
        state: 'OK',
        attempt: 2,
        rows_written: 20_000,
        staging: 0,
        jobs: 0,
      })
      expect(log).toContain('An earlier attempt has already published the rows of this run.')
    },
  )

  itOf('status-written')('stays OK and only leaves the queue when killed after its status was written', () => {
    const { after, atLast } = killed.get('status-written')!
    expect(after).toMatchObject({ ...afterwards, state: 'OK', attempt: 1 })
    expect(atLast).toMatchObject({ ...afterwards, state: 'OK', attempt: 1, rows_written: 20_000, staging: 0, jobs: 0 })
  })

  itOf('in-copy, run is cancelled')(
    'keeps the old rows and drops its staging table if it is cancelled before the next attempt',
    () => {
      const { after, atLast } = killed.get('in-copy, run is cancelled')!
      expect(after).toMatchObject({ ...before, staging: 1 })
      expect(atLast).toMatchObject({ ...before, state: 'CANCELLED', attempt: 1, staging: 0, jobs: 0 })
    },
  )

  it('ends as OK if it is cancelled after its publication was committed', () => {
    const { atLast } = killed.get('published, run is cancelled')!
    expect(atLast).toMatchObject({ ...afterwards, state: 'OK', attempt: 1, rows_written: 20_000, staging: 0, jobs: 0 })
  })

  it('fails with TOO_MANY_ATTEMPTS after five attempts without a publication', () => {
    const { atLast } = killed.get('copied, run was tried often')!
    expect(atLast).toMatchObject({ ...before, state: 'FAILED', error_code: 'TOO_MANY_ATTEMPTS', staging: 0, jobs: 0 })
  })

  itOf('published, run was tried often')('ends as OK if the fifth attempt had committed its publication', () => {
    const { atLast } = killed.get('published, run was tried often')!
    expect(atLast).toMatchObject({ ...afterwards, state: 'OK', error_code: null, rows_written: 20_000, jobs: 0 })
  })
})
