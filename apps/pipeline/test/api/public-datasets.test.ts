import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { catalogueClient } from '../../src/warehouses/public-dataset-owner.ts'
import { spawnWorker, type WorkerProcess } from '../worker/worker-process.ts'
import { until } from '@sluice/testing/wait-until'
import { pipelineBody, schemaBody, type Asking } from './app-under-test.ts'
import { librarians, newKey, pointers, rows } from './public-dataset-setup.ts'

let worker: WorkerProcess
// Said before the scene's own: the worker ends while its database is still there.
afterAll(() => worker?.[Symbol.asyncDispose]())
const scene = librarians()
beforeAll(async () => {
  worker = await spawnWorker(scene.service.environment)
})

const uploaded = (key: string, content = rows, by = scene.owner, query = '') =>
  by
    .post(`/public-datasets${query}`)
    .field('key', key)
    .field('name', `About ${key}`)
    .attach('file', Buffer.from(content), 'a.csv')
const create = async (content = rows) => {
  const key = newKey()
  const { body, headers } = await uploaded(key, content).expect(201)
  return { key, body, headers }
}

describe('a public dataset', () => {
  it('is created with its metadata, and returned with its loaded table', async () => {
    const key = newKey()
    const answer = await scene.owner
      .post('/public-datasets')
      .field({
        key,
        name: 'People',
        description: 'By country.',
        owner: 'Statistics',
        termsOfUse: 'CC0',
        tags: 'people, world,people',
      })
      .attach('file', Buffer.from(rows), 'C:\\data\\people.csv')
      .expect(201)
    expect(answer.headers).toMatchObject({ location: `/api/v1/public-datasets/${key}`, etag: expect.any(String) })
    expect(answer.body).toMatchObject({
      key,
      name: 'People',
      description: 'By country.',
      owner: 'Statistics',
      termsOfUse: 'CC0',
      tags: ['people', 'world'],
      tagString: 'people, world',
      headerRow: true,
      status: { lastRunStatus: 'OK' },
      table: { schema: 'datasets', name: key, rowCount: 2, columnCount: 2, displayName: 'People' },
    })
    expect(answer.body.table.columns.map(({ label }: { label: string }) => label)).toEqual([
      'Country',
      'People in 2026',
    ])
    const row = await scene.service.stack.db
      .selectFrom('warehouses')
      .select('key')
      .where('client', '=', catalogueClient)
      .execute()
    expect(row).toHaveLength(1)
  })

  it('is read, listed, searched and paged by a user of another organisation', async () => {
    const { key, body } = await create()
    expect((await scene.stranger.get(`/public-datasets/${key}`).expect(200)).body).toMatchObject({
      key,
      table: body.table,
    })
    const list = await scene.stranger.get(`/public-datasets?filter=key:eq:${key}&pageSize=1`).expect(200)
    expect(list.body).toMatchObject([{ key, status: { lastRunStatus: 'OK' } }])
    expect(list.headers).toMatchObject({ 'x-total-count': '1', 'x-page-size': '1' })
    const page = await scene.stranger.get(`/public-datasets/${key}/data?pageSize=1&page=2`).expect(200)
    expect(page.body).toMatchObject({ rows: [['CD', 112000000]], height: 1, width: 2 })
    await scene.stranger.get('/public-datasets/no_such_thing').expect(404)
  })

  it('is changed only by its own organisation and in the version of If-Match, and keeps its key', async () => {
    const { key, body, headers } = await create()
    const changed = { ...body, description: 'More.', tags: ['a'] }
    const answer = await scene.owner
      .put(`/public-datasets/${key}`)
      .set('if-match', headers['etag']!)
      .send(changed)
      .expect(200)
    expect(answer.body).toMatchObject({ description: 'More.', tags: ['a'], table: body.table })
    await scene.owner.put(`/public-datasets/${key}`).set('if-match', headers['etag']!).send(changed).expect(412)
    await scene.stranger.put(`/public-datasets/${key}`).send(changed).expect(403)
    await scene.stranger.delete(`/public-datasets/${key}`).expect(403)
    await scene.stranger.post(`/public-datasets/${key}/file`).type('text/csv').send(rows).expect(403)
    const other = await scene.owner
      .put(`/public-datasets/${key}`)
      .send({ ...changed, key: newKey() })
      .expect(422)
    expect(pointers(other.body)).toEqual(['/key'])
  })

  it('is loaded again if headerRow changes, and a new file replaces all rows', async () => {
    const { key, body } = await create()
    await scene.owner
      .put(`/public-datasets/${key}`)
      .send({ ...body, headerRow: false })
      .expect(200)
    await until(async () => (await scene.owner.get(`/public-datasets/${key}`)).body.table.rowCount === 3)
    await until(async () => (await scene.owner.get(`/public-datasets/${key}`)).body.status.lastRunStatus === 'WARNING')
    const again = await scene.owner
      .post(`/public-datasets/${key}/file?name=b.csv`)
      .type('text/csv')
      .send('a,b\n')
      .expect(200)
    expect(again.body).toMatchObject({ headerRow: false, table: { rowCount: 1 } })
  })

  it('refuses a file with other columns unless the upload has rebuild=true', async () => {
    const { key } = await create()
    const replace = (query = '') =>
      scene.owner.post(`/public-datasets/${key}/file${query}`).type('text/csv').send('Year,Rain\n2026,7\n')
    const refused = await replace().expect(422)
    expect(refused.body.detail).toMatch(
      / To take the new columns, send the file again with \?rebuild=true, which replaces all rows of the table\.$/,
    )
    const { body } = await replace('?rebuild=true').expect(200)
    expect(body.table.columns.map(({ label }: { label: string }) => label)).toEqual(['Year', 'Rain'])
    expect(body).toMatchObject({ status: { lastRunStatus: 'OK' }, table: { rowCount: 1 } })
  })

  it('keeps its file if the new one contains no table, and returns the reason', async () => {
    const { key } = await create()
    const stored = () =>
      scene.service.stack.db
        .selectFrom('uploaded_files as f')
        .innerJoin('public_datasets as d', 'd.pipeline_id', 'f.pipeline_id')
        .select('f.uid')
        .where('d.key', '=', key)
        .execute()
    const before = await stored()
    const { body } = await scene.owner
      .post(`/public-datasets/${key}/file`)
      .type('text/csv')
      .send('<!doctype html><p>Gateway timeout</p>')
      .expect(422)
    expect(body).toMatchObject({ code: 'source-unreadable', detail: expect.stringContaining('is a web page') })
    expect(await stored()).toEqual(before)
  })

  it('does not suggest settings that only pipelines have', async () => {
    const { key } = await create('id,seen\n1,31/01/2026\n')
    const replace = (seen: string) =>
      scene.owner.post(`/public-datasets/${key}/file`).type('text/csv').send(`id,seen\n1,${seen}\n`)
    const { body } = await replace('01/31/2026').expect(422)
    expect(body.detail).toMatch(/Write the dates as before\.$/)
    const numbers = await create('id,seen\n1,7\n')
    const ambiguous = await scene.owner
      .post(`/public-datasets/${numbers.key}/file`)
      .type('text/csv')
      .send('id,seen\n1,01/02/2026\n')
      .expect(422)
    expect(ambiguous.body.detail).toMatch(/Write its dates as YYYY-MM-DD\.$/)
    const widened = await scene.owner
      .post(`/public-datasets/${numbers.key}/file`)
      .type('text/csv')
      .send('id,seen\n1,x\n')
      .expect(200)
    expect(widened.body.status.message).toMatch(
      /, send the file again with \?rebuild=true, which replaces all rows of the table\.$/,
    )
  })

  it('returns the reason of a warning and the rejected rows only to its own organisation', async () => {
    const numbers = Array.from({ length: 2_000 }, (_, row) => `${row},${row}`).join('\n')
    const { key, body } = await create(`id,amount\n${numbers}\n1,2,3,4\n`)
    expect(body.status).toMatchObject({
      lastRunStatus: 'WARNING',
      message: expect.stringContaining('1 row did not fit'),
      rowsRejected: 1,
      rejectedRows: [{ line: 2002, reason: expect.any(String), raw: '1,2,3,4' }],
    })
    const [listed] = (await scene.owner.get(`/public-datasets?filter=key:eq:${key}`).expect(200)).body
    const { rejectedRows, ...counts } = body.status
    expect(rejectedRows).toHaveLength(1)
    expect(listed.status).toEqual(counts)
    const { status } = (await scene.stranger.get(`/public-datasets/${key}`).expect(200)).body
    expect(status.lastRunStatus).toBe('WARNING')
    expect(status).not.toHaveProperty('message')
    expect(status).not.toHaveProperty('rowsRejected')
    expect(status).not.toHaveProperty('rejectedRows')
    await scene.owner.put(`/public-datasets/${key}`).send(body).expect(200)
  })

  it('has a unique key, and is not created if its file cannot be loaded', async () => {
    const { key } = await create()
    expect(pointers((await uploaded(key).expect(409)).body)).toEqual(['/key'])
    expect(pointers((await uploaded(key, rows, scene.stranger).expect(409)).body)).toEqual(['/key'])
    const bad = newKey()
    const { body } = await uploaded(bad, 'PK\u0003\u0004 no workbook').expect(422)
    expect(body.code).toBe('dataset-not-loaded')
    expect(body.detail).not.toBe('')
    await scene.owner.get(`/public-datasets/${bad}`).expect(404)
    await uploaded(bad).expect(201)
  })

  it('is loaded by pipelines of any organisation, and cannot be deleted while a pipeline uses it', async () => {
    const { key } = await create()
    const pipelineOf = async (by: Asking) => {
      const schema = (await by.post('/schemas').send(schemaBody()).expect(201)).body.id
      const made = await by
        .post('/data-pipelines')
        .send(pipelineBody(schema, { type: 'PUBLIC_DATASET', key }))
        .expect(201)
      expect(made.body).toMatchObject({
        key,
        typeName: 'Public dataset',
        dataPipelineSourceName: key,
        scheduleable: true,
      })
      return made.body as { id: string; name: string }
    }
    const theirs = await pipelineOf(scene.stranger)
    const tested = await scene.stranger.post(`/data-pipelines/${theirs.id}/test-connection`).expect(200)
    expect(tested.body).toMatchObject({ status: 'OK', errorCode: 'OK' })
    await scene.stranger.post(`/data-pipelines/${theirs.id}/run`).expect(202)
    await until(async () => (await scene.stranger.get(`/data-pipelines/${theirs.id}/runs`)).body[0].finished)
    const { body: data } = await scene.stranger.get(`/data-pipelines/${theirs.id}/data`).expect(200)
    expect(data.rows).toEqual([
      ['KE', 57000000],
      ['CD', 112000000],
    ])
    expect(data.columns.map(({ label }: { label: string }) => label)).toEqual(['Country', 'People in 2026'])

    const others = await scene.owner.delete(`/public-datasets/${key}`).expect(409)
    expect(others.body.detail).toContain('1 that you may not see')
    expect(others.body.detail).not.toContain(theirs.name)
    const own = await pipelineOf(scene.owner)
    const both = await scene.owner.delete(`/public-datasets/${key}`).expect(409)
    expect(both.body.detail).toContain(`"${own.name}", 1 more`)
    await scene.owner.delete(`/data-pipelines/${own.id}`).expect(204)
    await scene.stranger.delete(`/data-pipelines/${theirs.id}`).expect(204)
    const folder = join(scene.service.stack.filesDirectory, 'uploads')
    const { length } = await readdir(folder)
    await scene.owner.delete(`/public-datasets/${key}`).expect(204)
    expect((await readdir(folder)).length).toBe(length - 1)
    await scene.owner.get(`/public-datasets/${key}`).expect(404)
    await uploaded(key).expect(201)
  })

  it('must exist before a pipeline can load it', async () => {
    const schema = (await scene.owner.post('/schemas').send(schemaBody()).expect(201)).body.id
    const body = pipelineBody(schema, { type: 'PUBLIC_DATASET', key: 'no_such_thing' })
    expect(pointers((await scene.owner.post('/data-pipelines').send(body).expect(422)).body)).toEqual(['/key'])
    const tested = await scene.owner.post('/data-pipelines/test-connection').send(body).expect(200)
    expect(tested.body).toMatchObject({ status: 'ERROR', errorCode: 'DATASET_MISSING' })
  })

  it('is returned before it is loaded if the request has wait=0', async () => {
    const key = newKey()
    const { body } = await uploaded(key, rows, scene.owner, '?wait=0').expect(201)
    expect(body).toMatchObject({ key, name: `About ${key}` })
    await until(async () => (await scene.owner.get(`/public-datasets/${key}`)).body.table?.rowCount === 2)
  })
})
