import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Role, TableProfile } from '@sluice/contracts'
import { longRunOnly } from '@sluice/testing/long-test-runs'
import { itUnless } from '@sluice/testing/skip-tests'
import { until } from '@sluice/testing/wait-until'
import { deleteUnpublishedProfiles, storeProfile } from '../../src/table-profiles/stored-profiles.ts'
import { spawnWorker, type WorkerProcess } from '../worker/worker-process.ts'
import { type Asking, pipelineBody, schemaBody, type Service, startService } from './app-under-test.ts'

let service: Service
let worker: WorkerProcess
let owner: Asking
let client: string
const roles = ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE', 'ROLE_SEE_AUDIT_LOG'] as const
const person = async (...held: Role[]) => service.as(await service.identity.person(client, held))
beforeAll(async () => {
  service = await startService({ heartbeatSeconds: 10 })
  worker = await spawnWorker(service.environment)
  client = (await service.identity.client()).id
  owner = await person(...roles)
})
afterAll(async () => {
  await worker?.[Symbol.asyncDispose]()
  await service?.stop()
})

interface Place {
  schema: { id: string; name: string; schemaName: string }
  pipeline: string
  table: string
}

async function makePlace(changes: object = {}) {
  const { body: schema } = await owner.post('/schemas').send(schemaBody(changes)).expect(201)
  const { body } = await owner.post('/data-pipelines').send(pipelineBody(schema.id)).expect(201)
  return { schema, pipeline: body.id, table: body.dataWarehouseTargetTableName } as Place
}

async function start({ pipeline }: Place, content?: string, action = 'run') {
  if (content !== undefined)
    await owner.post(`/data-pipelines/${pipeline}/file?name=a.csv`).type('text/csv').send(content).expect(200)
  return (await owner.post(`/data-pipelines/${pipeline}/${action}`).send({}).expect(202)).body.data.taskId as string
}

const ended = ({ pipeline }: Place, taskId: string) =>
  until(
    async () => {
      const { body } = await owner.get(`/data-pipelines/${pipeline}/runs`).expect(200)
      return body.find((run: { taskId: string; finished?: string }) => run.taskId === taskId && run.finished)
    },
    { within: 60_000 },
  )

const load = async (place: Place, content?: string, action?: string) =>
  ended(place, await start(place, content, action))

const pathOf = ({ pipeline }: Place) => `/data-pipelines/${pipeline}/profile`
const read = async (place: Place, asking = owner): Promise<TableProfile> =>
  (await asking.get(pathOf(place)).expect(200)).body
const columnOf = (profile: TableProfile, column: string) => profile.columns.find(({ name }) => name === column)!
const storedFor = async ({ schema, table }: Place) =>
  service.stack.db
    .selectFrom('table_profiles as p')
    .innerJoin('schemas as s', 's.id', 'p.schema_id')
    .selectAll('p')
    .where('s.uid', '=', schema.id)
    .where('p.table_name', '=', table)
    .execute()
const switchProfiles = ({ schema: { id, name } }: Place, profileTables: boolean) =>
  owner.put(`/schemas/${id}`).send({ ...schemaBody(), name, profileTables })

const cases = 'id,region,on\n1,north,2024-01-31\n2,south,\n3,north,2024-03-01\n'

