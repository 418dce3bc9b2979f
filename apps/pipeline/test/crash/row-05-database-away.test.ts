import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { isLongRun } from '@sluice/testing/long-run'
import { startGate } from '../api/gate.ts'
import type { Failpoint } from '../../src/engine/failpoints.ts'
import { finished, stagingTables } from '../engine/large-load.ts'
import { startStack, type Stack } from '../engine/stack.ts'
import { until } from '../engine/worker-process.ts'
import { ask, heardNow, loadedPipelines, neverSilent, numbered, seen, sprung, takenBy, trapped } from './scene.ts'

/** Where a worker is when the service's own database goes away. The API's side of it is in test/api/operating. */
const points: readonly Failpoint[] = isLongRun
  ? ['in-copy', 'before-swap', 'in-publication', 'before-status']
  : ['before-swap', 'in-publication']

let stack: Stack
const back = new Map<string, { away: Awaited<ReturnType<typeof seen>>; atLast: Awaited<ReturnType<typeof seen>> }>()

/** Those who were allowed to publish before. */
const allowed = points.filter((point) => ['in-publication', 'before-status'].includes(point))

/** All at once. The database is away until every worker has come as far as it gets without it. */
beforeAll(async () => {
  stack = await startStack({ heartbeatSeconds: 10 })
  const scenes = await loadedPipelines(stack, points.length)
  const url = new URL(stack.environment['PIPELINE_DATABASE_URL']!)
  const gate = await startGate(Number(url.port))
  const throughGate = Object.assign(new URL(url), { port: String(gate.port) }).href
  await using workers = new AsyncDisposableStack()
  const first = await Promise.all(
    points.map(async (point) =>
      workers.use(await trapped(stack, `${point}:stop@1`, { PIPELINE_DATABASE_URL: throughGate })),
    ),
  )
  const asked = await Promise.all(
    scenes.map(async (scene) => ({ scene, run: await ask(stack, scene.pipeline, numbered(2)) })),
  )
  // Workers may stay stopped for longer than a heartbeat until the last one has stopped. Their runs must not be requeued.
  await Promise.all(
    points.map(async (point, index) => {
      await sprung(first[index]!, point)
      await neverSilent(stack, takenBy(first[index]!)[0]!)
    }),
  )
  for (const worker of first) await heardNow(stack, takenBy(worker)[0]!)
  await gate.shut()
  for (const worker of first) worker.signal('SIGCONT')
  const runs = first.map((worker) => asked.find(({ run }) => run.uid === takenBy(worker)[0])!)
  await Promise.all(
    runs.map(async ({ scene, run }, index) => {
      if (allowed.includes(points[index]!)) await until(async () => (await seen(stack, scene, run)).publications === 1)
      else await until(() => /an attempt failed|could not be written/.test(first[index]!.output()))
    }),
  )
  const away = await Promise.all(runs.map(({ scene, run }) => seen(stack, scene, run)))
  await gate.open()
  await Promise.all(
    runs.map(async ({ scene, run }, index) => {
      await finished(stack, run)
      await until(async () => (await seen(stack, scene, run)).jobs === 0)
      await until(async () => (await stagingTables(scene.client, run)) === 0)
      back.set(points[index]!, { away: away[index]!, atLast: await seen(stack, scene, run) })
      await scene.client.end()
    }),
  )
  await Promise.all(first.map((worker) => worker[Symbol.asyncDispose]()))
  await gate.shut()
})
afterAll(() => stack?.[Symbol.asyncDispose]())

describe('a run whose worker cannot reach the service’s own database', () => {
  it.each(points.filter((point) => !allowed.includes(point)))(
    'does not publish while its permission cannot be checked: %s',
    (point) => {
      expect(back.get(point)!.away).toMatchObject({ state: 'RUNNING', holds: [1], publications: 0 })
    },
  )

  it.each(allowed)('is published once it was allowed: %s', (point) => {
    expect(back.get(point)!.away).toMatchObject({ state: 'RUNNING', holds: [2], publications: 1 })
  })

  it.each(points)('is OK, and published once, when the database is back: %s', (point) => {
    const right = { state: 'OK', holds: [2], rows: 20_000, rows_written: 20_000, publications: 1, staging: 0, jobs: 0 }
    expect(back.get(point)!.atLast).toMatchObject(right)
  })
})
