import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { isLongRun, longRunOnly } from '@sluice/testing/long-test-runs'
import { itUnless } from '@sluice/testing/skip-tests'
import type { Failpoint } from '@sluice/process'
import { finished, stagingTables } from '../worker/large-load.ts'
import { startStack, type Stack } from '../worker/worker-stack.ts'
import { until } from '@sluice/testing/wait-until'
import { on, type OwnWarehouse, startOwnWarehouse } from './separate-warehouse-server.ts'
import {
  ask,
  type Loaded,
  loadedPipelines,
  logOf,
  numbered,
  seen,
  sprung,
  takenBy,
  trapped,
} from './pipelines-with-data.ts'

const points: readonly Failpoint[] = isLongRun ? ['in-copy', 'in-publication', 'published'] : ['in-publication']

let plain: Stack
let own: OwnWarehouse
const restarted = new Map<string, { atLast: Awaited<ReturnType<typeof seen>>; log: string }>()

/** Three workers are at three places when the warehouse's server is killed and starts again. */
beforeAll(async () => {
  own = await startOwnWarehouse()
  plain = await startStack()
  const stack = on(own, plain)
  const scenes = await loadedPipelines(stack, points.length)
  await using workers = new AsyncDisposableStack()
  const stopped = await Promise.all(points.map(async (point) => workers.use(await trapped(stack, `${point}:stop@1`))))
  const asked = await Promise.all(
    scenes.map(async (scene) => ({ scene, run: await ask(stack, scene.pipeline, numbered(2)) })),
  )
  await Promise.all(points.map((point, index) => sprung(stopped[index]!, point)))
  await own.restart()
  for (const worker of stopped) worker.signal('SIGCONT')
  await Promise.all(
    points.map(async (point, index) => {
      const [taken] = takenBy(stopped[index]!)
      const { scene, run } = asked.find(({ run }) => run.uid === taken)!
      await using client = await stack.inside(scene.pipeline.client)
      const again: Loaded = { ...scene, client }
      await finished(stack, run)
      await until(async () => (await seen(stack, again, run)).jobs === 0)
      await until(async () => (await stagingTables(client, run)) === 0)
      restarted.set(point, { atLast: await seen(stack, again, run), log: await logOf(stack, run) })
    }),
  )
})
afterAll(async () => {
  await plain?.[Symbol.asyncDispose]()
  await own?.[Symbol.asyncDispose]()
})

describe('load whose warehouse server is killed and restarted', () => {
  it.each(points)('ends as OK and is published exactly once (%s)', (point) => {
    expect(restarted.get(point)!.atLast).toMatchObject({
      state: 'OK',
      error_code: null,
      holds: [2],
      rows: 20_000,
      rows_written: 20_000,
      publications: 1,
      staging: 0,
    })
  })

  it.each(points.filter((point) => point !== 'published'))(
    'logs the reason and the time of the next attempt (%s)',
    (point) => {
      const { atLast, log } = restarted.get(point)!
      expect(atLast.attempt).toBe(2)
      expect(log).toMatch(/WAREHOUSE_UNAVAILABLE; next attempt in \d seconds/)
    },
  )

  itUnless(longRunOnly)('keeps a publication that was committed before the restart, without another attempt', () => {
    expect(restarted.get('published')!.atLast.attempt).toBe(1)
  })
})