describe('the profile of a table', () => {
  it('has the figures of the loaded rows, without rejected ones, at the pipeline and in the catalogue', async () => {
    const place = await makePlace()
    await owner.get(pathOf(place)).expect(404)
    const many = Array.from(
      { length: 300 },
      (_, row) => `${row},${row % 3 === 0 ? 'north' : 'south'},2024-01-${10 + (row % 20)}\n`,
    )
    const run = await load(place, `id,region,on\n${many.join('')}999,lost,2024-01-01,too,many\n`)
    expect(run.status).toBe('WARNING')
    const profile = await read(place)
    expect(profile).toMatchObject({ name: place.table, scope: 'TABLE', rows: 300, taskId: run.taskId })
    expect(columnOf(profile, 'id')).toMatchObject({
      nullValues: 0,
      distinctValues: 300,
      distinctIsEstimate: false,
      minValue: '0',
      maxValue: '299',
      histogram: { rows: Array(20).fill(15) },
    })
    expect(columnOf(profile, 'region')).toEqual({
      name: 'region',
      nullValues: 0,
      distinctValues: 2,
      distinctIsEstimate: false,
      minValue: 'north',
      maxValue: 'south',
      minLength: 5,
      maxLength: 5,
      frequentValues: [
        { value: 'south', rows: 200 },
        { value: 'north', rows: 100 },
      ],
    })
    const all = await person('ROLE_VIEW_DATA_ALL_DATA_PIPELINE')
    const { body } = await all.get(`/schemas/${place.schema.id}/tables/${place.table}/profile`).expect(200)
    expect(body).toEqual(profile)
    const { body: columns } = await owner.get(`/schemas/${place.schema.id}/tables/${place.table}/columns`).expect(200)
    expect(columns[0]).toMatchObject({ nullValues: 0, distinctValues: 300, minValue: 0, maxValue: 299 })
  })

  it('stays when a load fails, and follows a restore', async () => {
    const place = await makePlace()
    await load(place, cases)
    const first = await read(place)
    expect((await load(place, 'id,region,on\n1,only\n2,too,few,or,many\n')).status).toBe('FAILED')
    expect(await read(place)).toEqual(first)
    expect((await load(place, `${cases}4,west,2024-04-01\n`)).status).toBe('OK')
    const second = await read(place)
    expect([second.rows, columnOf(second, 'region').maxValue]).toEqual([4, 'west'])
    expect((await load(place, undefined, 'restore')).status).toBe('OK')
    expect(await read(place)).toEqual(first)
    await load(place, undefined, 'restore')
    expect(await read(place)).toEqual(second)
    await load(place, undefined, 'restore')
    await load(place, 'id,region,on\n9,east,2024-05-01\n')
    await deleteUnpublishedProfiles(service.stack.db)
    await load(place, undefined, 'restore')
    expect(await read(place)).toEqual(first)
    for (let turn = 0; turn < 2; turn++) await load(place, cases)
    expect(await storedFor(place)).toHaveLength(3)
  })

  it('is missing if SQL statements of the pipeline changed the rows', async () => {
    const transformation = { sqlStatements: [{ statement: `update cases set region = 'x'` }] }
    const { body: schema } = await owner.post('/schemas').send(schemaBody()).expect(201)
    const target = { schema: { id: schema.id }, tableName: 'cases' }
    const sent = pipelineBody(schema.id, { dataWarehouseTarget: target, transformation })
    const { body: pipeline } = await owner.post('/data-pipelines').send(sent).expect(201)
    const place = { schema, pipeline: pipeline.id, table: 'cases' }
    expect((await load(place, cases)).status).toBe('OK')
    const { body: problem } = await owner.get(pathOf(place)).expect(404)
    expect(problem.detail).toMatch(/changed the rows by SQL statements/)
  })

  it('is deleted with the pipeline', async () => {
    const place = await makePlace()
    await load(place, cases)
    expect(await storedFor(place)).toHaveLength(1)
    await owner.delete(`/data-pipelines/${place.pipeline}`).expect(204)
    expect(await storedFor(place)).toEqual([])
  })

  it('is shown only to callers who may read the rows', async () => {
    const place = await makePlace({ access: { publicAccess: 'READ' } })
    await load(place, cases)
    const table = `/schemas/${place.schema.id}/tables/${place.table}`
    const stranger = await person('ROLE_SEE_DATA_PIPELINE', 'ROLE_SEE_SCHEMA')
    for (const path of ['profile', 'data']) {
      await stranger.get(`/data-pipelines/${place.pipeline}/${path}`).expect(404)
      await stranger.get(`${table}/${path}`).expect(403)
      await (await person('ROLE_SEE_SCHEMA')).get(`/data-pipelines/${place.pipeline}/${path}`).expect(403)
      await (await person('ROLE_VIEW_DATA_ALL_DATA_PIPELINE'))
        .get(`/data-pipelines/${place.pipeline}/${path}`)
        .expect(200)
      const other = service.as(
        await service.identity.person((await service.identity.client()).id, [
          ...roles,
          'ROLE_VIEW_DATA_ALL_DATA_PIPELINE',
        ]),
      )
      await other.get(`/data-pipelines/${place.pipeline}/${path}`).expect(404)
      await other.get(`${table}/${path}`).expect(404)
    }
  })

  it('is in no log, audit row or exported configuration', async () => {
    const place = await makePlace()
    await load(place, 'id,name\n1,Xanthippe-7\n2,Xanthippe-7\n')
    await owner.get(pathOf(place)).expect(200)
    await switchProfiles(place, false).expect(200)
    const { body: logs } = await owner.get(`/data-pipelines/${place.pipeline}/logs`).expect(200)
    const { body: audit } = await owner.get('/audit?pageSize=200').expect(200)
    const { body: configuration } = await owner.get('/configuration').expect(200)
    expect(JSON.stringify(audit)).toContain(place.schema.id)
    expect(configuration.schemas.map(({ name }: { name: string }) => name)).toContain(place.schema.name)
    expect(JSON.stringify([logs, audit, configuration, worker.output(), service.log()])).not.toContain('Xanthippe-7')
  })
})

