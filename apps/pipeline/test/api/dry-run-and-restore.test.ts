import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { isLongRun } from '@sluice/testing/long-test-runs'
import type { Client } from 'pg'
import { silentForLong } from '../crash/pipelines-with-data.ts'
import { spawnWorker, type WorkerProcess } from '../worker/worker-process.ts'
import { until } from '@sluice/testing/wait-until'
import { leftovers } from '@sluice/warehouses/testing/find-leftover-tables'
import { type Asking, pipelineBody, schemaBody, type Service, startService } from './app-under-test.ts'
import { checkBody, groupBody } from './quality-check-bodies.ts'
import { job, workflowBody } from './workflow-body.ts'

let service: Service
let worker: WorkerProcess
let owner: Asking
let client: string
let schema: { id: string; schemaName: string }
let inside: Client & AsyncDisposable
beforeAll(async () => {
  service = await startService({ heartbeatSeconds: 10 })
  worker = await spawnWorker(service.environment)
  client = (await service.identity.client()).id
  const nouns = ['SCHEMA', 'DATA_PIPELINE', 'DATA_QUALITY_CHECK', 'DATA_QUALITY_CHECK_GROUP', 'WORKFLOW'] as const
  owner = service.as(
    await service.identity.person(
      client,
      nouns.map((noun) => `ROLE_MANAGE_${noun}` as const),
    ),
  )
  schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body
})
afterAll(async () => {
  await inside?.end()
  await worker?.[Symbol.asyncDispose]()
  await service?.stop()
})

const make = async (path: string, body: object) => (await owner.post(`/${path}`).send(body).expect(201)).body
const made = async (changes: object = {}): Promise<string> =>
  `/data-pipelines/${(await make('data-pipelines', pipelineBody(schema.id, changes))).id}`

async function upload(path: string, content: string) {
  await owner.post(`${path}/file?name=a.csv`).type('text/csv').send(content).expect(200)
}

const ended = (path: string, taskId: string) =>
  until(async () => {
    const { body } = await owner.get(`${path}/runs`).expect(200)
    return body.find((run: { taskId: string; finished?: string }) => run.taskId === taskId && run.finished)
  })

async function run(path: string, body: object = {}) {
  const { body: started } = await owner.post(`${path}/run`).send(body).expect(202)
  return ended(path, started.data.taskId)
}

async function load(path: string, content: string, body: object = {}) {
  await upload(path, content)
  return run(path, body)
}

const rowsOf = async (path: string) => (await owner.get(`${path}/data`).expect(200)).body.rows
const statusOf = async (path: string) => (await owner.get(path).expect(200)).body.status
const hidden = async () => {
  inside ??= await service.stack.inside(client)
  return leftovers(inside)
}

