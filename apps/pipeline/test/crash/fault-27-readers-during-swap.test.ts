import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { finished } from '../worker/large-load.ts'
import { startStack, type Stack } from '../worker/worker-stack.ts'
import { spawnWorker } from '../worker/worker-process.ts'
import { until } from '@sluice/testing/wait-until'
import { ask, type Loaded, loadedPipelines, numbered, seen } from './pipelines-with-data.ts'

let stack: Stack
let scene: Loaded
beforeAll(async () => {
  stack = await startStack()
  scene = (await loadedPipelines(stack, 1))[0]!
})
afterAll(async () => {
  await scene?.client.end()
  await stack?.[Symbol.asyncDispose]()
})

describe('swap of a table that is being read', () => {
  it('waits for a reader and for view refreshes without blocking other readers', async () => {
    const { pipeline, client } = scene
    const table = `${pipeline.schema}.${pipeline.table}`
    await client.query(`create view ${pipeline.schema}.plain as select run, row from ${table}`)
    await client.query(
      `create materialized view ${pipeline.schema}.kept as select run, count(*) from ${table} group by run`,
    )
    await using reader = await stack.inside(pipeline.client)
    await using refresher = await stack.inside(pipeline.client)

    const over = new AbortController()
    let refreshed = 0
    const refreshing = (async () => {
      while (!over.signal.aborted) {
        await refresher.query(`refresh materialized view ${pipeline.schema}.kept`)
        refreshed += 1
        await sleep(5)
      }
    })()
    await reader.query('begin isolation level repeatable read')
    const read = async () => (await reader.query(`select distinct run::int from ${pipeline.schema}.plain`)).rows
    expect(await read()).toEqual([{ run: 1 }])

    await using _worker = await spawnWorker(stack.environment)
    const run = await ask(stack, pipeline, numbered(2))
    const swapping = `select from pg_locks where not granted and locktype = 'relation'`
    await until(async () => (await client.query(swapping)).rowCount, { every: 5 })
    // It gives up its place again and again, so those who only want to read do not queue behind it.
    // Else this one would wait for the reader, who holds on until it has been answered.
    expect((await client.query(`select distinct run::int from ${table}`)).rows).toEqual([{ run: 1 }])
    expect(await read()).toEqual([{ run: 1 }])
    await reader.query('commit')

    await finished(stack, run)
    over.abort()
    await refreshing
    expect(refreshed).toBeGreaterThan(1)
    expect(await read()).toEqual([{ run: 2 }])
    await refresher.query(`refresh materialized view ${pipeline.schema}.kept`)
    expect((await client.query(`select run::int, count::int from ${pipeline.schema}.kept`)).rows).toEqual([
      { run: 2, count: 20_000 },
    ])
    await until(async () => (await seen(stack, scene, run)).jobs === 0)
    expect(await seen(stack, scene, run)).toMatchObject({ state: 'OK', holds: [2], publications: 1, staging: 0 })
  })

  it('waits while a reader locks the table, keeps the staged rows, and logs that it waits', async () => {
    const { pipeline } = scene
    await using reader = await stack.inside(pipeline.client)
    await reader.query(`begin; lock table ${pipeline.schema}.${pipeline.table} in access share mode`)
    await using _worker = await spawnWorker(stack.environment)
    const run = await ask(stack, pipeline, numbered(3))
    const logged = () =>
      stack.db
        .selectFrom('run_logs')
        .select('message')
        .where('run_id', '=', run.id)
        .where('message', 'like', '%waits for queries that read it%')
        .execute()
    await until(async () => (await logged()).length === 1)
    await sleep(3_000)
    expect(await seen(stack, scene, run)).toMatchObject({ state: 'RUNNING', holds: [2], publications: 0, staging: 1 })
    await reader.query('commit')
    expect(await finished(stack, run)).toMatchObject({ state: 'OK', attempt: 1, rows_written: 20_000 })
  })
})
