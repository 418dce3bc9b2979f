import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { request, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { spawnWorker, until, type WorkerProcess } from '../engine/worker-process.ts'
import type { Person } from '../identity.ts'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from './app-under-test.ts'

const limit = 1_000_000
const roles = ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE'] as const

let service: Service
let worker: WorkerProcess
let librarian: Person
let owner: Asking
let stranger: Asking
beforeAll(async () => {
  service = await startService({ uploadLimit: limit })
  worker = await spawnWorker(service.environment)
  const { identity } = service
  const [here, there] = await Promise.all([identity.client(), identity.client()])
  librarian = await identity.person(here!.id, [...roles, 'ROLE_MANAGE_PUBLIC_DATASET_CATALOG'])
  owner = service.as(librarian)
  stranger = service.as(await identity.person(there!.id, [...roles, 'ROLE_MANAGE_PUBLIC_DATASET_CATALOG']))
})
afterAll(async () => {
  await worker?.[Symbol.asyncDispose]()
  await service?.stop()
})

const newKey = () => `people_${randomBytes(4).toString('hex')}`
const rows = 'Country,People in 2026\nKE,57000000\nCD,112000000\n'
const uploaded = (key: string, content = rows, by = owner, query = '') =>
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
const filesOnDisk = () => readdir(join(service.stack.filesDirectory, 'uploads'))
const pointers = (body: any): string[] => body.errors.map(({ pointer }: { pointer: string }) => pointer)

describe('a public dataset', () => {
  it('is uploaded with what is said of it, and answered with its table', async () => {
    const key = newKey()
    const answer = await owner
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
    const row = await service.stack.db.selectFrom('warehouses').select('key').where('key', '=', 'catalogue').execute()
    expect(row).toHaveLength(1)
  })

  it('is read, listed, searched and paged through by everybody', async () => {
    const { key, body } = await create()
    expect((await stranger.get(`/public-datasets/${key}`).expect(200)).body).toMatchObject({ key, table: body.table })
    const list = await stranger.get(`/public-datasets?filter=key:eq:${key}&pageSize=1`).expect(200)
    expect(list.body).toMatchObject([{ key, status: { lastRunStatus: 'OK' } }])
    expect(list.headers).toMatchObject({ 'x-total-count': '1', 'x-page-size': '1' })
    const page = await stranger.get(`/public-datasets/${key}/data?pageSize=1&page=2`).expect(200)
    expect(page.body).toMatchObject({ rows: [['CD', 112000000]], height: 1, width: 2 })
    await stranger.get('/public-datasets/no_such_thing').expect(404)
  })

  it('is changed by its own organisation only, and taken back as it was answered', async () => {
    const { key, body, headers } = await create()
    const changed = { ...body, description: 'More.', tags: ['a'] }
    const answer = await owner
      .put(`/public-datasets/${key}`)
      .set('if-match', headers['etag']!)
      .send(changed)
      .expect(200)
    expect(answer.body).toMatchObject({ description: 'More.', tags: ['a'], table: body.table })
    await owner.put(`/public-datasets/${key}`).set('if-match', headers['etag']!).send(changed).expect(412)
    await stranger.put(`/public-datasets/${key}`).send(changed).expect(403)
    await stranger.delete(`/public-datasets/${key}`).expect(403)
    await stranger.post(`/public-datasets/${key}/file`).type('text/csv').send(rows).expect(403)
    const other = await owner
      .put(`/public-datasets/${key}`)
      .send({ ...changed, key: newKey() })
      .expect(422)
    expect(pointers(other.body)).toEqual(['/key'])
  })

  it('reads its first row as rows when told so, and gets new rows whole', async () => {
    const { key, body } = await create()
    await owner
      .put(`/public-datasets/${key}`)
      .send({ ...body, headerRow: false })
      .expect(200)
    await until(async () => (await owner.get(`/public-datasets/${key}`)).body.table.rowCount === 3)
    await until(async () => (await owner.get(`/public-datasets/${key}`)).body.status.lastRunStatus === 'OK')
    const again = await owner.post(`/public-datasets/${key}/file?name=b.csv`).type('text/csv').send('a,b\n').expect(200)
    expect(again.body).toMatchObject({ headerRow: false, table: { rowCount: 1 } })
  })

  it('of one key is there once, and leaves nothing where its file cannot be loaded', async () => {
    const { key } = await create()
    expect(pointers((await uploaded(key).expect(409)).body)).toEqual(['/key'])
    expect(pointers((await uploaded(key, rows, stranger).expect(409)).body)).toEqual(['/key'])
    const bad = newKey()
    const { body } = await uploaded(bad, 'PK\u0003\u0004 no workbook').expect(422)
    expect(body.code).toBe('dataset-not-loaded')
    expect(body.detail).not.toBe('')
    await owner.get(`/public-datasets/${bad}`).expect(404)
    await uploaded(bad).expect(201)
  })

  it('is loaded by pipelines of any organisation, with its labels, and stays while they do', async () => {
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
    const theirs = await pipelineOf(stranger)
    const tested = await stranger.post(`/data-pipelines/${theirs.id}/test-connection`).expect(200)
    expect(tested.body).toMatchObject({ status: 'OK', errorCode: 'OK' })
    await stranger.post(`/data-pipelines/${theirs.id}/run`).expect(202)
    await until(async () => (await stranger.get(`/data-pipelines/${theirs.id}/runs`)).body[0].finished)
    const { body: data } = await stranger.get(`/data-pipelines/${theirs.id}/data`).expect(200)
    expect(data.rows).toEqual([
      ['KE', 57000000],
      ['CD', 112000000],
    ])
    expect(data.columns.map(({ label }: { label: string }) => label)).toEqual(['Country', 'People in 2026'])

    const others = await owner.delete(`/public-datasets/${key}`).expect(409)
    expect(others.body.detail).toContain('1 of others')
    expect(others.body.detail).not.toContain(theirs.name)
    const own = await pipelineOf(owner)
    const both = await owner.delete(`/public-datasets/${key}`).expect(409)
    expect(both.body.detail).toContain(`"${own.name}", 1 more`)
    await owner.delete(`/data-pipelines/${own.id}`).expect(204)
    await stranger.delete(`/data-pipelines/${theirs.id}`).expect(204)
    await owner.delete(`/public-datasets/${key}`).expect(204)
    await owner.get(`/public-datasets/${key}`).expect(404)
    await uploaded(key).expect(201)
  })

  it('that there is not is loaded by no pipeline', async () => {
    const schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body.id
    const body = pipelineBody(schema, { type: 'PUBLIC_DATASET', key: 'no_such_thing' })
    expect(pointers((await owner.post('/data-pipelines').send(body).expect(422)).body)).toEqual(['/key'])
    const tested = await owner.post('/data-pipelines/test-connection').send(body).expect(200)
    expect(tested.body).toMatchObject({ status: 'ERROR', errorCode: 'DATASET_MISSING' })
  })

  it('is answered before it is loaded where nobody waits', async () => {
    const key = newKey()
    const { body } = await uploaded(key, rows, owner, '?wait=0').expect(201)
    expect(body).toMatchObject({ key, name: `About ${key}` })
    await until(async () => (await owner.get(`/public-datasets/${key}`)).body.table?.rowCount === 2)
  })
})

describe('a form', () => {
  const part = (name: string, value: string, file = '') =>
    `--x\r\nContent-Disposition: form-data; name="${name}"${file && `; filename="${file}"`}\r\n\r\n${value}\r\n`
  const head = (key: string) => part('key', key) + part('name', 'a')
  const end = '--x--\r\n'
  const sent = (body: string, type = 'multipart/form-data; boundary=x') =>
    owner.post('/public-datasets?wait=0').set('content-type', type).send(body)

  it.each([
    ['without a file', (key: string) => head(key) + end, ['/file']],
    ['with text for a file', (key: string) => head(key) + part('file', rows) + end, ['/file']],
    ['with a file of another name', (key: string) => head(key) + part('upload', rows, 'a.csv') + end, ['/upload']],
    ['without its fields', () => part('file', rows, 'a.csv') + end, ['/key', '/name']],
    ['with a field twice', (key: string) => head(key) + part('name', 'b') + part('file', rows, 'a') + end, ['/name']],
    [
      'with a huge field',
      (key: string) => head(key) + part('source', 'a'.repeat(70_000)) + part('file', rows, 'a') + end,
      ['/source'],
    ],
    [
      'with an unknown field',
      (key: string) => head(key) + part('__proto__', 'b') + part('file', rows, 'a') + end,
      ['/__proto__'],
    ],
    ['with a key that is none', () => head('../../etc') + part('file', rows, 'a') + end, ['/key']],
    [
      'with a field behind the file',
      (key: string) => head(key) + part('file', rows, 'a') + part('owner', 'b') + end,
      ['/owner'],
    ],
    ['with two files', (key: string) => head(key) + part('file', rows, 'a') + part('file', rows, 'b') + end, ['/']],
  ])('%s is refused, and leaves nothing', async (_what, form, wrong) => {
    const before = await filesOnDisk()
    const key = newKey()
    const answer = await sent(form(key)).expect(400)
    expect(pointers(answer.body)).toEqual(expect.arrayContaining(wrong))
    await owner.get(`/public-datasets/${key}`).expect(404)
    expect(await filesOnDisk()).toEqual(before)
  })

  it('that ends before its end is refused, and leaves nothing', async () => {
    const before = await filesOnDisk()
    for (const cut of [head(newKey()), head(newKey()) + part('file', rows, 'a.csv').slice(0, -10), '--x\r\n', '']) {
      const { status } = await sent(cut)
      expect([cut, status]).toEqual([cut, 400])
    }
    expect(await filesOnDisk()).toEqual(before)
  })

  it('has to be one, in the open', async () => {
    await sent('{}', 'application/json').expect(415)
    await sent('a', 'multipart/form-data').expect(415)
    await sent(head(newKey()) + end, 'multipart/mixed; boundary=x').expect(415)
  })

  it('with an empty file, or one that is too large, is refused', async () => {
    const before = await filesOnDisk()
    await sent(head(newKey()) + part('file', '', 'a.csv') + end).expect(422)
    await sent(head(newKey()) + part('file', 'a\n'.repeat(limit), 'a.csv') + end).expect(413)
    expect(await filesOnDisk()).toEqual(before)
  })

  it('names no place outside of the folder of uploads', async () => {
    const key = newKey()
    await sent(head(key) + part('file', rows, '../../../../tmp/evil\u0007.csv') + end).expect(201)
    const { name } = await service.stack.db
      .selectFrom('uploaded_files as f')
      .innerJoin('public_datasets as d', 'd.pipeline_id', 'f.pipeline_id')
      .select('f.name')
      .where('d.key', '=', key)
      .executeTakeFirstOrThrow()
    expect(name).toBe('evil.csv')
  })

  it('whose sender goes away leaves nothing', async () => {
    const before = await filesOnDisk()
    const key = newKey()
    const asking = request(`${service.url}/api/v1/public-datasets`, {
      method: 'POST',
      headers: { authorization: `Bearer ${librarian.token}`, 'content-type': 'multipart/form-data; boundary=x' },
    })
    asking.on('error', () => {})
    asking.write(head(key) + part('file', rows.repeat(1000), 'a.csv').slice(0, -2))
    await until(async () => (await filesOnDisk()).length > before.length)
    asking.destroy()
    await until(async () => (await filesOnDisk()).length === before.length)
    await owner.get(`/public-datasets/${key}`).expect(404)
  })

  it('is streamed: an answer comes though the file never ends', async () => {
    const asking = request(`${service.url}/api/v1/public-datasets`, {
      method: 'POST',
      headers: { authorization: `Bearer ${librarian.token}`, 'content-type': 'multipart/form-data; boundary=x' },
    })
    const answer = new Promise<any>((resolve, reject) => {
      asking.once('error', reject)
      asking.once('response', (response: IncomingMessage) => {
        json(response).then(resolve, reject)
      })
    })
    asking.write(part('key', 'No Key') + part('file', rows, 'a.csv').slice(0, -2))
    expect(pointers(await answer)).toEqual(expect.arrayContaining(['/key', '/name']))
    asking.destroy()
  })
})