describe('a dry run', () => {
  it('returns columns, row counts, rejected rows and check results, and publishes nothing', async () => {
    const query = 'select id from cases where n < 0'
    const check = await make('data-quality-checks', checkBody({ query }))
    const dataQualityCheckGroup = await make('data-quality-check-groups', groupBody({ dataQualityChecks: [check] }))
    const target = { dataWarehouseTarget: { schema: { id: schema.id }, tableName: 'cases' } }
    const path = await made({ ...target, dataQualityCheckGroup })
    await load(path, 'id,n\n1,1\n2,2\n')
    const before = await statusOf(path)

    const many = Array.from({ length: 200 }, (_, index) => `${index},70000,x`)
    const dry = await load(path, ['id,n,extra', ...many, '7,5', ''].join('\n'), { dryRun: true })
    expect(dry).toMatchObject({ status: 'WARNING', action: 'DRY_RUN', rowsWritten: 0 })
    expect(dry.message).toMatch(
      /^Dry run: nothing was published\. \S+\.cases would have 200 rows, it has 2 now\. 2 changes of columns or rows/,
    )
    expect(dry.plannedTables).toEqual([
      {
        schema: schema.schemaName,
        table: 'cases',
        rowsBefore: 2,
        rowsAfter: 200,
        changes: expect.arrayContaining([
          { kind: 'COLUMN_ADDED', column: 'extra', to: 'TEXT', warning: false },
          { kind: 'TYPE_WIDENED', column: 'n', from: 'SMALLINT', to: 'INTEGER', warning: false },
        ]),
      },
    ])
    const rejected = await owner.get(`${path}/runs/${dry.taskId}/rejected-rows`).expect(200)
    expect(rejected.body).toMatchObject([{ line: 202, raw: '7,5' }])
    const results = await owner.get(`${path}/runs/${dry.taskId}/quality-results`).expect(200)
    expect(results.body).toMatchObject([{ status: 'OK' }])
    expect(await rowsOf(path)).toEqual([
      [1, 1],
      [2, 2],
    ])
    expect(await statusOf(path)).toEqual(before)
    expect(await hidden()).toEqual([])

    const refused = await load(path, 'id,n\n1,-1\n', { dryRun: true })
    expect(refused).toMatchObject({ status: 'FAILED', errorCode: 'DATA_QUALITY_FAILED' })
    expect(refused.plannedTables).toMatchObject([{ rowsBefore: 2, rowsAfter: 1 }])
    expect(await service.stack.db.selectFrom('alerts').select('id').execute()).toEqual([])
    const mismatch = await load(path, 'x,y\n1,1\n', { dryRun: true })
    expect(mismatch).toMatchObject({ status: 'FAILED', errorCode: 'SCHEMA_MISMATCH' })
    expect(mismatch).not.toHaveProperty('plannedTables')
    expect((await statusOf(path)).lastRunStatus).toBe('OK')
    // The remembered columns are those of the load, so the file matches them.
    expect(await load(path, 'id,n\n5,5\n')).toMatchObject({ status: 'OK', action: 'RUN' })
    expect(await hidden()).toEqual([])
  })

  it('works before the first load, and is refused for workflows', async () => {
    const path = await made()
    await upload(path, 'a\n1\n')
    const workflow = await make(
      'workflows',
      workflowBody([{ executionMode: 'SERIAL', jobs: [job(path.split('/').at(-1)!)] }]),
    )
    const { body } = await owner.post(`/workflows/${workflow.id}/run`).send({ dryRun: true }).expect(422)
    expect(body.errors[0].pointer).toBe('/dryRun')
    const dry = await run(path, { dryRun: true })
    expect(dry.plannedTables).toEqual([
      { schema: schema.schemaName, table: expect.any(String), rowsAfter: 1, changes: [] },
    ])
    expect((await statusOf(path)).lastRunStatus).toBe('NEVER_RUN')
    await owner.get(`${path}/data`).expect(404)
  })

  it('creates no schema, and fails if its transformation writes to another table', async () => {
    const other = (await owner.post('/schemas').send(schemaBody()).expect(201)).body
    const history = await made({ dataWarehouseTarget: { schema: { id: schema.id }, tableName: 'history' } })
    await load(history, 'a\n1\n')
    const dryRun = async (statement: string, tableName: string) => {
      const target = { dataWarehouseTarget: { schema: { id: other.id }, tableName } }
      const query = `select a from ${tableName} where a < 0`
      const check = await make('data-quality-checks', checkBody({ query }))
      const dataQualityCheckGroup = await make('data-quality-check-groups', groupBody({ dataQualityChecks: [check] }))
      const path = await made({ ...target, dataQualityCheckGroup, transformation: { sqlStatements: [{ statement }] } })
      const ended = await load(path, 'a\n7\n8\n', { dryRun: true })
      await owner.delete(path).expect(204)
      return ended
    }
    const logging = `insert into ${schema.schemaName}.history select a from fresh`
    expect(await dryRun(logging, 'fresh')).toMatchObject({ status: 'FAILED', errorCode: 'TRANSFORMATION_FAILED' })
    expect(await rowsOf(history)).toEqual([[1]])
    const fine = await dryRun(
      `delete from cleaned where a in (select a + 6 from ${schema.schemaName}.history)`,
      'cleaned',
    )
    expect(fine).toMatchObject({ status: 'OK', plannedTables: [{ rowsAfter: 1 }] })
    expect(await hidden()).toEqual([])
    const schemas = await inside.query('select from pg_namespace where nspname = $1', [other.schemaName])
    expect(schemas.rowCount).toBe(0)
  })
})

