import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { spawnWorker } from '../worker/worker-process.ts'
import { until } from '@sluice/testing/wait-until'
import { startDhis2 } from '../dhis2/dhis2-stand-in.ts'
import { manyValues } from '../dhis2/create-view-to-push.ts'
import { connected, superuserUrl, word } from '@sluice/warehouses/testing/scratch-warehouse'
import { type Asking, pipelineBody, schemaBody, type Service, startService } from './app-under-test.ts'
import { viewBody } from './view-fixtures.ts'

const database = word('source')
const username = word('reader')
const password = `pass-${randomBytes(9).toString('hex')}`

const servers: { stop(): Promise<unknown> }[] = []
let service: Service
let worker: Awaited<ReturnType<typeof spawnWorker>>
let owner: Asking
let schema: string
let jdbcSource: object
beforeAll(async () => {
  service = await startService()
  worker = await spawnWorker(service.environment)
  const { id } = await service.identity.client()
  const roles = ['SCHEMA', 'DATA_PIPELINE', 'VARIABLE', 'VIEW', 'DESTINATION'] as const
  owner = service.as(
    await service.identity.person(
      id,
      roles.map((role) => `ROLE_MANAGE_${role}` as const),
    ),
  )
  schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body.id
  await using superuser = await connected(superuserUrl())
  await superuser.query(`create role ${username} login password '${password}'`)
  await superuser.query(`create database ${database} owner ${username}`)
  await using source = await connected(superuserUrl(database))
  await source.query(`
    set role ${username};
    create table cases (id int, name text);
    insert into cases values (1, 'Ann'), (2, 'o''brien'), (3, '007');`)
  jdbcSource = { hostname: '127.0.0.1', port: Number(new URL(superuserUrl()).port), database, username, password }
})
afterAll(async () => {
  await worker?.[Symbol.asyncDispose]()
  await service?.stop()
  for (const server of servers) await server.stop()
  await using superuser = await connected(superuserUrl())
  await superuser.query(`drop database if exists ${database} with (force)`)
  await superuser.query(`drop role if exists ${username}`)
})

async function variable(value: string, secured = false): Promise<string> {
  const name = `V_${randomBytes(4).toString('hex')}`
  await owner.post('/variables').send({ name, secured, value }).expect(201)
  return name
}
const source = (sqlQuery: string, more: object = {}) => ({ type: 'SQL_DATABASE_D', jdbcSource, sqlQuery, ...more })
const create = async (sqlQuery: string, more: object = {}): Promise<string> =>
  (
    await owner
      .post('/data-pipelines')
      .send(pipelineBody(schema, source(sqlQuery, more)))
      .expect(201)
  ).body.id

async function ran(uid: string) {
  await owner.post(`/data-pipelines/${uid}/run`).send({}).expect(202)
  return until(async () => {
    const { body } = await owner.get(`/data-pipelines/${uid}/runs`).expect(200)
    return body[0]?.finished && body[0]
  })
}
const rowsOf = async (uid: string) => (await owner.get(`/data-pipelines/${uid}/data`).expect(200)).body.rows

describe('a variable in the query of a source', () => {
  it('is passed as a value, list or identifier, and never as SQL', async () => {
    const all = await variable('1 or 1=1')
    const union = await variable(`x' union select 9, 'stolen' where 'a'='a`)
    const brien = await variable(`o'brien`)
    const zeros = await variable('007')
    const names = await variable(`Ann, o'brien`)
    const { body: refused } = await owner
      .post('/data-pipelines/preview')
      .send(source(`select * from cases where id = \${${all}}`))
    expect(refused.code).toBe('source-unreadable')
    for (const [condition, ids] of [
      [`name = \${${union}}`, []],
      [`name = '\${${union}}'`, []],
      [`name = \${${brien}}`, [2]],
      [`name = \${${zeros}}`, [3]],
      [`name in (\${${names}:list})`, [1, 2]],
    ] as const) {
      const { body } = await owner
        .post('/data-pipelines/preview')
        .send(source(`select id from cases where ${condition} order by id`))
        .expect(200)
      expect([condition, body.rows]).toEqual([condition, ids.map((id) => [id])])
    }
    const table = await variable('cases')
    const uid = await create(`select id from \${${table}:identifier} where name = \${${brien}}`)
    expect(await ran(uid)).toMatchObject({ status: 'OK' })
    expect(await rowsOf(uid)).toEqual([[2]])
  }, 60_000)

  it('is redacted in a preview if it is secured', async () => {
    const secret = await variable('s3cret-value', true)
    const { body } = await owner
      .post('/data-pipelines/preview')
      .send(source(`select \${${secret}} as a, 'in ' || \${${secret}} as b`))
      .expect(200)
    expect(body.rows).toEqual([['[redacted]', 'in [redacted]']])
  })

  it('is refused in quotes with other text; if already stored, the run is a WARNING and keeps the rows', async () => {
    const name = await variable('Ann')
    const misplaced = `select id from cases where name like '%\${${name}}%'`
    const { body } = await owner
      .post('/data-pipelines')
      .send(pipelineBody(schema, source(misplaced)))
      .expect(422)
    expect(body).toMatchObject({
      code: 'variable-misplaced',
      detail: expect.stringContaining('in quotes with other text'),
    })
    const uid = await create('select id from cases where id = 1')
    expect(await ran(uid)).toMatchObject({ status: 'OK' })
    const settings = JSON.stringify({ ...source(misplaced), jdbcSource: { ...jdbcSource, password: undefined } })
    await service.stack.db.updateTable('data_pipelines').set({ settings }).where('uid', '=', uid).execute()
    expect(await ran(uid)).toMatchObject({
      status: 'WARNING',
      message: expect.stringMatching(/^Nothing was loaded, and the old rows stay\. The variable .* is in quotes/),
    })
    expect(await rowsOf(uid)).toEqual([[1]])
  }, 60_000)
})

