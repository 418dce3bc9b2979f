import { readdir, utimes } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { removeFiles } from '../../src/worker/maintenance/remove-unused-files.ts'
import { sweepStaging } from '../../src/worker/maintenance/maintain-warehouses.ts'
import { getUploadPath, getUploadsDirectory } from '@sluice/connectors/uploaded-file/upload-path'
import { stagingTables } from '@sluice/warehouses/testing/find-leftover-tables'
import { never } from '@sluice/warehouses/testing/row-fixtures'
import { type Pipeline, type Stack, startStack } from './worker-stack.ts'
import { spawnWorker } from './worker-process.ts'
import { until } from '@sluice/testing/wait-until'

let stack: Stack
let worker: Awaited<ReturnType<typeof spawnWorker>>
beforeAll(async () => {
  stack = await startStack()
  worker = await spawnWorker(stack.environment)
})
afterAll(async () => {
  await worker?.[Symbol.asyncDispose]()
  await stack?.[Symbol.asyncDispose]()
})

const set = (client: string, key: string, value: string) =>
  stack.db.insertInto('settings').values({ client, key, value }).execute()

async function failed(pipeline: Pipeline, statements: string[]) {
  const sqlStatements = statements.map((statement) => ({ statement }))
  await stack.db
    .updateTable('data_pipelines')
    .set({ transformation: JSON.stringify({ sqlStatements }) })
    .where('id', '=', pipeline.id)
    .execute()
  const run = await stack.run(pipeline, await stack.upload(pipeline, 'a,b\n1,2\n3,4\n'))
  await until(async () => (await stack.state(run)).finished_at !== null)
  expect(await stack.state(run)).toMatchObject({ state: 'FAILED', error_code: 'TRANSFORMATION_FAILED' })
  return run
}
const sweep = () => sweepStaging(stack).run(never)

describe('staging table of a failed load', () => {
  it('is dropped by default', async () => {
    const pipeline = await stack.pipeline()
    await failed(pipeline, ['select 1/0'])
    await using inside = await stack.inside(pipeline.client)
    expect(await stagingTables(inside)).toEqual([])
  })

  it('is kept unchanged for seven days if the organisation sets RETAIN', async () => {
    const pipeline = await stack.pipeline()
    await set(pipeline.client, 'DATA_PIPELINE_ERROR_ACTION_STAGING_TABLES', 'RETAIN')
    const run = await failed(pipeline, ['delete from cases where a = 1', 'select 1/0'])
    await using inside = await stack.inside(pipeline.client)
    const [kept, ...more] = await stagingTables(inside)
    expect([kept?.startsWith(`run_${run.uid}`), more]).toEqual([true, []])
    await sweep()
    expect((await inside.query(`select a::int, b::int from sluice."${kept}"`)).rows).toEqual([{ a: 3, b: 4 }])
    expect((await inside.query(`select from pg_namespace where nspname like 'sluice\\_%'`)).rowCount).toBe(0)
    // The next one goes well, and does not take it along.
    await stack.db.updateTable('data_pipelines').set({ transformation: '{}' }).where('id', '=', pipeline.id).execute()
    const next = await stack.run(pipeline, await stack.upload(pipeline, 'a,b\n1,2\n'))
    await until(async () => (await stack.state(next)).state === 'OK')
    await sweep()
    expect(await stagingTables(inside)).toEqual([kept])

    for (const [age, tables] of [
      ['6 days 23 hours', [kept]],
      ['7 days 1 second', []],
    ] as const) {
      const finished = sql<Date>`now() - ${age}::interval`
      await stack.db.updateTable('runs').set({ finished_at: finished }).where('id', '=', run.id).execute()
      await sweep()
      expect([age, await stagingTables(inside)]).toEqual([age, tables])
    }
  })
})

describe('uploaded file of a run', () => {
  const upload = async (pipeline: Pipeline) => {
    const { file } = (await stack.upload(pipeline, 'a\n1\n')) as { file: { uid: string } }
    const old = new Date(Date.now() - 7_200_000)
    await utimes(getUploadPath(stack.filesDirectory, file.uid), old, old)
    return file
  }
  const there = async (uid: string) => (await readdir(getUploadsDirectory(stack.filesDirectory))).includes(uid)

  it.each([
    ['is removed once it is replaced', undefined, 0, false],
    ['is kept for six days with RETAIN_TEMP_FILES', 'true', 6, true],
    ['is removed after eight days even with RETAIN_TEMP_FILES', 'true', 8, false],
  ])('%s', async (_what, value, days, stays) => {
    const pipeline = await stack.pipeline()
    if (value) await set(pipeline.client, 'RETAIN_TEMP_FILES', value)
    const file = await upload(pipeline)
    const run = await stack.run(pipeline, { file })
    await until(async () => (await stack.state(run)).finished_at !== null)
    const finished = sql<Date>`now() - make_interval(days => ${days}::int)`
    await stack.db.updateTable('runs').set({ finished_at: finished }).where('id', '=', run.id).execute()
    await upload(pipeline)
    await removeFiles(stack).run(never)
    expect(await there(file.uid)).toBe(stays)
  })
})