describe('a request for a run', () => {
  const queued = async (path: string, body: object) => (await owner.post(`${path}/run`).send(body)).body

  it('cancels a running dry run; a dry run is refused while a run is running', async () => {
    // No worker claims them: this client's runs wait for a run that the test holds.
    const path = await made()
    await upload(path, 'a\n1\n')
    const held = await service.stack.db
      .insertInto('runs')
      .values({
        client,
        runnable_id: (
          await service.stack.db
            .selectFrom('runnables')
            .select('id')
            .where('uid', '=', path.split('/').at(-1)!)
            .executeTakeFirstOrThrow()
        ).id,
        trigger: 'MANUAL',
        action: 'DRY_RUN',
        state: 'RUNNING',
        attempt: 1,
      })
      .returning('uid')
      .executeTakeFirstOrThrow()
    expect((await queued(path, { dryRun: true })).data.taskId).toBe(held.uid)
    const { data } = await queued(path, {})
    expect(data.taskId).not.toBe(held.uid)
    const { body: runs } = await owner.get(`${path}/runs`).expect(200)
    expect(runs.find(({ taskId }: { taskId: string }) => taskId === held.uid)).toMatchObject({
      status: 'CANCELLED',
      message: 'The dry run was cancelled, because another run was requested. Start it again after that run.',
    })
    expect(await ended(path, data.taskId)).toMatchObject({ status: 'OK', action: 'RUN' })
    await service.stack.db
      .updateTable('runs')
      .set({ state: 'RUNNING', finished_at: null })
      .where('uid', '=', data.taskId)
      .execute()
    const conflict = await owner.post(`${path}/run`).send({ dryRun: true }).expect(409)
    expect(conflict.body.errors[0].detail).toBe('A run is queued or running. Wait for its end, or cancel it.')
  })
})

