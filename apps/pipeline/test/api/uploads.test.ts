import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { request, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import type { Response } from 'supertest'
import type { Transaction } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { DB } from '../../src/database.ts'
import type { JobQueue } from '../../src/queue/job-queue.ts'
import { queueRun } from '../../src/runs/queue-run.ts'
import { makeWorkbook } from '@sluice/file-formats/testing/make-workbook'
import { until } from '@sluice/testing/wait-until'
import type { Person } from '../join-shared-identity-service.ts'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from './app-under-test.ts'

const limit = 1_000_000
const workbook = makeWorkbook({
  sheets: { Cover: '', Data: '<row><c t="str"><v>id</v></c></row><row><c><v>1</v></c></row>' },
})

let service: Service
let person: Person
let owner: Asking
let schema: string
beforeAll(async () => {
  service = await startService({ uploadLimit: limit })
  const { id } = await service.identity.client()
  person = await service.identity.person(id, [
    'ROLE_MANAGE_SCHEMA',
    'ROLE_MANAGE_DATA_PIPELINE',
    'ROLE_MANAGE_VARIABLE',
  ])
  owner = service.as(person)
  schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body.id
})
afterAll(() => service?.stop())

const newPipeline = async (changes = {}): Promise<string> =>
  (await owner.post('/data-pipelines').send(pipelineBody(schema, changes)).expect(201)).body.id
const filesOnDisk = () => readdir(join(service.stack.filesDirectory, 'uploads'))
const fileOf = async (uid: string) => (await owner.get(`/data-pipelines/${uid}`).expect(200)).body.file
const csv = (asking: Asking, uid: string, content: string | Buffer, query = '') =>
  asking
    .post(`/data-pipelines/${uid}/file${query}`)
    .type('text/csv')
    .serialize((sent) => sent as string)
    .send(content as string)

/** A request whose body is sent in pieces, as the test likes. */
function opened(uid: string, headers: Record<string, string | number> = {}, token = person.token) {
  const sent = request(`${service.url}/api/v1/data-pipelines/${uid}/file`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'text/csv', ...headers },
  })
  const answer = new Promise<{ status: number; body: any }>((resolve, reject) => {
    sent.once('error', reject)
    sent.once('response', (response: IncomingMessage) => {
      text(response).then((body) => resolve({ status: response.statusCode!, body: JSON.parse(body) }), reject)
    })
  })
  answer.catch(() => {})
  return { sent, answer }
}

