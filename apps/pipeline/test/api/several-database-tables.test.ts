import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Client } from 'pg'
import { until } from '@sluice/testing/wait-until'
import { connected, superuserUrl, word } from '@sluice/warehouses/testing/scratch-warehouse'
import { spawnWorker, type WorkerProcess } from '../worker/worker-process.ts'
import { type Asking, pipelineBody, schemaBody, type Service, startService } from './app-under-test.ts'
import { checkBody, groupBody } from './quality-check-bodies.ts'

const database = word('source')
const username = word('reader')
let service: Service
let worker: WorkerProcess
let owner: Asking
let schema: { id: string; schemaName: string }
let source: Client & AsyncDisposable
beforeAll(async () => {
  service = await startService({ heartbeatSeconds: 10 })
  worker = await spawnWorker(service.environment)
  const { id } = await service.identity.client()
  owner = service.as(
    await service.identity.person(id, [
      'ROLE_MANAGE_SCHEMA',
      'ROLE_MANAGE_DATA_PIPELINE',
      'ROLE_MANAGE_DATA_QUALITY_CHECK',
      'ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP',
      'ROLE_VIEW_DATA_ALL_DATA_PIPELINE',
    ]),
  )
  schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body
  await using superuser = await connected(superuserUrl())
  await superuser.query(`create role ${username} login password 'reads-only'`)
  await superuser.query(`create database ${database} owner ${username}`)
  source = await connected(superuserUrl(database))
  await source.query(`set role ${username};
    create table facilities (id int primary key, name text, moved int);
    create table "Visits 2026" (id int primary key, facility int, moved int);
    create table empty (id int);
    insert into facilities select n, 'facility ' || n, n from generate_series(1, 3) n;
    insert into "Visits 2026" select n, n % 3 + 1, n from generate_series(1, 200) n`)
})
afterAll(async () => {
  await source?.end()
  await worker?.[Symbol.asyncDispose]()
  await service?.stop()
  await using superuser = await connected(superuserUrl())
  await superuser.query(`drop database if exists ${database} with (force)`)
  await superuser.query(`drop role if exists ${username}`)
})

const make = async (path: string, body: object) => (await owner.post(`/${path}`).send(body).expect(201)).body
const bodyOf = (tableName: string, names: string[], changes: object = {}) => ({
  ...pipelineBody(schema.id),
  type: 'SQL_DATABASE_D',
  jdbcSource: {
    hostname: '127.0.0.1',
    port: Number(new URL(superuserUrl()).port),
    database,
    username,
    password: 'reads-only',
  },
  dataWarehouseTarget: { schema: { id: schema.id }, tableName },
  tables: names.map((name) => ({ schema: 'public', name })),
  ...changes,
})

async function start(id: string, action: string, body: object = {}) {
  const { body: started } = await owner.post(`/data-pipelines/${id}/${action}`).send(body).expect(202)
  return until(async () => {
    const { body: runs } = await owner.get(`/data-pipelines/${id}/runs`).expect(200)
    return runs.find((run: { taskId: string; finished?: string }) => run.taskId === started.data.taskId && run.finished)
  })
}
const run = (id: string, body: object = {}) => start(id, 'run', body)
const tablesOf = async (id: string): Promise<[string, number][]> =>
  (await owner.get(`/data-pipelines/${id}`).expect(200)).body.status.tables.map(
    ({ name, rowCount }: { name: string; rowCount: number }) => [name, rowCount],
  )
const tableOf = (name: string) => `/schemas/${schema.id}/tables/${name}`
const names = ['facilities', 'Visits 2026', 'empty']

