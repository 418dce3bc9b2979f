import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import type { Client } from 'pg'
import { silentForLong, sprung, trapped } from '../crash/pipelines-with-data.ts'
import { leftovers } from '@sluice/warehouses/testing/find-leftover-tables'
import { columns, loadAll } from '@sluice/warehouses/testing/row-fixtures'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from '../api/app-under-test.ts'
import { checkBody, groupBody } from '../api/quality-check-bodies.ts'
import { job, workflowBody } from '../api/workflow-body.ts'
import { spawnWorker, type WorkerProcess } from './worker-process.ts'
import { until } from '@sluice/testing/wait-until'

const good = 'id,age\n1,10\n2,20\n'
const bad = 'id,age\n1,10\n2,-5\n3,-7\n4,40\n'
const mended = 'id,age\n1,10\n2,5\n3,7\n4,40\n'

let service: Service
let owner: Asking
let client: string
let schema: { id: string; schemaName: string }
let superuser: Client & AsyncDisposable
beforeAll(async () => {
  service = await startService({ heartbeatSeconds: 10 })
  client = (await service.identity.client()).id
  const roles = ['SCHEMA', 'DATA_PIPELINE', 'DATA_QUALITY_CHECK', 'DATA_QUALITY_CHECK_GROUP', 'WORKFLOW'] as const
  owner = service.as(
    await service.identity.person(
      client,
      roles.map((role) => `ROLE_MANAGE_${role}` as const),
    ),
  )
  schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body
})
afterAll(async () => {
  await superuser?.end()
  await service?.stop()
})

const make = async (path: string, body: object) => (await owner.post(`/${path}`).send(body).expect(201)).body
async function gated(table: string, queries: string[]) {
  const checks = []
  for (const query of queries) checks.push(await make('data-quality-checks', checkBody({ query })))
  const group = await make('data-quality-check-groups', groupBody({ dataQualityChecks: checks }))
  const target = { dataWarehouseTarget: { schema: { id: schema.id }, tableName: table } }
  const pipeline = await make('data-pipelines', pipelineBody(schema.id, { ...target, dataQualityCheckGroup: group }))
  expect(pipeline.dataQualityCheckGroup).toEqual({ id: group.id, name: group.name })
  return { uid: pipeline.id as string, checks, group, pipeline }
}

async function ask(uid: string, csv: string): Promise<string> {
  await owner.post(`/data-pipelines/${uid}/file?name=cases.csv`).type('text/csv').send(csv).expect(200)
  return (await owner.post(`/data-pipelines/${uid}/run`).expect(202)).body.data.taskId
}
const ended = (uid: string, taskId: string) =>
  until(async () => {
    const { body } = await owner.get(`/data-pipelines/${uid}/runs`).expect(200)
    return body.find((run: { taskId: string; finished?: string }) => run.taskId === taskId && run.finished)
  })
const load = async (uid: string, csv: string) => ended(uid, await ask(uid, csv))
const rowsOf = async (uid: string) => (await owner.get(`/data-pipelines/${uid}/data`).expect(200)).body.rows
const results = async (uid: string, taskId: string) =>
  (await owner.get(`/data-pipelines/${uid}/runs/${taskId}/quality-results`).expect(200)).body
const hidden = async () => {
  superuser ??= await service.stack.inside(client)
  return leftovers(superuser)
}