describe('an upload', () => {
  it('is stored byte for byte, also without Content-Length, and named upload.csv by default', async () => {
    const uid = await newPipeline()
    const content = Buffer.from(`a\n${`${randomBytes(49).toString('hex')}\n`.repeat(3_100)}`).subarray(0, 300_000)
    const { sent, answer } = opened(uid)
    for (let at = 0; at < content.length; at += 50_000) sent.write(content.subarray(at, at + 50_000))
    sent.end()
    const { status, body } = await answer
    const sha256 = createHash('sha256').update(content).digest('hex')
    expect([status, body]).toEqual([
      200,
      { name: 'upload.csv', size: 300_000, sha256, uploaded: expect.any(String), uploadedBy: person.username },
    ])
    expect(await fileOf(uid)).toEqual(body)
    const { uid: stored } = await service.stack.db
      .selectFrom('uploaded_files')
      .select('uid')
      .where('sha256', '=', sha256)
      .executeTakeFirstOrThrow()
    expect((await readFile(join(service.stack.filesDirectory, 'uploads', stored))).equals(content)).toBe(true)
  })

  it('is deleted from disk with its pipeline, as are the files of its runs', async () => {
    const uid = await newPipeline()
    const before = await filesOnDisk()
    await csv(owner, uid, 'a\n1\n').expect(200)
    const { id, client } = await service.stack.db
      .selectFrom('data_pipelines')
      .select(['id', 'client'])
      .where('uid', '=', uid)
      .executeTakeFirstOrThrow()
    const read = { uid: randomUUID(), name: 'retained.csv', size: 2 }
    await writeFile(join(service.stack.filesDirectory, 'uploads', read.uid), 'a\n')
    await service.stack.run({ id, client, schema: '', table: '' }, { file: read })
    await service.stack.db.updateTable('runs').set({ state: 'OK' }).where('runnable_id', '=', id).execute()
    expect((await filesOnDisk()).length).toBe(before.length + 2)
    await owner.delete(`/data-pipelines/${uid}`).expect(204)
    expect((await filesOnDisk()).toSorted()).toEqual(before.toSorted())
  })

  it('accepts any file name without using it as a path, and refuses names that are too long or contain NUL', async () => {
    const uid = await newPipeline()
    const before = await filesOnDisk()
    const name = '../../etc/pass"wd\r\nX: y ü.csv'
    const { body } = await csv(owner, uid, 'a\n1\n', `?name=${encodeURIComponent(name)}`).expect(200)
    expect(body.name).toBe(name)
    const added = (await filesOnDisk()).filter((file) => !before.includes(file))
    expect(added).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/)])
    await csv(owner, uid, 'a\n', `?name=${'x'.repeat(256)}`).expect(400)
    await csv(owner, uid, 'a\n', '?name=a%00b').expect(400)
  })

  it('replaces the previous file; of concurrent uploads one file remains', async () => {
    const uid = await newPipeline()
    await csv(owner, uid, 'a\n1\n').expect(200)
    const contents = ['a\n2\n', 'a\n22\n', 'a\n222\n']
    const answers = await Promise.all(contents.map((content) => csv(owner, uid, content)))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    const file = await fileOf(uid)
    expect(contents.map((content) => content.length)).toContain(file.size)
  })

  it('keeps its file if the connection is lost during COMMIT', async () => {
    const uid = await newPipeline()
    await csv(owner, uid, 'a\n1\n').expect(200)
    service.databaseGate.loseAnswer({ first: 'insert into "uploaded_files"', last: 'commit' })
    const content = 'a\n2\n3\n'
    const { status } = await csv(owner, uid, content)
    expect(status).toBe(503)
    const { uid: stored, size } = await service.stack.db
      .selectFrom('uploaded_files as f')
      .innerJoin('data_pipelines as p', 'p.id', 'f.pipeline_id')
      .select(['f.uid', 'f.size'])
      .where('p.uid', '=', uid)
      .executeTakeFirstOrThrow()
    expect(size).toBe(content.length)
    expect(await readFile(join(service.stack.filesDirectory, 'uploads', stored), 'utf8')).toBe(content)
  })

  it('that its settings cannot read is stored, and the response says that a run would fail', async () => {
    const uid = await newPipeline({ csvOptions: { rowsUnder: 'rows' } })
    const { body } = await csv(owner, uid, '{"other":[{"a":1}]}').expect(200)
    expect(body.mismatch).toMatch(/^A run would fail: .*under the key rows/)
    expect((await csv(owner, uid, '{"rows":[{"a":1}]}').expect(200)).body).not.toHaveProperty('mismatch')
  })

  it.each([
    ['skipLines', { skipLines: 10 }, 'a\n1\n', /skipLines/],
    ['rowsUnder', {}, '{"rows":[]}', /rowsUnder/],
    ['sheet', { sheet: 'Cover' }, workbook, /Sheets with rows: "Data"/],
  ])(
    'without rows because of %s is stored, and the response names the setting',
    async (_what, csvOptions, content, why) => {
      const uid = await newPipeline({ csvOptions })
      const { body } = await csv(owner, uid, content).expect(200)
      expect(body.mismatch).toMatch(/^A run would fail: /)
      expect(body.mismatch).toMatch(why)
    },
  )

  it('is checked with the settings that are stored when its body is complete', async () => {
    const uid = await newPipeline()
    const { sent, answer } = opened(uid)
    sent.write('{"other":[{"a":1}')
    await until(async () => (await filesOnDisk()).some((name) => name.endsWith('.partial')))
    const { body: pipeline } = await owner.get(`/data-pipelines/${uid}`).expect(200)
    await owner
      .put(`/data-pipelines/${uid}`)
      .send({ ...pipeline, csvOptions: { rowsUnder: 'rows' } })
      .expect(200)
    sent.end(']}')
    expect((await answer).body.mismatch).toMatch(/under the key rows/)
  })

  it('waits for a run that is being queued, and keeps the file of that run', async () => {
    const uid = await newPipeline()
    await csv(owner, uid, 'a\n1\n').expect(200)
    const { db } = service.stack
    const { id, client, file } = await db
      .selectFrom('uploaded_files as f')
      .innerJoin('data_pipelines as p', 'p.id', 'f.pipeline_id')
      .select(['p.id', 'p.client', 'f.uid as file'])
      .where('p.uid', '=', uid)
      .executeTakeFirstOrThrow()
    const noQueue = { send: async () => {} } as unknown as JobQueue
    const queue = (trx: Transaction<DB>) =>
      queueRun(trx, noQueue, { id, client, kind: 'DATA_PIPELINE' }, { trigger: 'SCHEDULE', createdBy: null })
    let answer: Promise<Response> | undefined
    await db.transaction().execute(async (trx) => {
      await queue(trx)
      answer = csv(owner, uid, 'a\n2\n').then((response) => response)
      await Promise.race([answer, setTimeout(1_500)])
    })
    expect((await answer)?.status).toBe(200)
    expect(await filesOnDisk()).toContain(file)
  })

  it('returns 412 if If-Match does not name the version of the pipeline', async () => {
    const uid = await newPipeline()
    const { headers } = await owner.get(`/data-pipelines/${uid}`).expect(200)
    await csv(owner, uid, 'a\n1\n').set('If-Match', '"999"').expect(412)
    await csv(owner, uid, 'a\n1\n').set('If-Match', headers['etag']!).expect(200)
  })
})

