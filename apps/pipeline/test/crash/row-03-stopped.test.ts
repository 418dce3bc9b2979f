import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Failpoint } from '../../src/engine/failpoints.ts'
import { cancelRun } from '../../src/engine/runs/cancel-run.ts'
import { finished, stagingTables } from '../engine/large-load.ts'
import { startStack, type Stack } from '../engine/stack.ts'
import { spawnWorker, until, type WorkerProcess } from '../engine/worker-process.ts'
import { ask, type Loaded, loadedPipelines, numbered, seen, silentForLong, sprung, trapped } from './scene.ts'

let stack: Stack
let scenes: Loaded[]
beforeAll(async () => {
  stack = await startStack({ heartbeatSeconds: 10 })
  scenes = await loadedPipelines(stack, 5)
})
afterAll(async () => {
  for (const { client } of scenes ?? []) await client.end()
  await stack?.[Symbol.asyncDispose]()
})

/** A worker that stops at a point of run 2. */
async function stoppedAt(
  point: Failpoint,
): Promise<{ scene: Loaded; run: { id: number; uid: string }; stopped: WorkerProcess }> {
  const scene = scenes.pop()!
  const stopped = await trapped(stack, `${point}:stop`)
  const run = await ask(stack, scene.pipeline, numbered(2))
  await sprung(stopped, point)
  return { scene, run, stopped }
}

/** The stopped worker goes on, and sees that its run is not its own any more. */
async function wakes(stopped: WorkerProcess, run: { uid: string }, scene: Loaded): Promise<void> {
  stopped.signal('SIGCONT')
  await until(() => stopped.output().includes('"ending":"LOST"'))
  await until(async () => (await stagingTables(scene.client, run)) === 0)
}

describe('a worker that is stopped, as on a machine that hangs, and goes on five minutes later', () => {
  it.each<Failpoint>(['in-copy', 'before-swap', 'in-publication', 'published'])(
    'changes nothing any more when another one has its run, stopped at: %s',
    async (point) => {
      const { scene, run, stopped } = await stoppedAt(point)
      await using _stopped = stopped
      await using _other = await spawnWorker(stack.environment)
      await silentForLong(stack, run)
      await finished(stack, run)
      const atLast = { state: 'OK', attempt: expect.any(Number), holds: [2], rows: 20_000, publications: 1 }
      const there = await seen(stack, scene, run)
      expect(there).toMatchObject(atLast)
      expect(there.attempt).toBeGreaterThan(1)
      await wakes(stopped, run, scene)
      expect(await seen(stack, scene, run)).toMatchObject({ ...atLast, attempt: there.attempt, staging: 0, jobs: 0 })
    },
    60_000,
  )

  it('does not bring old rows back over those of a later run', async () => {
    const { scene, run, stopped } = await stoppedAt('before-swap')
    await using _stopped = stopped
    await stack.db.transaction().execute((trx) => cancelRun(trx, scene.pipeline.id))
    await using _other = await spawnWorker(stack.environment)
    const later = await ask(stack, scene.pipeline, numbered(3, 30))
    expect(await finished(stack, later)).toMatchObject({ state: 'OK' })
    await wakes(stopped, run, scene)
    expect(await seen(stack, scene, run)).toMatchObject({ state: 'CANCELLED', publications: 0, holds: [3], staging: 0 })
    expect(await seen(stack, scene, later)).toMatchObject({ state: 'OK', publications: 1, rows: 30 })
  }, 60_000)
})