describe('a schema without profiles', () => {
  it('has none from the moment of the request, also of later loads and restores, until profiles are measured again', async () => {
    const place = await makePlace()
    await load(place, cases)
    await load(place, cases)
    expect(await storedFor(place)).toHaveLength(2)
    expect((await switchProfiles(place, false).expect(200)).body.profileTables).toBe(false)
    expect(await storedFor(place)).toEqual([])
    const { body } = await owner.get(pathOf(place)).expect(404)
    expect(body.detail).toMatch(/Set profileTables of the schema to true/)
    const { body: columns } = await owner.get(`/schemas/${place.schema.id}/tables/${place.table}/columns`).expect(200)
    expect(columns[0]).not.toHaveProperty('minValue')
    await load(place, cases)
    expect(await storedFor(place)).toEqual([])
    // A request without the field keeps it.
    const kept = await owner
      .put(`/schemas/${place.schema.id}`)
      .send({ ...schemaBody(), name: place.schema.name })
      .expect(200)
    expect(kept.body.profileTables).toBe(false)
    await switchProfiles(place, true).expect(200)
    await load(place, undefined, 'restore')
    await owner.get(pathOf(place)).expect(404)
    await load(place, cases)
    expect((await read(place)).rows).toBe(3)
  })

  it('gets no profile from a load that was in progress', async () => {
    const place = await makePlace()
    const pipeline = { schema: place.schema.schemaName, table: place.table }
    await load(place, cases)
    await worker[Symbol.asyncDispose]()
    worker = await spawnWorker({ ...service.environment, FAILPOINTS: 'rows-staged:sleep:2000' })
    const taskId = await start(place)
    const staged = await until(async () => (await storedFor(place)).find(({ run }) => run === taskId))
    expect(staged.published).toBe(false)
    await switchProfiles(place, false).expect(200)
    const run = await service.stack.db
      .selectFrom('runs')
      .selectAll()
      .where('uid', '=', taskId)
      .executeTakeFirstOrThrow()
    expect(run.state).toBe('RUNNING')
    expect(await storeProfile(service.stack.db, run, pipeline, { rows: 0, columns: [] })).toBeUndefined()
    expect((await ended(place, taskId)).status).toBe('OK')
    await switchProfiles(place, true).expect(200)
    await owner.get(pathOf(place)).expect(404)
    expect(await storedFor(place)).toEqual([])
  })
})

describe('the profile of a load whose worker is killed', () => {
  const isPublishedWithTheRows = async (failpoint: string) => {
    const place = await makePlace()
    await worker[Symbol.asyncDispose]()
    worker = await spawnWorker({ ...service.environment, FAILPOINTS: `${failpoint}:exit` })
    const taskId = await start(place, cases)
    await worker.ended
    await owner.get(pathOf(place)).expect(failpoint === 'published' ? 200 : 404)
    worker = await spawnWorker(service.environment)
    expect(await ended(place, taskId)).toMatchObject({ status: 'OK', attempt: 2 })
    expect(await read(place)).toMatchObject({ rows: 3, taskId, scope: 'TABLE' })
    expect((await storedFor(place)).map(({ published }) => published)).toEqual([true])
  }

  it('is published if the worker had published the rows', () => isPublishedWithTheRows('published'))

  itUnless(longRunOnly)('is published with the rows of the next attempt if the worker had only staged them', () =>
    isPublishedWithTheRows('rows-staged'),
  )
})
