import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { spawnWorker } from '../worker/worker-process.ts'
import { until } from '@sluice/testing/wait-until'
import { connected, superuserUrl, word } from '@sluice/warehouses/testing/scratch-warehouse'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from './app-under-test.ts'

const database = word('source')
const username = word('reader')
const password = `pass-${randomBytes(9).toString('hex')}`

let service: Service
let owner: Asking
let schema: string
let jdbcSource: { hostname: string; port: number; database: string; username: string; password: string }
beforeAll(async () => {
  service = await startService()
  const { id } = await service.identity.client()
  owner = service.as(await service.identity.person(id, ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE']))
  schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body.id

  await using superuser = await connected(superuserUrl())
  await superuser.query(`create role ${username} login password '${password}'`)
  await superuser.query(`create database ${database} owner ${username}`)
  await using source = await connected(superuserUrl(database))
  await source.query(`
    set role ${username};
    create table cases (id int, big bigint, ratio numeric(14,4), share float8, narrow float4, good bool, name text, day date,
                        at timestamp, moment timestamptz, more jsonb);
    insert into cases values
      (1, 9007199254740993, -1234.5, 0.1, 0.1, true, 'Ä', '2026-01-31', '2026-01-31 12:30:00.25', '2026-01-31 12:30+02', '{"a": 1}'),
      (2, -1, 0.0001, 'NaN', 1e10, false, '', '0044-03-15 BC', '1999-12-31 23:59:59.999999', 'infinity', '[]'),
      (3, null, 100000000, null, null, null, null, null, null, null, null);
    create table many as select generate_series(1, 5000) as id;`)
  jdbcSource = { hostname: '127.0.0.1', port: Number(new URL(superuserUrl()).port), database, username, password }
})
afterAll(async () => {
  await service?.stop()
  await using superuser = await connected(superuserUrl())
  await superuser.query(`drop database if exists ${database} with (force)`)
  await superuser.query(`drop role if exists ${username}`)
})

const body = (changes: object = {}) => ({ type: 'SQL_DATABASE_D', jdbcSource, ...changes })
const create = async (changes: object) =>
  (
    await owner
      .post('/data-pipelines')
      .send(pipelineBody(schema, body(changes)))
      .expect(201)
  ).body.id as string

describe('a pipeline from PostgreSQL', () => {
  it('is tested, run and read, and its password is in no response or log', async () => {
    const worker = await spawnWorker(service.environment)
    try {
      const uid = await create({ tables: [{ schema: 'public', name: 'cases' }] })
      const test = await owner.post(`/data-pipelines/${uid}/test-connection`).expect(200)
      expect(test.body).toMatchObject({ status: 'OK', errorCode: 'OK', httpStatus: '200 OK' })
      await owner.post(`/data-pipelines/${uid}/run`).expect(202)
      const run = await until(async () => {
        const { body } = await owner.get(`/data-pipelines/${uid}/runs`).expect(200)
        return body[0].finished && body[0]
      })
      expect(run).toMatchObject({ status: 'OK', rowsWritten: 3, progress: { percentage: 100 } })
      const { body: data } = await owner.get(`/data-pipelines/${uid}/data`).expect(200)
      expect(data.rows.map(([id, big]: unknown[]) => [id, big])).toEqual([
        [1, '9007199254740993'],
        [2, '-1'],
        [3, null],
      ])
      const { text: logs } = await owner.get(`/data-pipelines/${uid}/logs`).expect(200)
      for (const said of [logs, test.text, JSON.stringify(run), service.log(), worker.output()])
        expect(said).not.toContain(password)
    } finally {
      await worker[Symbol.asyncDispose]()
    }
  })

  it('loads only new, changed and deleted rows in an incremental run, and says what it cannot find', async () => {
    await using source = await connected(superuserUrl(database))
    await source.query(`set role ${username}; create table visits (id int, text text, moved timestamptz, gone boolean);
      insert into visits select n, 'old', now() - interval '1 day', false from generate_series(1, 3) n`)
    const worker = await spawnWorker(service.environment)
    try {
      const incremental = { cursorColumn: 'moved', key: ['id'], deletedColumn: 'gone' }
      const uid = await create({ sqlQuery: 'select * from visits', incremental })
      let count = 0
      const run = async (mode: string) => {
        await owner.post(`/data-pipelines/${uid}/run`).send({ mode }).expect(202)
        count += 1
        return await until(async () => {
          const { body: runs } = await owner.get(`/data-pipelines/${uid}/runs`).expect(200)
          return runs.length === count && runs[0].finished && runs[0]
        })
      }
      expect(await run('FULL')).toMatchObject({ status: 'OK', rowsWritten: 3 })
      await source.query(`update visits set text = 'new', moved = now() where id = 1;
        update visits set gone = true, moved = now() where id = 2;
        delete from visits where id = 3; insert into visits values (4, 'new', now(), null)`)
      expect(await run('INCREMENTAL')).toMatchObject({ status: 'OK', rowsWritten: 3 })
      const rows = async () =>
        (await owner.get(`/data-pipelines/${uid}/data`).expect(200)).body.rows
          .map(([id, text]: unknown[]) => [id, text])
          .toSorted()
      expect(await rows()).toEqual([
        [1, 'new'],
        [3, 'old'],
        [4, 'new'],
      ])
      const { text: logs } = await owner.get(`/data-pipelines/${uid}/logs`).expect(200)
      expect(logs).toContain(
        'Rows that were deleted and not marked in \\"gone\\" in the source stay until the next full run.',
      )
      await owner.post(`/data-pipelines/${uid}/reset-cursor`).send({ from: '2026-01-01T00:00:00Z' }).expect(422)
      await owner.post(`/data-pipelines/${uid}/reset-cursor`).send({}).expect(200)
      expect(await run('INCREMENTAL')).toMatchObject({ status: 'OK', rowsWritten: 2 })
      expect(await rows()).toHaveLength(2)
    } finally {
      await worker[Symbol.asyncDispose]()
      await source.query('drop table visits')
    }
  })

  it('has a preview with the types and values of a load', async () => {
    const { body: preview } = await owner
      .post('/data-pipelines/preview')
      .send(body({ sqlQuery: 'select * from cases order by id' }))
      .expect(200)
    expect(preview.columns.map(({ dataType }: { dataType: string }) => dataType)).toEqual([
      'INTEGER',
      'BIGINT',
      'DECIMAL',
      'DOUBLE',
      'FLOAT',
      'BOOLEAN',
      'TEXT',
      'DATE',
      'TIMESTAMP',
      'TIMESTAMPTZ',
      'JSONB',
    ])
    expect(preview.rows).toEqual([
      [
        1,
        '9007199254740993',
        '-1234.5000',
        0.1,
        0.1,
        true,
        'Ä',
        '2026-01-31',
        '2026-01-31 12:30:00.25',
        '2026-01-31 10:30:00+00',
        { a: 1 },
      ],
      [
        2,
        '-1',
        '0.0001',
        'NaN',
        10_000_000_000,
        false,
        '',
        '0044-03-15 BC',
        '1999-12-31 23:59:59.999999',
        'infinity',
        [],
      ],
      [3, null, '100000000.0000', null, null, null, null, null, null, null, null],
    ])
    expect(preview).toMatchObject({ complete: true, rejected: [] })
  })

  it('has a preview of the first rows only', async () => {
    const asked = body({ tables: [{ name: 'many' }], rows: 7 })
    const { body: preview } = await owner.post('/data-pipelines/preview').send(asked).expect(200)
    expect(preview).toMatchObject({ height: 7, complete: false, rows: [[1], [2], [3], [4], [5], [6], [7]] })
  })

  it('is tested with the stored password if none is sent, and only at the stored address', async () => {
    const id = await create({ sqlQuery: 'select 1' })
    const { password: _, ...known } = jdbcSource
    const test = (changes: object) =>
      owner.post('/data-pipelines/test-connection').send(body({ id, sqlQuery: 'select 1', ...changes }))
    expect((await test({ jdbcSource: known }).expect(200)).body.status).toBe('OK')
    const { body: away } = await test({ jdbcSource: { ...known, hostname: 'localhost' } }).expect(422)
    expect(away.errors[0].pointer).toBe('/jdbcSource/password')
    const { body: without } = await test({ id: undefined, jdbcSource: known }).expect(200)
    expect(without).toMatchObject({
      status: 'ERROR',
      errorCode: 'AUTHENTICATION_FAILED',
      message: expect.stringContaining('without a password'),
    })
  })
})

describe('a look-up of a database', () => {
  it('lists the readable tables, before and after the pipeline is saved', async () => {
    const tables = [
      { id: 'public.cases', code: 'public', name: 'cases' },
      { id: 'public.many', code: 'public', name: 'many' },
    ]
    const { body: unsaved } = await owner.post('/lookups/SQL_DATABASE_D/tables').send({ jdbcSource }).expect(200)
    expect(unsaved).toEqual(tables)
    const uid = await create({ sqlQuery: 'select 1' })
    const saved = (asked: object) => owner.post(`/data-pipelines/${uid}/lookups/tables`).send(asked).expect(200)
    expect((await saved({})).body).toEqual(tables)
    const { password: _, ...known } = jdbcSource
    expect((await saved({ jdbcSource: known, query: 'MAN' })).body).toEqual(tables.slice(1))
  })

  it('lists the columns of a table, and of the query of a saved pipeline', async () => {
    const { body: columns } = await owner
      .post('/lookups/SQL_DATABASE_D/columns')
      .send({ jdbcSource, within: 'public.many' })
      .expect(200)
    expect(columns).toEqual([{ id: 'id', code: 'INTEGER', name: 'id' }])
    const uid = await create({ sqlQuery: 'select 1 as one, now() as two' })
    const { body: saved } = await owner.post(`/data-pipelines/${uid}/lookups/columns`).send({}).expect(200)
    expect(saved.map(({ id, code }: { id: string; code: string }) => [id, code])).toEqual([
      ['one', 'INTEGER'],
      ['two', 'TIMESTAMPTZ'],
    ])
    const { body: unknown } = await owner.post('/lookups/SQL_DATABASE_D/columns').send({ jdbcSource }).expect(422)
    expect(unknown.detail).toContain('Name the table in `within`')
  })

  it('reports the source’s error, and returns 404 for an unknown kind of look-up', async () => {
    const wrong = { jdbcSource: { ...jdbcSource, password: 'wrong password' } }
    const { body: refused } = await owner.post('/lookups/SQL_DATABASE_D/tables').send(wrong).expect(422)
    expect(refused).toMatchObject({ code: 'source-unreadable', detail: expect.stringContaining(username) })
    for (const path of ['SQL_DATABASE_D/forms', 'CSV_UPLOAD/tables', 'FAX/tables'])
      await owner.post(`/lookups/${path}`).send({ jdbcSource }).expect(404)
  })
})

describe('a connection test', () => {
  const test = async (changes: object) =>
    (
      await owner
        .post('/data-pipelines/test-connection')
        .send(body({ sqlQuery: 'select 1', ...changes }))
        .expect(200)
    ).body

  it('returns the reason for which the database refuses the connection or the query', async () => {
    const wrong = await test({ jdbcSource: { ...jdbcSource, password: 'wrong password' } })
    expect(wrong).toMatchObject({ status: 'ERROR', errorCode: 'AUTHENTICATION_FAILED', httpStatusCode: 200 })
    expect(wrong).toMatchObject({
      messageKey: 'source.authentication-failed',
      devMessage: expect.stringContaining('password authentication failed'),
    })
    expect(wrong.message).toContain(username)
    expect(JSON.stringify(wrong)).not.toContain('wrong password')
    expect(await test({ sqlQuery: 'select * from nothing' })).toMatchObject({ errorCode: 'TABLE_MISSING' })
    expect(await test({ sqlQuery: 'drop table cases' })).toMatchObject({ status: 'ERROR' })
    expect(await test({ jdbcSource: { ...jdbcSource, database: 'nowhere' } })).toMatchObject({
      errorCode: 'DATABASE_MISSING',
    })
  })

  it.each([
    ['inside the private network', '10.1.2.3', 'ADDRESS_NOT_ALLOWED'],
    ['of a cloud metadata service', '169.254.169.254', 'ADDRESS_NOT_ALLOWED'],
    ['on the loopback interface, unless the operator allows it', '::1', 'ADDRESS_NOT_ALLOWED'],
    ['that does not exist', 'db.invalid', 'HOST_UNKNOWN'],
  ])('does not connect to an address %s', async (_what, hostname, errorCode) => {
    expect(await test({ jdbcSource: { ...jdbcSource, hostname } })).toMatchObject({ status: 'ERROR', errorCode })
  })

  it.each([
    ['/sqlQuery', {}],
    ['/sqlQuery', { tables: [] }],
    ['/sqlQuery', { sqlQuery: ' ' }],
    ['/tables', { sqlQuery: 'select 1', tables: [{ name: 'cases' }] }],
    ['/tables/1', { tables: [{ name: 'cases' }, { name: 'cases' }] }],
  ])('refuses settings that could not be saved: %s of %j', async (pointer, changes) => {
    for (const path of ['test-connection', 'preview']) {
      const { body: refused } = await owner.post(`/data-pipelines/${path}`).send(body(changes)).expect(422)
      expect(refused.errors).toMatchObject([{ pointer }])
    }
  })

  it('is refused for a type of pipeline that has no connection', async () => {
    const { body: refused } = await owner
      .post('/data-pipelines/test-connection')
      .send({ type: 'CSV_UPLOAD' })
      .expect(422)
    expect(refused.errors[0].pointer).toBe('/type')
  })
})
