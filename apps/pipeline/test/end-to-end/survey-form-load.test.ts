import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Asking, pipelineBody, schemaBody, type Service, startService } from '../api/app-under-test.ts'
import { spawnWorker, type WorkerProcess } from '../worker/worker-process.ts'
import { until } from '@sluice/testing/wait-until'
import { kobotoolbox } from '@sluice/connectors/testing/kobotoolbox-stand-in'
import type { StandIn } from '@sluice/connectors/testing/connector-fixture'
import { isOwnedByAnother } from '../../src/deleted-tables/table-ownership.ts'

let service: Service
let client: string
let owner: Asking
let worker: WorkerProcess
let standIn: StandIn
let schema: string
let own: { type: string; apiSource: { url: string; authToken?: string }; survey: string }

beforeAll(async () => {
  service = await startService()
  worker = await spawnWorker(service.environment)
  standIn = await kobotoolbox.start()
  client = (await service.identity.client()).id
  owner = service.as(await service.identity.person(client, ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE']))
  schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body.id
  const { apiSource, ...settings } = standIn.settings as unknown as typeof own
  own = { ...settings, apiSource: { ...apiSource, authToken: standIn.secrets['authToken']! } }
})
afterAll(async () => {
  await worker?.[Symbol.asyncDispose]()
  await standIn?.server[Symbol.asyncDispose]()
  await service?.stop()
})

async function run(id: string, mode?: 'FULL' | 'INCREMENTAL') {
  const { body: asked } = await owner
    .post(`/data-pipelines/${id}/run`)
    .send(mode && { mode })
    .expect(202)
  const uid = asked.data?.id ?? asked.id
  return until(async () => {
    const { body } = await owner.get(`/data-pipelines/${id}/runs`).expect(200)
    const found = body.find((one: { id: string }) => one.id === uid) ?? body[0]
    return found.finished && found
  })
}

describe('end to end: KoboToolbox survey', () => {
  it('can be tested, looked up and previewed before a pipeline is saved', async () => {
    standIn.people.put({ id: 1, children: ['Ann'] })
    const { body: tried } = await owner.post('/data-pipelines/test-connection').send(own).expect(200)
    expect(tried).toMatchObject({ status: 'OK', message: 'KoboToolbox answered and accepted these credentials.' })
    const { url, authToken } = own.apiSource
    const { body: found } = await owner
      .post('/lookups/SOURCE_SYSTEM_E/surveys')
      .send({ url, authToken, query: 'house' })
    expect(found).toEqual([{ id: own.survey, code: own.survey, name: 'Households' }])
    const { body: preview } = await owner.post('/data-pipelines/preview').send(own).expect(200)
    expect(preview).toMatchObject({ height: 1, complete: true })
    const wrong = { ...own, apiSource: { url, authToken: 'another' } }
    const { text } = await owner.post('/data-pipelines/preview').send(wrong).expect(422)
    expect(text).toContain('rejected the credentials (401)')
    expect(text).not.toContain('another')
  })

  it('is loaded by a worker in full, and later incrementally', async () => {
    const made = await owner
      .post('/data-pipelines')
      .send(pipelineBody(schema, { ...own, dataWarehouseTarget: { schema: { id: schema }, tableName: 'homes' } }))
      .expect(201)
    const { id } = made.body
    expect(await run(id)).toMatchObject({
      status: 'OK',
      message: expect.stringMatching(/^Loaded 2 rows into 2 tables of \w+ \(homes 1, homes__child 1\)\.$/),
      mode: 'FULL',
    })
    standIn.people.put({ id: 2 })
    standIn.server.requests.length = 0
    expect(await run(id, 'INCREMENTAL')).toMatchObject({ status: 'OK' })
    const asked = standIn.server.requests.filter(standIn.isPageRequest).map(({ query }) => query.get('query'))
    expect(asked[0]).toContain('_submission_time')
    const { body: data } = await owner.get(`/data-pipelines/${id}/data`).expect(200)
    expect(data.rows).toHaveLength(2)
    expect(await run(id, 'INCREMENTAL')).toMatchObject({ status: 'OK', mode: 'INCREMENTAL' })
    // As whole as they are, though the last increment had nothing new.
    const { body: one } = await owner.get(`/data-pipelines/${id}`).expect(200)
    const { body: list } = await owner.get('/data-pipelines').expect(200)
    for (const { status } of [one, ...list])
      expect(status.tables).toMatchObject([
        { name: 'homes', displayName: one.name, rowCount: 2, foreignKeys: [] },
        { name: 'homes__child', displayName: `${one.name}: child`, rowCount: 1 },
      ])
    expect(service.log() + worker.output()).not.toContain(standIn.secrets['authToken'])
  })

  it('is read in full once after a cursor reset, or from the given moment', async () => {
    const { body: all } = await owner.get('/data-pipelines').expect(200)
    const [{ id }] = all
    const questions = () => standIn.server.requests.filter(standIn.isPageRequest).map(({ query }) => query.get('query'))
    const { body: reset } = await owner.post(`/data-pipelines/${id}/reset-cursor`).send({}).expect(200)
    expect(reset.message).toBe('The cursor is reset. The next run reads everything and replaces the rows.')
    expect(reset.messageKey).toBe('cursor.reset')
    standIn.server.requests.length = 0
    const whole = await run(id, 'INCREMENTAL')
    expect(whole.message).toContain('All records are read, because the cursor was reset.')
    expect(questions().join()).not.toContain('_submission_time')
    const from = '2026-01-01T00:00:01Z'
    await owner.post(`/data-pipelines/${id}/reset-cursor`).send({ from }).expect(200)
    standIn.server.requests.length = 0
    expect(await run(id, 'INCREMENTAL')).toMatchObject({ status: 'OK' })
    expect(questions()[0]).toContain('"$gte":"2026-01-01T00:00:01.000"')
    // The mark is gone with the run that went by it.
    const { cursor_reset } = await service.stack.db
      .selectFrom('data_pipelines')
      .select('cursor_reset')
      .where('uid', '=', id)
      .executeTakeFirstOrThrow()
    expect(cursor_reset).toBeNull()
    await owner.post(`/data-pipelines/${id}/reset-cursor`).send({ from: '2999-01-01T00:00:00Z' }).expect(422)
  })

  it('is read in full once after an upgrade of the cursor version, with a message', async () => {
    const { body: all } = await owner.get('/data-pipelines').expect(200)
    const [{ id }] = all
    await using inside = await service.stack.inside(client)
    await inside.query(
      `update sluice.ledger_table set cursor = jsonb_set(cursor, '{version}', '1') where cursor is not null`,
    )
    expect(await run(id, 'INCREMENTAL')).toMatchObject({
      status: 'OK',
      message: expect.stringContaining('After this upgrade, all records are read once'),
    })
    expect((await run(id, 'INCREMENTAL')).message).not.toContain('upgrade')
  })

  it('is read in full again after the settings of its pipeline change', async () => {
    const { body: all } = await owner.get('/data-pipelines').expect(200)
    const [{ id }] = all
    const { body } = await owner.get(`/data-pipelines/${id}`).expect(200)
    // The same server by another address.
    const url = `${standIn.server.url}/`
    await owner
      .put(`/data-pipelines/${id}`)
      .send({ ...body, apiSource: { url, authToken: standIn.secrets['authToken'] } })
      .expect(200)
    standIn.people.remove(1)
    expect(await run(id, 'INCREMENTAL')).toMatchObject({ status: 'OK' })
    const { body: data } = await owner.get(`/data-pipelines/${id}/data`).expect(200)
    expect(data.rows).toHaveLength(1)
  })

  it('lists the tables of its repeat groups, and drops them when the pipeline is deleted', async () => {
    standIn.people.put({ id: 1, children: ['Ann'] })
    const target = { dataWarehouseTarget: { schema: { id: schema }, tableName: 'gone' } }
    const { body: made } = await owner
      .post('/data-pipelines')
      .send(pipelineBody(schema, { ...own, ...target }))
      .expect(201)
    await run(made.id)
    const tables = async () => {
      const { body } = await owner.get('/tables').expect(200)
      return body.map((one: { name: string }) => one.name).filter((name: string) => name.startsWith('gone'))
    }
    expect((await tables()).toSorted()).toEqual(['gone', 'gone__child'])
    await owner.delete(`/data-pipelines/${made.id}`).expect(204)
    await using inside = await service.stack.inside(client)
    const left = await inside.query(`select relname from pg_class where relname like 'gone%'`)
    expect(left.rows).toEqual([])
  })

  it('fails with TABLE_TAKEN if a repeat group would overwrite the table of another pipeline', async () => {
    const target = (tableName: string) => ({ dataWarehouseTarget: { schema: { id: schema }, tableName } })
    await owner
      .post('/data-pipelines')
      .send(pipelineBody(schema, target('taken__child')))
      .expect(201)
    const made = await owner
      .post('/data-pipelines')
      .send(pipelineBody(schema, { ...own, ...target('taken') }))
      .expect(201)
    expect(await run(made.body.id)).toMatchObject({ status: 'FAILED', errorCode: 'TABLE_TAKEN' })
  })

  it('assigns a child table to the pipeline with the longest matching table name', async () => {
    const target = (tableName: string) => ({ dataWarehouseTarget: { schema: { id: schema }, tableName } })
    for (const name of ['long', 'long__x'])
      await owner
        .post('/data-pipelines')
        .send(pipelineBody(schema, target(name)))
        .expect(201)
    const { db } = service.stack
    const { client, schema_name } = await db
      .selectFrom('schemas')
      .select(['client', 'schema_name'])
      .where('uid', '=', schema)
      .executeTakeFirstOrThrow()
    const name = { client, schema: schema_name, table: 'long__x__y' }
    expect(await isOwnedByAnother(db, name, 'long')).toBe(true)
    expect(await isOwnedByAnother(db, name, 'long__x')).toBe(false)
    expect(await isOwnedByAnother(db, { ...name, table: 'long__other' }, 'long')).toBe(false)
  })
})
