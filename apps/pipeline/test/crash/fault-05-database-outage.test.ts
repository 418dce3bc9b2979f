import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { isLongRun } from '@sluice/testing/long-test-runs'
import { startGate } from '../api/interruptible-proxy.ts'
import type { Failpoint } from '@sluice/process'
import { finished, stagingTables } from '../worker/large-load.ts'
import { startStack, type Stack } from '../worker/worker-stack.ts'
import { type WorkerProcess } from '../worker/worker-process.ts'
import { until } from '@sluice/testing/wait-until'
import {
  ask,
  heardNow,
  type Loaded,
  loadedPipelines,
  neverSilent,
  numbered,
  seen,
  sprung,
  trapped,
} from './pipelines-with-data.ts'

/** Where a worker is when the service's own database goes away. The API's side of it is in test/api/operating. */
const points: readonly Failpoint[] = isLongRun
  ? ['in-copy', 'before-swap', 'before-status', 'in-publication']
  : ['before-swap', 'in-publication']

let stack: Stack
const back = new Map<string, { away: Awaited<ReturnType<typeof seen>>; atLast: Awaited<ReturnType<typeof seen>> }>()

/** Those who were allowed to publish before. */
const allowed = points.filter((point) => ['in-publication', 'before-status'].includes(point))

/** All scenes share one stack. The database is away until every worker has come as far as it gets without it. */
beforeAll(async () => {
  stack = await startStack({ heartbeatSeconds: 10 })
  const scenes = await loadedPipelines(stack, points.length)
  const url = new URL(stack.environment['PIPELINE_DATABASE_URL']!)
  const gate = await startGate(Number(url.port))
  const throughGate = Object.assign(new URL(url), { port: String(gate.port) }).href
  await using workers = new AsyncDisposableStack()
  const first: WorkerProcess[] = []
  const started: { scene: Loaded; run: Awaited<ReturnType<typeof ask>> }[] = []
  // One after the other: the warehouse ends a publication that stands still for ten seconds, so its worker comes last.
  for (const [index, point] of points.entries()) {
    const worker = workers.use(await trapped(stack, `${point}:stop@1`, { PIPELINE_DATABASE_URL: throughGate }))
    first.push(worker)
    const scene = scenes[index]!
    const run = await ask(stack, scene.pipeline, numbered(2))
    started.push({ scene, run })
    await sprung(worker, point)
    // Workers may stay stopped for longer than a heartbeat until the last one has stopped. Their runs must not be
    // requeued.
    if (index < points.length - 1) await neverSilent(stack, run.uid)
  }
  await gate.shut()
  for (const worker of first) worker.signal('SIGCONT')
  for (const { run } of started) await heardNow(stack, run.uid)
  await Promise.all(
    started.map(async ({ scene, run }, index) => {
      if (allowed.includes(points[index]!)) await until(async () => (await seen(stack, scene, run)).publications === 1)
      else await until(() => /an attempt failed|could not be written/.test(first[index]!.output()))
    }),
  )
  const away = await Promise.all(started.map(({ scene, run }) => seen(stack, scene, run)))
  await gate.open()
  await Promise.all(
    started.map(async ({ scene, run }, index) => {
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

describe('run whose worker cannot reach the database of the pipeline service', () => {
  it.each(points.filter((point) => !allowed.includes(point)))(
    'is not published while the worker cannot check that it still owns the run: %s',
    (point) => {
      expect(back.get(point)!.away).toMatchObject({ state: 'RUNNING', holds: [1], publications: 0 })
    },
  )

  it.each(allowed)('is published if the check had passed before the outage: %s', (point) => {
    expect(back.get(point)!.away).toMatchObject({ state: 'RUNNING', holds: [2], publications: 1 })
  })

  it.each(points)('ends as OK and is published exactly once after the database is back: %s', (point) => {
    const right = { state: 'OK', holds: [2], rows: 20_000, rows_written: 20_000, publications: 1, staging: 0, jobs: 0 }
    expect(back.get(point)!.atLast).toMatchObject(right)
  })
})