describe('a restore', () => {
  const restore = async (path: string) => {
    const { body } = await owner.post(`${path}/restore`).expect(202)
    return ended(path, body.data.taskId)
  }
  const tableOf = async (path: string) => (await owner.get(`${path}/table`).expect(200)).body

  it('publishes the previous version as a run of its own, and can be undone by another restore', async () => {
    const path = await made({ disabled: false })
    expect((await owner.post(`${path}/restore`).expect(422)).body.detail).toMatch(
      /^The warehouse has no previous version of the table/,
    )
    await load(path, 'id;v\n1;1,5\n2;2,5\n')
    expect((await owner.post(`${path}/restore`).expect(422)).body).toMatchObject({
      code: 'nothing-to-restore',
      title: 'There is nothing to restore.',
    })
    const before = await tableOf(path)
    const wrong = await load(path, 'x;y\n1;1.5\n', { rebuild: true })
    expect(wrong).toMatchObject({ status: 'OK' })

    const { body: found } = await owner.get(path).expect(200)
    await owner
      .put(path)
      .send({ ...found, disabled: true })
      .expect(200)
    const refused = await owner.post(`${path}/restore`).send({ dryRun: true }).expect(400)
    expect(refused.body.errors).toMatchObject([{ pointer: '/dryRun' }])
    const restored = await restore(path)
    expect(restored).toMatchObject({ status: 'OK', action: 'RESTORE', trigger: 'MANUAL', rowsWritten: 2, attempt: 1 })
    expect(restored.message).toMatch(
      /^Restored 2 rows in \S+\. They are the rows that were published at \S+Z\. The rows that they replaced are kept/,
    )
    expect(await rowsOf(path)).toEqual([
      [1, '1.5'],
      [2, '2.5'],
    ])
    const after = await tableOf(path)
    expect(after).toMatchObject({ rowCount: 2, columns: before.columns })
    const status = await statusOf(path)
    expect(status).toMatchObject({ lastRunStatus: 'OK', jobId: restored.taskId, tables: [{ rowCount: 2 }] })
    const audit = await service.stack.db
      .selectFrom('audit')
      .select('details')
      .where('operation', '=', 'dataPipelines.restore')
      .where('object', '=', path.split('/').at(-1)!)
      .execute()
    expect(audit).toHaveLength(1)

    // The file of the wrong load is of another sign and of other columns than what is remembered again.
    await owner
      .put(path)
      .send({ ...found, disabled: false, version: undefined })
      .expect(200)
    expect(await load(path, 'id;v\n1;1.234\n')).toMatchObject({ status: 'FAILED', errorCode: 'DECIMAL_SIGN_CHANGED' })
    expect(await restore(path)).toMatchObject({ status: 'OK', rowsWritten: 1 })
    expect((await tableOf(path)).columns.map(({ name }: { name: string }) => name)).toEqual(['x', 'y'])
    expect(await hidden()).toEqual([])
  })

  it('requires write access, a warehouse that keeps previous versions, and no other active run', async () => {
    const path = await made({ access: { publicAccess: 'READ' } })
    await load(path, 'a\n1\n')
    await load(path, 'a\n2\n')
    const reader = service.as(await service.identity.person(client, ['ROLE_MANAGE_DATA_PIPELINE']))
    await reader.post(`${path}/restore`).expect(403)
    const runnable = await service.stack.db
      .selectFrom('runnables')
      .select('id')
      .where('uid', '=', path.split('/').at(-1)!)
      .executeTakeFirstOrThrow()
    const values = { client, runnable_id: runnable.id, trigger: 'MANUAL', state: 'RUNNING', attempt: 1 }
    const { id } = await service.stack.db.insertInto('runs').values(values).returning('id').executeTakeFirstOrThrow()
    const conflict = await owner.post(`${path}/restore`).expect(409)
    expect(conflict.body.errors[0].detail).toMatch(/^A run is queued or running/)
    const change = (changes: object) => service.stack.db.updateTable('runs').set(changes).where('id', '=', id).execute()
    await change({ action: 'RESTORE' })
    expect((await owner.post(`${path}/restore`).expect(202)).body.messageKey).toBe('run.already-running')
    expect((await owner.post(`${path}/run`).expect(409)).body.errors[0].detail).toMatch(/^A restore of the previous/)
    await change({ state: 'CANCELLED', finished_at: new Date() })

    const provider = (provider_schema: string) =>
      service.stack.db.updateTable('schemas').set({ provider_schema }).where('uid', '=', schema.id).execute()
    await provider('WAREHOUSE_A')
    for (const ask of [owner.post(`${path}/restore`), owner.post(`${path}/run`).send({ dryRun: true })])
      expect((await ask.expect(422)).body).toMatchObject({
        code: 'not-supported-here',
        detail:
          'Dry runs and restores are only available for schemas in PostgreSQL and ClickHouse. This one is in Redshift.',
      })
    await provider('SQL_DATABASE_D')
    await restore(path)
    expect(await rowsOf(path)).toEqual([[1]])
    const { body: gone } = await owner.get(path).expect(200)
    const kept = async () => {
      const where = [schema.schemaName, gone.dataWarehouseTarget.tableName]
      const query = 'select from sluice.kept_table where schema_name = $1 and table_name = $2'
      return (await inside.query(query, where)).rows.length
    }
    expect(await kept()).toBe(1)
    await owner.delete(path).expect(204)
    await until(async () => (await kept()) === 0)
  })

  it('fails if the table of a deleted pipeline is waiting to be dropped', async () => {
    const path = await made()
    await load(path, 'a\n1\n')
    await load(path, 'a\n2\n')
    const { tableName } = (await owner.get(path).expect(200)).body.dataWarehouseTarget
    await worker[Symbol.asyncDispose]()
    const queued = (await owner.post(`${path}/restore`).expect(202)).body.data.taskId
    await service.stack.db
      .insertInto('warehouse_drops')
      .values({
        client,
        schema_name: schema.schemaName,
        table_name: tableName,
        try_after: new Date(Date.now() + 600_000),
      })
      .execute()
    worker = await spawnWorker(service.environment)
    expect(await ended(path, queued)).toMatchObject({ status: 'FAILED', errorCode: 'NOTHING_TO_RESTORE', attempt: 1 })
    expect((await owner.post(`${path}/restore`).expect(422)).body.detail).toMatch(
      /^The warehouse has no previous version of the table/,
    )
    expect(await load(path, 'a\n3\n')).toMatchObject({ status: 'OK' })
    expect((await owner.post(`${path}/restore`).expect(422)).body.detail).toMatch(
      /^The warehouse has no previous version of the table/,
    )
  })

  const points = ['in-publication', 'published'] as const
  it.each(isLongRun ? points : points.slice(1))('is applied once if its worker is killed: %s', async (point) => {
    const path = await made()
    await load(path, 'a\n1\n')
    await load(path, 'a\n2\n')
    await worker[Symbol.asyncDispose]()
    const dying = await spawnWorker({ ...service.environment, FAILPOINTS: `${point}:exit` })
    const { body } = await owner.post(`${path}/restore`).expect(202)
    await dying.ended
    expect(await rowsOf(path)).toEqual([[point === 'published' ? 1 : 2]])
    await silentForLong(service.stack, { uid: body.data.taskId })
    worker = await spawnWorker(service.environment)
    expect(await ended(path, body.data.taskId)).toMatchObject({ status: 'OK', attempt: 2, rowsWritten: 1 })
    expect(await rowsOf(path)).toEqual([[1]])
  })
})