describe('a pipeline from several tables', () => {
  it('fills a table from each, and its own table lists them', async () => {
    const { id } = await make('data-pipelines', bodyOf('registry', names))
    const loaded = await run(id)
    expect(loaded).toMatchObject({ status: 'OK', rowsWritten: 203 })
    expect(loaded.message).toMatch(/^Loaded 203 rows into 3 tables of \w+ \(/)
    expect(loaded.progress.tables).toEqual([
      { table: 'registry__facilities', rowsRead: 3, state: 'READ' },
      { table: 'registry__visits_2026', rowsRead: 200, state: 'READ' },
      { table: 'registry__empty', rowsRead: 0, state: 'READ' },
    ])
    expect(await tablesOf(id)).toEqual([
      ['registry', 3],
      ['registry__empty', 0],
      ['registry__facilities', 3],
      ['registry__visits_2026', 200],
    ])
    expect((await owner.get(`/data-pipelines/${id}/data`).expect(200)).body.rows.toSorted()).toEqual([
      ['registry__empty', 'public.empty', '0'],
      ['registry__facilities', 'public.facilities', '3'],
      ['registry__visits_2026', 'public.Visits 2026', '200'],
    ])
    const { body: data } = await owner.get(`${tableOf('registry__facilities')}/data`).expect(200)
    expect(data.rows).toHaveLength(3)
    const { body: profile } = await owner.get(`${tableOf('registry__visits_2026')}/profile`).expect(200)
    expect(profile).toMatchObject({ rows: 200 })
    const { body: lineage } = await owner.get(`${tableOf('registry__visits_2026')}/lineage`).expect(200)
    expect(JSON.stringify(lineage)).toContain(id)
    const { text: csv } = await owner.get(`${tableOf('registry__facilities')}/data?format=csv`).expect(200)
    expect(csv.trim().split(/\r?\n/)).toHaveLength(4)
    const { text: logs } = await owner.get(`/data-pipelines/${id}/logs`).expect(200)
    for (const said of ['Read public.Visits 2026 (2 of 3), 3 columns', 'public.Visits 2026 has 200 rows.'])
      expect(logs).toContain(said)
    await owner.delete(`/data-pipelines/${id}`).expect(204)
    await until(async () => {
      const { body } = await owner.get(`/schemas/${schema.id}/tables`).expect(200)
      return !body.some(({ name }: { name: string }) => name.startsWith('registry'))
    })
  })

  it('loads all of them or none, and names each that cannot be read', async () => {
    const { id } = await make('data-pipelines', bodyOf('whole', ['facilities', 'Visits 2026']))
    await run(id)
    const wrong = bodyOf('whole', ['facilities', 'gone', 'Visits 2026', 'also gone'])
    const { body: test } = await owner.post('/data-pipelines/test-connection').send(wrong).expect(200)
    expect(test).toMatchObject({ status: 'ERROR', errorCode: 'TABLE_MISSING' })
    await owner.put(`/data-pipelines/${id}`).send(wrong).expect(200)
    await source.query(`insert into facilities values (100, 'new', 1)`)
    const failed = await run(id)
    await source.query('delete from facilities where id = 100')
    expect(failed).toMatchObject({ status: 'FAILED', errorCode: 'TABLE_MISSING' })
    expect(failed.message).toMatch(/^2 of 4 tables cannot be read.* public\.gone: .* public\.also gone: /)
    expect(await tablesOf(id)).toEqual([
      ['whole', 2],
      ['whole__facilities', 3],
      ['whole__visits_2026', 200],
    ])
  })

  it('has a gate, dry runs and a restore for all tables together', async () => {
    const check = await make(
      'data-quality-checks',
      checkBody({
        query:
          'select v.id from gated__visits_2026 v left join gated__facilities f on f.id = v.facility where f.id is null',
      }),
    )
    const dataQualityCheckGroup = await make('data-quality-check-groups', groupBody({ dataQualityChecks: [check] }))
    const { id } = await make('data-pipelines', bodyOf('gated', names, { dataQualityCheckGroup }))
    expect(await run(id)).toMatchObject({ status: 'OK' })
    await source.query('insert into "Visits 2026" values (1000, 77, 1)')
    expect(await run(id)).toMatchObject({ status: 'FAILED', errorCode: 'DATA_QUALITY_FAILED' })
    await source.query(`insert into facilities values (77, 'late', 1)`)
    const dry = await run(id, { dryRun: true })
    expect(
      dry.plannedTables
        .map(({ table, rowsBefore, rowsAfter }: Record<string, unknown>) => [table, rowsBefore, rowsAfter])
        .toSorted(),
    ).toEqual([
      ['gated', 3, 3],
      ['gated__empty', 0, 0],
      ['gated__facilities', 3, 4],
      ['gated__visits_2026', 200, 201],
    ])
    expect(await run(id)).toMatchObject({ status: 'OK' })
    expect((await tablesOf(id))[2]).toEqual(['gated__facilities', 4])
    await start(id, 'restore')
    expect((await tablesOf(id)).slice(2)).toEqual([
      ['gated__facilities', 3],
      ['gated__visits_2026', 200],
    ])
    await source.query('delete from facilities where id = 77; delete from "Visits 2026" where id = 1000')
  })

  it('appends or merges the rows of its tables, and lists each of them once', async () => {
    const tables = ['facilities', 'Visits 2026']
    const { id } = await make('data-pipelines', bodyOf('added', tables, { writeMode: 'APPEND' }))
    const merged = await make('data-pipelines', bodyOf('merged', tables, { writeMode: 'MERGE' }))
    for (const one of [id, id, merged.id, merged.id]) expect(await run(one)).toMatchObject({ status: 'OK' })
    const sizes = (name: string, facilities: number, visits: number) => [
      [name, 2],
      [`${name}__facilities`, facilities],
      [`${name}__visits_2026`, visits],
    ]
    expect(await tablesOf(id)).toEqual(sizes('added', 6, 400))
    expect(await tablesOf(merged.id)).toEqual(sizes('merged', 3, 200))
    await owner.put(`/data-pipelines/${id}`).send(bodyOf('added', tables)).expect(200)
    expect(await run(id)).toMatchObject({ status: 'OK' })
    expect(await tablesOf(id)).toEqual(sizes('added', 3, 200))
  })

  it('reads the changes of all tables in an incremental run', async () => {
    const incremental = { cursorColumn: 'moved', key: ['id'] }
    const { id } = await make('data-pipelines', bodyOf('moving', ['facilities', 'Visits 2026'], { incremental }))
    expect((await run(id)).status).toBe('OK')
    await source.query(
      `insert into facilities values (8, 'new', 500); update "Visits 2026" set moved = 600 where id = 1`,
    )
    expect(await run(id, { mode: 'INCREMENTAL' })).toMatchObject({ status: 'OK', rowsWritten: 4 })
    expect((await tablesOf(id)).slice(1)).toEqual([
      ['moving__facilities', 4],
      ['moving__visits_2026', 200],
    ])
    await source.query(`delete from facilities where id = 8`)
    const whole = await run(id, { mode: 'INCREMENTAL' })
    expect(whole).toMatchObject({ status: 'OK' })
    expect(whole.message).toContain(
      'public.facilities: All rows are read, because no row has a "moved" of 500 or later',
    )
    expect((await tablesOf(id))[1]).toEqual(['moving__facilities', 3])
  })

  it('has no incremental run without `incremental`', async () => {
    const { id } = await make('data-pipelines', bodyOf('plain', ['facilities', 'empty']))
    const { body } = await owner.post(`/data-pipelines/${id}/run`).send({ mode: 'INCREMENTAL' }).expect(422)
    expect(body.errors).toEqual([
      {
        pointer: '/mode',
        detail: 'The source of this pipeline does not support incremental runs: each run reads everything. Omit mode.',
      },
    ])
  })
})
