import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Failpoint } from '@sluice/process'
import { isLongRun } from '@sluice/testing/long-test-runs'
import { until } from '@sluice/testing/wait-until'
import { finished } from '../worker/large-load.ts'
import { spawnWorker } from '../worker/worker-process.ts'
import { type Stack, startStack } from '../worker/worker-stack.ts'
import {
  ask,
  jobs,
  type Loaded,
  loadedPipelines,
  numbered,
  seen,
  silentForLong,
  trapped,
} from './pipelines-with-data.ts'

const modes = ['APPEND', 'MERGE'] as const
/** A short run kills the worker only at the steps where rows could be added twice or not at all. */
const decisive: [(typeof modes)[number], Failpoint][] = [
  ['APPEND', 'rows-staged'],
  ['APPEND', 'in-publication'],
  ['APPEND', 'published'],
  ['MERGE', 'in-publication'],
]
const points: Failpoint[] = ['staging-made', 'copied', 'rows-staged', 'before-swap', 'in-publication', 'published']
const cases = isLongRun ? modes.flatMap((mode) => points.map((point) => [mode, point] as const)) : decisive

describe('the rows of a worker that is killed', () => {
  let stack: Stack
  let scenes: Record<(typeof modes)[number], Loaded>
  /** The number of the last run; all rows of its file carry it. */
  let last = 1
  beforeAll(async () => {
    stack = await startStack({ heartbeatSeconds: 10 })
    const [appends, merges] = await loadedPipelines(stack, 2)
    scenes = { APPEND: appends!, MERGE: merges! }
    for (const mode of modes)
      await stack.db
        .updateTable('data_pipelines')
        .set({ write_mode: mode, merge_key: mode === 'MERGE' ? (JSON.stringify(['row']) as never) : null })
        .where('id', '=', scenes[mode].pipeline.id)
        .execute()
  })
  afterAll(async () => {
    for (const scene of Object.values(scenes ?? {})) await scene.client.end()
    await stack?.[Symbol.asyncDispose]()
  })

  const rowsOf = async ({ client, pipeline: { schema, table } }: Loaded) => {
    const { rows } = await client.query(`select run::int, "row"::int from ${schema}.${table}`)
    return rows.map(({ run, row }: { run: number; row: number }) => `${run} ${row}`).toSorted()
  }

  it.each(cases)('are written once by %s if it is killed at %s', async (mode, point) => {
    const scene = scenes[mode]
    const before = await rowsOf(scene)
    last += 1
    const content = numbered(last, 20 + last)
    const run = await (async () => {
      await using worker = await trapped(stack, `${point}:exit`)
      const run = await ask(stack, scene.pipeline, content)
      await worker.ended
      expect(worker.output()).toContain(`failpoint ${point}: exit`)
      return run
    })()
    await silentForLong(stack, run)
    await using _other = await spawnWorker(stack.environment)
    await finished(stack, run)
    await until(async () => (await jobs(stack, run)) === 0)
    expect(await seen(stack, scene, run)).toMatchObject({ state: 'OK', attempt: 2, publications: 1, staging: 0 })
    const loaded = Array.from({ length: 20 + last }, (_, row) => `${last} ${row}`)
    const replaced = mode === 'MERGE' ? new Set(loaded.map((row) => row.split(' ')[1])) : new Set()
    const stays = before.filter((row) => !replaced.has(row.split(' ')[1]))
    expect(await rowsOf(scene)).toEqual([...stays, ...loaded].toSorted())
  })
})