describe('a variable in a transformation', () => {
  it('is replaced as a value or identifier in all kinds of statements', async () => {
    const [text, from, column] = [await variable(`it's ü`), await variable('2'), await variable('Added here')]
    const tableName = word('transformed_')
    const statements = [
      `delete from ${tableName} where id < \${${from}}`,
      `alter table ${tableName} add column if not exists \${${column}:identifier} text default '\${${text}}'`,
    ]
    const uid = await create('select id from cases', {
      dataWarehouseTarget: { schema: { id: schema }, tableName },
      transformation: { sqlStatements: statements.map((statement) => ({ statement })) },
    })
    expect(await ran(uid)).toMatchObject({ status: 'OK' })
    expect((await rowsOf(uid)).toSorted()).toEqual([
      [2, `it's ü`],
      [3, `it's ü`],
    ])
    const misplaced = { sqlStatements: [{ statement: `delete from ${tableName} where id = 'x\${${from}}'` }] }
    await owner
      .post('/data-pipelines')
      .send(pipelineBody(schema, source('select 1', { transformation: misplaced })))
      .expect(422)
  }, 60_000)
})

describe('a variable in the password of a destination', () => {
  it('is replaced in runs and connection tests, and cannot be deleted while in use', async () => {
    const dhis2 = await startDhis2()
    servers.push(dhis2)
    const secret = await variable('District1-sesame', true)
    const uid = await create(manyValues(2))
    expect(await ran(uid)).toMatchObject({ status: 'OK' })
    const { body: loaded } = await owner.get(`/data-pipelines/${uid}/table`).expect(200)
    const { body: view } = await owner
      .post('/views')
      .send(viewBody(schema, `select dataelement, period, orgunit, value from ${loaded.name}`))
      .expect(201)
    const target = { url: dhis2.url, username: 'importer', password: `\${${secret}}` }
    const destination = {
      name: word('Destination '),
      disabled: false,
      runTrigger: 'NEVER',
      viewSource: { id: view.id },
      apiTarget: target,
    }
    const { body: saved } = await owner.post('/destinations').send(destination).expect(201)
    const { body: tried } = await owner
      .post(`/destinations/${saved.id}/test-connection`)
      .send({ url: dhis2.url })
      .expect(200)
    expect(tried).toMatchObject({ status: 'OK' })
    const { body: unsaved } = await owner.post('/destinations/test-connection').send(target).expect(200)
    expect(unsaved).toMatchObject({ status: 'OK' })
    await owner.post(`/destinations/${saved.id}/run`).send({}).expect(202)
    const run = await until(async () => {
      const { body } = await owner.get(`/destinations/${saved.id}/runs`).expect(200)
      return body[0]?.finished && body[0]
    })
    expect(run).toMatchObject({ status: 'OK', rowsWritten: 2 })
    const sent = `Basic ${Buffer.from('importer:District1-sesame').toString('base64')}`
    expect(new Set(dhis2.requests.map(({ authorization }) => authorization))).toEqual(new Set([sent]))
    const [{ id }] = (await owner.get(`/variables?filter=name:eq:${secret}`).expect(200)).body
    const { body: used } = await owner.delete(`/variables/${id}`).expect(409)
    expect(used.detail).toBe(
      `\${${secret}} is used by the destinations "${destination.name}". Remove the variable from these objects first.`,
    )
  }, 60_000)
})

describe('a variable in a view', () => {
  it.each(['select ${X}', "select '${X}'", 'select "${X}"'])('is refused: %s', async (query) => {
    await owner.post('/views').send(viewBody(schema, query)).expect(422)
    await owner
      .post('/views/preview')
      .send({ schema: { id: schema }, query })
      .expect(422)
  })
})