describe('a refused upload', () => {
  let uid: string
  let before: string[]
  let file: object
  beforeAll(async () => {
    uid = await newPipeline()
    file = (await csv(owner, uid, 'old\n1\n').expect(200)).body
    before = await filesOnDisk()
  })
  /** Nothing is left behind, and the old file is as it was. */
  const untouched = async () => {
    expect(await filesOnDisk()).toEqual(before)
    expect(await fileOf(uid)).toEqual(file)
  }

  it('returns 413 above the size limit, before or while the body is read, and stores nothing', async () => {
    const announced = opened(uid, { 'content-length': limit + 1 })
    announced.sent.flushHeaders()
    const early = await announced.answer
    expect(early).toMatchObject({
      status: 413,
      body: { code: 'too-large', detail: 'The limit is 1000000 bytes. Send a smaller body.' },
    })
    announced.sent.destroy()

    const chunked = opened(uid)
    for (let more = 0; more < 30; more += 1) chunked.sent.write(Buffer.alloc(100_000, 'a'))
    chunked.sent.end()
    expect(await chunked.answer).toMatchObject({ status: 413, body: { code: 'too-large' } })
    await untouched()
  })

  it('returns 422 if the file is empty', async () => {
    const { body } = await csv(owner, uid, '').expect(422)
    expect(body).toMatchObject({ code: 'refused', detail: 'The file is empty.' })
    await untouched()
  })

  it.each([
    ['a PDF', '%PDF-1.7\n', /is a PDF document/],
    ['an HTML page', '<!DOCTYPE html><title>502</title>', /is a web page/],
    ['a damaged archive', 'PK\u0003\u0004 no workbook', /./],
    ['truncated JSON', '[{"a":1},{"a":', /./],
    ['only line breaks', '\n\n', /is empty/],
  ])('returns 422 with the reason for %s', async (_what, content, why) => {
    const { body } = await csv(owner, uid, content, '?name=stock.csv').expect(422)
    expect(body).toMatchObject({ code: 'source-unreadable', detail: expect.stringMatching(why) })
    expect(body.detail).toMatch(/The upload was discarded; any earlier file stays\.$/)
    await untouched()
  })

  it('returns an error about its content even if its settings use a variable', async () => {
    await owner.post('/variables').send({ name: 'sheet', secured: true, value: 'Stock' }).expect(201)
    const csvOptions = { sheet: '${sheet}' }
    const { body: other } = await owner.post('/data-pipelines').send(pipelineBody(schema, { csvOptions })).expect(201)
    const { body } = await csv(owner, other.id, '%PDF-1.7\n', '?name=stock.csv').expect(422)
    expect(body).toMatchObject({ code: 'source-unreadable', detail: expect.stringMatching(/is a PDF document/) })
  })

  it.each([
    ['application/json', {}],
    ['Application/JSON; charset=utf-8', {}],
    ['multipart/form-data; boundary=x', {}],
    ['text/csv', { 'Content-Encoding': 'br' }],
    ['text/csv', { 'Content-Encoding': 'gzip, gzip' }],
  ])('returns 415 with the accepted types and encodings for %s %j', async (type, headers) => {
    const { body } = await owner
      .post(`/data-pipelines/${uid}/file`)
      .set({ 'Content-Type': type, ...headers })
      .send('{"a":1}')
      .expect(415)
    expect(body).toMatchObject({ code: 'unsupported-media-type', detail: expect.stringMatching(/^Send it (as|with) /) })
    await untouched()
  })

  it('stores nothing if the connection is closed', async () => {
    const broken = opened(uid)
    broken.sent.write(Buffer.alloc(200_000, 'a'))
    await until(async () => (await filesOnDisk()).some((name) => name.endsWith('.partial')))
    broken.sent.destroy()
    await until(async () => !(await filesOnDisk()).some((name) => name.endsWith('.partial')))
    const short = opened(uid, { 'content-length': 500_000 })
    short.sent.write(Buffer.alloc(200_000, 'a'))
    await until(async () => (await filesOnDisk()).some((name) => name.endsWith('.partial')))
    short.sent.destroy()
    await until(async () => !(await filesOnDisk()).some((name) => name.endsWith('.partial')))
    await untouched()
  })

  it('returns 403 with read access only, before the body is read', async () => {
    const access = { publicAccess: 'READ', userAccess: [], userGroupAccess: [] }
    await owner.put(`/data-pipelines/${uid}/access`).send(access).expect(200)
    const reader = await service.identity.person(person.client, ['ROLE_MANAGE_DATA_PIPELINE'])
    const { sent, answer } = opened(uid, { 'content-length': 500_000 }, reader.token)
    sent.flushHeaders()
    expect(await answer).toMatchObject({ status: 403, body: { detail: expect.stringContaining('reading only') } })
    sent.destroy()
    await untouched()
  })
})
