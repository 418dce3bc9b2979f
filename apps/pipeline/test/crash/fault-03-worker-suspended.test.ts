import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { isLongRun } from '@sluice/testing/long-test-runs'
import type { Failpoint } from '@sluice/process'
import { cancelRun } from '../../src/run-lifecycle/cancel-run.ts'
import { finished, stagingTables } from '../worker/large-load.ts'
import { startStack, type Stack } from '../worker/worker-stack.ts'
import { spawnWorker } from '../worker/worker-process.ts'
import { until } from '@sluice/testing/wait-until'
import {
  ask,
  type Loaded,
  loadedPipelines,
  neverSilent,
  numbered,
  seen,
  silentForLong,
  sprung,
  takenBy,
  trapped,
} from './pipelines-with-data.ts'

const taken: readonly Failpoint[] = isLongRun
  ? ['in-copy', 'before-swap', 'in-publication', 'published']
  : ['in-publication']
/** The last run is cancelled while the worker is suspended, and its pipeline loads another file. */
const points: readonly Failpoint[] = [...taken, 'before-swap']

type Run = { id: number; uid: string }
interface Stopped {
  scene: Loaded
  run: Run
  /** The run that was requested while the worker was suspended. */
  later?: Run
  /** What was there when another worker had finished the run, and when the first had gone on. */
  asleep: Awaited<ReturnType<typeof seen>>
  awake: Awaited<ReturnType<typeof seen>>
}

let stack: Stack
let stopped: Stopped[]

/** All at once: they wait most of the time. */
beforeAll(async () => {
  stack = await startStack({ heartbeatSeconds: 10 })
  const scenes = await loadedPipelines(stack, points.length)
  await using workers = new AsyncDisposableStack()
  const first = await Promise.all(points.map(async (point) => workers.use(await trapped(stack, `${point}:stop@1`))))
  const asked = await Promise.all(
    scenes.map(async (scene) => ({ scene, run: await ask(stack, scene.pipeline, numbered(2)) })),
  )
  await Promise.all(
    points.map(async (point, index) => {
      await sprung(first[index]!, point)
      await neverSilent(stack, takenBy(first[index]!)[0]!)
    }),
  )
  const sleeping = first.map((worker) => ({ worker, ...asked.find(({ run }) => run.uid === takenBy(worker)[0])! }))
  const last = sleeping.at(-1)!
  await stack.db.transaction().execute((trx) => cancelRun(trx, stack.queue, last.scene.pipeline.id))
  const later = await ask(stack, last.scene.pipeline, numbered(3, 30))
  workers.use(await spawnWorker({ ...stack.environment, CLIENT_CONCURRENCY: '64', WORKER_CONCURRENCY: '6' }))
  stopped = await Promise.all(
    sleeping.map(async ({ worker, scene, run }) => {
      await silentForLong(stack, run)
      await finished(stack, run === last.run ? later : run)
      const asleep = await seen(stack, scene, run)
      worker.signal('SIGCONT')
      await until(() => worker.output().includes('"ending":"LOST"'))
      await until(async () => (await stagingTables(scene.client, run)) === 0)
      return { scene, run, asleep, awake: await seen(stack, scene, run), ...(run === last.run && { later }) }
    }),
  )
})
afterAll(async () => {
  for (const { scene } of stopped ?? []) await scene.client.end()
  await stack?.[Symbol.asyncDispose]()
})

describe('worker that is suspended until its lease expires and then resumes', () => {
  it.each(taken)('changes nothing after another worker has finished its run, suspended at: %s', (point) => {
    const { asleep, awake } = stopped[points.indexOf(point)]!
    expect(asleep).toMatchObject({ state: 'OK', holds: [2], rows: 20_000, publications: 1 })
    expect(asleep.attempt).toBeGreaterThan(1)
    expect(awake).toEqual({ ...asleep, staging: 0, jobs: 0 })
  })

  it('does not overwrite the rows of a later run with those of its cancelled run', async () => {
    const { scene, awake, later } = stopped.at(-1)!
    expect(awake).toMatchObject({ state: 'CANCELLED', attempt: 1, publications: 0, holds: [3], rows: 30, staging: 0 })
    expect(await seen(stack, scene, later!)).toMatchObject({ state: 'OK', publications: 1, jobs: 0 })
  })
})