describe('quality gate of a pipeline', () => {
  let worker: WorkerProcess
  beforeAll(async () => {
    worker = await spawnWorker(service.environment)
  })
  afterAll(() => worker?.[Symbol.asyncDispose]())

  it('publishes rows that pass, keeps the old rows if a check fails, and publishes the corrected file', async () => {
    const { uid, checks, group } = await gated('cases', [
      'select id, age from cases where age < 0 order by id',
      'select id from cases group by id having count(*) > 1',
    ])
    expect(await load(uid, good)).toMatchObject({ status: 'OK', rowsWritten: 2 })
    const refused = await load(uid, bad)
    expect(refused).toMatchObject({ status: 'FAILED', errorCode: 'DATA_QUALITY_FAILED', attempt: 1 })
    expect(refused.message).toBe(
      `1 of 2 checks is not OK. “${checks[0].name}”: 2 rows violate the check. The new rows are not published, and the old data stays.`,
    )
    expect(await rowsOf(uid)).toEqual([
      [1, 10],
      [2, 20],
    ])
    expect(await results(uid, refused.taskId)).toMatchObject([
      {
        dataQualityCheckId: checks[0].id,
        status: 'FAILED',
        violations: 2,
        data: {
          rows: [
            [2, -5],
            [3, -7],
          ],
        },
      },
      { dataQualityCheckId: checks[1].id, status: 'OK' },
    ])
    const passed = await load(uid, mended)
    expect(passed).toMatchObject({ status: 'OK', rowsWritten: 4 })
    expect(await rowsOf(uid)).toHaveLength(4)
    expect((await results(uid, passed.taskId)).map(({ status }: { status: string }) => status)).toEqual(['OK', 'OK'])
    expect(await hidden()).toEqual([])
    const { body } = await owner.delete(`/data-quality-check-groups/${group.id}`).expect(409)
    expect(body.detail).toMatch(/^This data quality check group is used by the data pipelines "Pipeline /)
  })

  it('fails the run if a check reads the published table or cannot be run', async () => {
    const { uid, checks } = await gated('named', [
      `select * from ${schema.schemaName}.named where age < 0`,
      'select nonsense from named',
    ])
    const first = await load(uid, good)
    expect(first).toMatchObject({ status: 'FAILED', errorCode: 'DATA_QUALITY_FAILED' })
    expect(first.message).toContain(
      `“${checks[0].name}”: The query reads ${schema.schemaName}.named, which was not published yet. Write “named” without a schema to `,
    )
    expect(first.message).toContain(
      `“${checks[1].name}”: The check could not be run. Users with read access to the check can see the reason.`,
    )
    for (const check of checks)
      await owner
        .put(`/data-quality-checks/${check.id}`)
        .send({ ...check, query: 'select 1 where false' })
        .expect(200)
    expect(await load(uid, good)).toMatchObject({ status: 'OK' })
    await owner.put(`/data-quality-checks/${checks[0].id}`).send(checks[0]).expect(200)
    const { message } = await load(uid, good)
    expect(message).toContain(
      `The query reads ${schema.schemaName}.named, which has the rows of the last load. Write “named” without a schema`,
    )
  })

  it('shows cell values only in the quality results, not in the run, its log or an alert', async () => {
    const { uid } = await gated('told', ['select word::integer from told'])
    const run = await load(uid, 'id,word\n1,canary-cell\n')
    expect(run).toMatchObject({ status: 'FAILED', errorCode: 'DATA_QUALITY_FAILED' })
    expect((await results(uid, run.taskId))[0].message).toContain('canary-cell')
    const { body: log } = await owner.get(`/data-pipelines/${uid}/logs?taskId=${run.taskId}`).expect(200)
    const alerts = await service.stack.db.selectFrom('alerts').select('content').execute()
    expect(alerts.length).toBeGreaterThan(0)
    expect(JSON.stringify([run, log, alerts])).not.toContain('canary-cell')
    expect(JSON.stringify(log)).toContain('Users with read access to the check can see the reason')
  })

  it('resolves a table in its own schema first, and rejects a name that several other schemas have', async () => {
    const warehouse = await service.stack.warehouses.open(client)
    for (const [name, table] of [
      ['aaa', 'lookup'],
      ['bbb', 'lookup'],
      ['aaa', 'own'],
      [schema.schemaName, 'own'],
    ] as const) {
      await warehouse.catalog.ensureSchema(name)
      const shape = columns({ id: 'INTEGER' })
      await loadAll(warehouse, { schema: name, table, columns: shape }, name === 'aaa' ? [[1]] : [])
    }
    const { uid, checks } = await gated('preferring', [
      'select id from preferring join own using (id)',
      'select id from preferring join lookup using (id)',
    ])
    const { message } = await load(uid, good)
    expect(message).toBe(
      `1 of 2 checks is not OK. “${checks[1].name}”: Several schemas have a table "lookup": "aaa", "bbb". Write the schema before the name, such as aaa.lookup. The new rows are not published, and the old data stays.`,
    )
  })

  it('is not applied after the check group is removed from the pipeline', async () => {
    const { uid, group, pipeline } = await gated('freed', ['select 1'])
    expect(await load(uid, good)).toMatchObject({ status: 'FAILED' })
    const { dataQualityCheckGroup: _group, ...rest } = pipeline
    const put = async (body: object) =>
      (await owner.put(`/data-pipelines/${uid}`).send(body).expect(200)).body.dataQualityCheckGroup
    // PUT replaces, and null is the same as absence.
    for (const without of [rest, { ...rest, dataQualityCheckGroup: null }]) {
      expect(await put(pipeline)).toEqual({ id: group.id, name: group.name })
      expect(await put(without)).toBeUndefined()
    }
    await owner.delete(`/data-quality-check-groups/${group.id}`).expect(204)
    expect(await load(uid, good)).toMatchObject({ status: 'OK' })
  })

  it('runs a queued check group with the variable values of its run', async () => {
    const check = await make(
      'data-quality-checks',
      checkBody({ query: 'select * from cases where age > ${limit}::int' }),
    )
    const group = await make('data-quality-check-groups', groupBody({ dataQualityChecks: [check] }))
    const run = async (value: string) => {
      const variables = [{ name: 'limit', secured: true, value }]
      const { body } = await owner.post(`/data-quality-check-groups/${group.id}/start`).send({ variables }).expect(202)
      return until(async () => {
        const runs = await owner.get(`/data-quality-check-groups/${group.id}/runs`).expect(200)
        return runs.body.find(
          (one: { taskId: string; finished?: string }) => one.taskId === body.data.taskId && one.finished,
        )
      })
    }
    expect(await run('100')).toMatchObject({ status: 'OK', message: 'The check is OK.' })
    const failed = await run('30')
    expect(failed).toMatchObject({ status: 'FAILED', errorCode: 'DATA_QUALITY_FAILED', attempt: 1 })
    const path = `/data-quality-check-groups/${group.id}/runs/${failed.taskId}/quality-results`
    expect((await owner.get(path).expect(200)).body).toMatchObject([{ status: 'FAILED', data: { rows: [[4, 40]] } }])
  })

  it('stops a workflow with STOP at a violation, and a group in a workflow cannot be deleted', async () => {
    const { uid, group } = await gated('stopped', ['select 1'])
    const steps = [{ jobs: [job(group.id, 'DATA_QUALITY_CHECK_GROUP_RUN')] }, { jobs: [job(uid)] }]
    const body = workflowBody(steps, { steps: { errorStrategy: 'STOP', steps } })
    const workflow = await make('workflows', body)
    await owner.post(`/workflows/${workflow.id}/run`).expect(202)
    const run = await until(async () => {
      const runs = await owner.get(`/workflows/${workflow.id}/runs`).expect(200)
      return runs.body.find((one: { finished?: string }) => one.finished)
    })
    expect(run).toMatchObject({ status: 'FAILED' })
    expect((await owner.get(`/data-quality-check-groups/${group.id}/runs`).expect(200)).body).toMatchObject([
      { status: 'FAILED', trigger: 'WORKFLOW', errorCode: 'DATA_QUALITY_FAILED' },
    ])
    expect((await owner.get(`/data-pipelines/${uid}/runs`).expect(200)).body).toEqual([])
    await owner
      .put(`/data-pipelines/${uid}`)
      .send(
        pipelineBody(schema.id, { dataWarehouseTarget: { schema, tableName: 'stopped' }, dataQualityCheckGroup: null }),
      )
      .expect(200)
    const refused = await owner.delete(`/data-quality-check-groups/${group.id}`).expect(409)
    expect(refused.body.detail).toBe(
      `This data quality check group is used by the workflows "${workflow.name}". Change or delete these objects first.`,
    )
  })
})

describe('worker that runs the quality gate', () => {
  it('does not block readers, and when it is killed, leaves nothing behind and another worker publishes', async () => {
    const { uid } = await gated('killed', ['select * from killed where age < 0'])
    {
      await using _worker = await spawnWorker(service.environment)
      expect(await load(uid, good)).toMatchObject({ status: 'OK' })
    }
    const held = await trapped(service.stack, 'at-gate:stop', service.environment)
    const taskId = await ask(uid, mended)
    await sprung(held, 'at-gate')
    expect(await hidden()).toHaveLength(3)
    await superuser.query(`set statement_timeout = '2s'`)
    const table = `${schema.schemaName}.killed`
    expect((await superuser.query(`select count(*)::int as count from ${table}`)).rows).toEqual([{ count: 2 }])
    // Not even somebody who wants the table for themselves is in anybody's way, or has to wait.
    await superuser.query(`begin; lock table ${table} in access exclusive mode; rollback`)
    held.signal('SIGKILL')
    await held.ended
    await silentForLong(service.stack, { uid: taskId })
    await using _rescue = await spawnWorker(service.environment)
    expect(await ended(uid, taskId)).toMatchObject({ status: 'OK', attempt: 2, rowsWritten: 4 })
    await until(async () => (await hidden()).length === 0)
    const { db } = service.stack
    const { rows } = await sql`select position from data_quality_results q join runs r on r.id = q.run_id
      where r.uid = ${taskId}`.execute(db)
    expect(rows).toEqual([{ position: 1 }])
  })
})
