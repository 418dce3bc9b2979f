import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdir, readFile, stat } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import * as tusClient from 'tus-js-client'
import { until } from '@sluice/testing/wait-until'
import { removeExpiredUploads } from '../../src/worker/maintenance/remove-unused-files.ts'
import type { Person } from '../join-shared-identity-service.ts'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from './app-under-test.ts'
import { startGate, type Gate } from './interruptible-proxy.ts'
import { named, tusRequests } from './tus-requests.ts'

/** 3 MB, more than what connections and streams buffer. */
const content = `day,cases\n${'2026-01-31,12\n'.repeat(214_000)}`
const digest = createHash('sha256').update(content).digest('hex')
const folder = () => join(service.stack.filesDirectory, 'uploads')

let service: Service
/** A second process of the API, with the same database and folder. */
let second: Awaited<ReturnType<Service['serve']>>
let gate: Gate
let person: Person
let owner: Asking
let schema: string
beforeAll(async () => {
  service = await startService({ uploadLimit: 10_000_000 })
  second = await service.serve()
  gate = await startGate(Number(new URL(service.url).port))
  const { id } = await service.identity.client()
  person = await service.identity.person(id, ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE'])
  owner = service.as(person)
  schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body.id
})
afterAll(async () => {
  await gate?.shut()
  await second?.close()
  await service?.stop()
})
afterEach(() => gate.open())

const newPipeline = async (changes = {}): Promise<string> =>
  (await owner.post('/data-pipelines').send(pipelineBody(schema, changes)).expect(201)).body.id
const fileOf = async (uid: string) => (await owner.get(`/data-pipelines/${uid}`).expect(200)).body.file
const tusOf = (pipeline: string, token = person.token, url = service.url) => tusRequests(url, token, pipeline)
const idOf = (address: string) => address.slice(address.lastIndexOf('/') + 1)
const uploadRow = (address: string) =>
  service.stack.db.selectFrom('resumable_uploads').selectAll().where('uid', '=', idOf(address)).executeTakeFirst()

/** An upload of tus-js-client through the gate, and its result. */
function clientUpload(pipeline: string, options: Partial<tusClient.UploadOptions> = {}) {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const upload = new tusClient.Upload(Buffer.from(content), {
    endpoint: `http://127.0.0.1:${gate.port}/api/v1/data-pipelines/${pipeline}/uploads`,
    headers: { authorization: `Bearer ${person.token}` },
    metadata: { filename: 'days.csv' },
    retryDelays: [50, 50, 50],
    onSuccess: () => resolve(),
    onError: reject,
    ...options,
  })
  return { upload, ended: promise }
}

/** Sends some bytes of a request whose body stays open. */
async function openAppend(address: string, bytes: string, { token = person.token } = {}) {
  const sent = request(address, {
    method: 'PATCH',
    headers: {
      authorization: `Bearer ${token}`,
      'tus-resumable': '1.0.0',
      'upload-offset': '0',
      'content-type': 'application/offset+octet-stream',
      'content-length': String(content.length),
    },
  })
  const answered = once(sent, 'response').then(([response]) => response)
  answered.catch(() => {})
  sent.write(bytes)
  const path = join(folder(), idOf(address))
  await until(async () => ((await stat(path).catch(() => undefined))?.size ?? 0) >= bytes.length)
  return { sent, answered }
}

describe('tus-js-client', () => {
  it('uploads a file in parts, which replaces the earlier one, is audited and loaded as a plain upload', async () => {
    const pipeline = await newPipeline()
    await owner.post(`/data-pipelines/${pipeline}/file`).type('text/csv').send('old\n1\n').expect(200)
    const before = (await readdir(folder())).length
    const sizes: number[] = []
    const { upload, ended } = clientUpload(pipeline, {
      chunkSize: 1_000_000,
      onChunkComplete: (_size, accepted) => sizes.push(accepted),
    })
    upload.start()
    await ended
    expect(sizes).toEqual([1_000_000, 2_000_000, content.length])
    const file = {
      name: 'days.csv',
      size: content.length,
      sha256: digest,
      uploaded: expect.any(String),
      uploadedBy: person.username,
    }
    expect(await fileOf(pipeline)).toEqual(file)
    expect((await tusOf(pipeline).read(upload.url!)).body).toMatchObject({ received: content.length, file })
    expect(await readFile(join(folder(), idOf(upload.url!)), 'utf8')).toBe(content)
    expect((await readdir(folder())).length).toBe(before)
    await owner.post(`/data-pipelines/${pipeline}/run`).expect(202)
    const { input } = await service.stack.db
      .selectFrom('runs')
      .select('input')
      .where('input', '@>', JSON.stringify({ file: { uid: idOf(upload.url!) } }) as never)
      .executeTakeFirstOrThrow()
    expect(input).toMatchObject({ file: { name: 'days.csv', size: content.length } })
    const audits = await service.stack.db
      .selectFrom('audit')
      .select(['operation', 'actor', 'details'])
      .where('object', '=', pipeline)
      .where('operation', 'like', '%pload%')
      .orderBy('id')
      .execute()
    const [uid, name, size] = [idOf(upload.url!), 'days.csv', content.length]
    expect(audits).toEqual([
      { operation: 'dataPipelines.upload', actor: person.id, details: { file: expect.anything() } },
      { operation: 'resumableUploads.create', actor: person.id, details: { upload: { uid, name, length: size } } },
      {
        operation: 'resumableUploads.append',
        actor: person.id,
        details: { file: { uid, name, size, sha256: digest } },
      },
    ])
  })

  it('continues after connections that were cut, and sends no byte again that was stored', async () => {
    const pipeline = await newPipeline()
    const offsets: number[] = []
    let cuts = 0
    const { upload, ended } = clientUpload(pipeline, {
      chunkSize: 500_000,
      onChunkComplete(_size, accepted) {
        if (cuts >= 2) return
        cuts += 1
        offsets.push(accepted)
        void gate.shut().then(() => gate.open())
      },
      onAfterResponse(sent, answer) {
        if (sent.getMethod() === 'HEAD') offsets.push(Number(answer.getHeader('upload-offset')))
      },
    })
    upload.start()
    await ended
    expect(cuts).toBe(2)
    expect(offsets).toEqual(offsets.toSorted((a, b) => a - b))
    expect(await fileOf(pipeline)).toMatchObject({ size: content.length, sha256: digest })
  })

  it('continues an upload of an earlier process at another API process, and deletes one', async () => {
    const pipeline = await newPipeline()
    const first = clientUpload(pipeline, {
      chunkSize: 1_000_000,
      onChunkComplete: () => void first.upload.abort(),
    })
    first.upload.start()
    await until(async () => first.upload.url !== null && (await uploadRow(first.upload.url))?.received === 1_000_000)
    const uploadUrl = first.upload.url!.replace(/^http:\/\/[^/]+/, second.url)
    const next = clientUpload(pipeline, { endpoint: null, uploadUrl })
    next.upload.start()
    await next.ended
    expect(await fileOf(pipeline)).toMatchObject({ sha256: digest })

    const other = clientUpload(pipeline, { chunkSize: 1_000_000, onChunkComplete: () => void other.upload.abort(true) })
    other.upload.start()
    await until(async () => other.upload.url !== null && (await uploadRow(other.upload.url)) === undefined)
    await until(async () => !(await readdir(folder())).includes(idOf(other.upload.url!)))
    expect(await fileOf(pipeline)).toMatchObject({ sha256: digest })
  })
})

describe('an upload', () => {
  it('can be continued where a lost connection ended, also within one request', async () => {
    const pipeline = await newPipeline()
    const tus = tusOf(pipeline)
    const address = await tus.address(content.length, named('days.csv'))
    const { sent } = await openAppend(address, content.slice(0, 1_234_567))
    sent.destroy()
    await until(async () => (await uploadRow(address))?.lease === null)
    const { headers } = await tus.head(address)
    const offset = Number(headers.get('upload-offset'))
    expect(offset).toBeGreaterThan(1_000_000)
    expect((await tus.append(address, offset, content.slice(offset))).status).toBe(204)
    expect(await fileOf(pipeline)).toMatchObject({ sha256: digest })
  })

  it('is taken over by HEAD at another process from a request whose client is silent', async () => {
    const tus = tusOf(await newPipeline())
    const address = await tus.address(content.length)
    const half = 1_500_000
    const { answered } = await openAppend(address, content.slice(0, half))
    // GET only reads.
    expect((await tus.read(address)).status).toBe(200)
    const there = tusOf('', person.token, second.url)
    const { status, headers } = await there.head(address.replace(service.url, second.url))
    expect([status, headers.get('upload-offset')]).toEqual([200, String(half)])
    const response = await answered
    expect([response.statusCode, response.headers['upload-offset']]).toEqual([204, String(half)])
    expect((await tus.append(address, half, content.slice(half))).status).toBe(204)
  })

  it('accepts the bytes of one of two concurrent requests at the same offset, in two processes', async () => {
    const pipeline = await newPipeline()
    const tus = tusOf(pipeline)
    const text = 'a,b\n1,2\n'
    for (let round = 0; round < 3; round += 1) {
      const address = await tus.address(text.length)
      const answers = await Promise.all(
        [service.url, second.url].map((url) => tus.append(address.replace(service.url, url), 0, text)),
      )
      expect(answers.map(({ status }) => status).toSorted()).toEqual([204, 409])
      expect((await tus.read(address)).body).toMatchObject({ received: text.length })
    }
  })

  it('that a crash left complete but unfinished is finished when its last byte is sent again', async () => {
    const pipeline = await newPipeline()
    const tus = tusOf(pipeline)
    const address = await tus.address(content.length)
    // The answer to the COMMIT is lost: the process knows as little as after a crash.
    service.databaseGate.loseAnswer({ first: 'delete from "uploaded_files"', last: 'insert into "uploaded_files"' })
    const broken = await tus.append(address, 0, content)
    expect(broken.status).toBe(503)
    expect(await fileOf(pipeline)).toBeUndefined()
    const offset = Number((await tus.head(address)).headers.get('upload-offset'))
    expect(offset).toBe(content.length - 1)
    expect((await tus.append(address, offset, content.slice(offset))).status).toBe(204)
    expect(await fileOf(pipeline)).toMatchObject({ sha256: digest })
  })

  it('that was finished although its last response was lost is finished for the client, once', async () => {
    const pipeline = await newPipeline()
    const tus = tusOf(pipeline)
    const address = await tus.address(content.length)
    service.databaseGate.loseAnswer({ first: 'insert into "uploaded_files"', last: 'commit' })
    expect((await tus.append(address, 0, content)).status).toBe(503)
    const file = await fileOf(pipeline)
    expect(file).toMatchObject({ sha256: digest })
    const { headers } = await tus.head(address)
    expect(headers.get('upload-offset')).toBe(String(content.length))
    expect((await tus.append(address, content.length, '')).status).toBe(204)
    expect((await tus.read(address)).body.file).toEqual(file)
    expect(await fileOf(pipeline)).toEqual(file)
    // The stored file is the pipeline's: deleting the upload leaves it.
    expect((await tus.remove(address)).status).toBe(204)
    expect(await readdir(folder())).toContain(idOf(address))
  })

  it('whose process died in the middle continues at the last stored byte, after its lease has ended', async () => {
    const pipeline = await newPipeline()
    const tus = tusOf(pipeline)
    const address = await tus.address(content.length)
    const half = 1_000_000
    expect((await tus.append(address, 0, content.slice(0, half))).headers.get('upload-offset')).toBe(String(half))
    // A killed process leaves a lease that it does not renew, and bytes whose position was not stored.
    await service.stack.db
      .updateTable('resumable_uploads')
      .set({
        lease: '00000000-0000-4000-8000-000000000001',
        leased_until: new Date(Date.now() + 1_000),
        received: half / 2,
      })
      .where('uid', '=', idOf(address))
      .execute()
    const { headers } = await tus.head(address)
    expect(headers.get('upload-offset')).toBe(String(half / 2))
    expect((await tus.append(address, half / 2, content.slice(half / 2))).status).toBe(204)
    expect(await fileOf(pipeline)).toMatchObject({ sha256: digest })
  })

  it('that no setting makes readable is refused and removed, and the earlier file stays', async () => {
    const pipeline = await newPipeline()
    await owner.post(`/data-pipelines/${pipeline}/file`).type('text/csv').send('old\n1\n').expect(200)
    const before = await readdir(folder())
    const tus = tusOf(pipeline)
    const address = await tus.address(9)
    const { status, body } = await tus.append(address, 0, '%PDF-1.7\n')
    expect([status, body.code, body.detail]).toEqual([
      422,
      'source-unreadable',
      expect.stringMatching(/is a PDF document.* The upload was discarded; any earlier file stays\.$/),
    ])
    expect((await tus.head(address)).status).toBe(404)
    expect(await readdir(folder())).toEqual(before)
    expect((await fileOf(pipeline)).size).toBe(6)
  })

  it('reports in its result how the file differs, as the response to a plain upload does', async () => {
    const tus = tusOf(await newPipeline({ csvOptions: { rowsUnder: 'rows' } }))
    const text = '{"other":[{"a":1}]}'
    const address = await tus.address(text.length)
    expect((await tus.append(address, 0, text)).status).toBe(204)
    expect((await tus.read(address)).body.file.mismatch).toMatch(/^A run would fail: .*under the key rows/)
  })
})

describe('an upload of another user', () => {
  /** An upload of `person` to a pipeline that a colleague may write, until `share` changes that. */
  async function sharedUpload() {
    const pipeline = await newPipeline()
    const share = (publicAccess: string) =>
      owner
        .put(`/data-pipelines/${pipeline}/access`)
        .send({ publicAccess, userAccess: [], userGroupAccess: [] })
        .expect(200)
    await share('READ_WRITE')
    const colleague = await service.identity.person(person.client, ['ROLE_MANAGE_DATA_PIPELINE'])
    return { pipeline, address: await tusOf(pipeline).address(10), colleague, share }
  }

  it('cannot be read or continued, nor deleted from another organisation or at another pipeline', async () => {
    const { pipeline, address, colleague } = await sharedUpload()
    const { id } = await service.identity.client()
    const stranger = await service.identity.person(id, ['ROLE_MANAGE_DATA_PIPELINE'])
    const elsewhere = `${tusOf(await newPipeline()).uploads}/${idOf(address)}`
    for (const [{ token }, place] of [
      [colleague, address],
      [stranger, address],
      [person, elsewhere],
    ] as const) {
      const tus = tusOf(pipeline, token)
      const answers = [tus.head(place), tus.append(place, 0, 'x'), tus.read(place)]
      if (token !== colleague.token) answers.push(tus.remove(place))
      for (const { status } of await Promise.all(answers)) expect(status).toBe(404)
    }
    await service.as(stranger).get(`/data-pipelines/${pipeline}/uploads`).expect(404)
    expect(await uploadRow(address)).toMatchObject({ received: 0 })
  })

  it('is listed with its user, and deleted, by a colleague who may write the pipeline, but not by one who may read it', async () => {
    const { pipeline, address, colleague, share } = await sharedUpload()
    const tus = tusOf(pipeline, colleague.token)
    expect((await tusOf(pipeline).append(address, 0, 'a,b\n')).status).toBe(204)
    await share('READ')
    expect((await tus.remove(address)).status).toBe(403)
    await service.as(colleague).get(`/data-pipelines/${pipeline}/uploads`).expect(403)
    await share('READ_WRITE')
    expect((await service.as(colleague).get(`/data-pipelines/${pipeline}/uploads`).expect(200)).body).toMatchObject([
      { id: idOf(address), received: 4, length: 10, createdBy: person.username },
    ])
    expect((await tus.remove(address)).status).toBe(204)
    expect(await uploadRow(address)).toBeUndefined()
    expect(await readdir(folder())).not.toContain(idOf(address))
  })
})

describe('a user who loses their right in the middle', () => {
  it('can neither continue nor finish, and the pipeline keeps its file', async () => {
    const pipeline = await newPipeline()
    const write = { publicAccess: 'READ_WRITE', userAccess: [], userGroupAccess: [] }
    await owner.put(`/data-pipelines/${pipeline}/access`).send(write).expect(200)
    const colleague = await service.identity.person(person.client, ['ROLE_MANAGE_DATA_PIPELINE'])
    const tus = tusOf(pipeline, colleague.token)
    const address = await tus.address(8)
    expect((await tus.append(address, 0, 'a,b\n')).status).toBe(204)
    await owner
      .put(`/data-pipelines/${pipeline}/access`)
      .send({ ...write, publicAccess: 'READ' })
      .expect(200)
    expect((await tus.append(address, 4, '1,2\n')).status).toBe(403)
    expect((await tus.head(address)).status).toBe(403)
    expect((await tus.remove(address)).status).toBe(403)
    await owner.put(`/data-pipelines/${pipeline}/access`).send(write).expect(200)

    await service.identity.deactivate(colleague)
    const third = await service.serve()
    try {
      const there = address.replace(service.url, third.url)
      const answers = [tus.head(there), tus.append(there, 4, '1,2\n'), tus.remove(there)]
      expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([401, 401, 401])
    } finally {
      await third.close()
    }
    expect(await fileOf(pipeline)).toBeUndefined()
  })

  it('cannot finish with a request that began before', async () => {
    const pipeline = await newPipeline()
    const write = { publicAccess: 'READ_WRITE', userAccess: [], userGroupAccess: [] }
    await owner.put(`/data-pipelines/${pipeline}/access`).send(write).expect(200)
    const { token } = await service.identity.person(person.client, ['ROLE_MANAGE_DATA_PIPELINE'])
    const address = await tusOf(pipeline, token).address(content.length)
    const { sent, answered } = await openAppend(address, content.slice(0, 1_000_000), { token })
    await owner
      .put(`/data-pipelines/${pipeline}/access`)
      .send({ ...write, publicAccess: 'READ' })
      .expect(200)
    sent.end(content.slice(1_000_000))
    expect((await answered).statusCode).toBe(403)
    expect(await fileOf(pipeline)).toBeUndefined()
    expect(await uploadRow(address)).toMatchObject({ received: content.length - 1, finished_at: null, lease: null })
  })
})

describe('the files limit', () => {
  it('counts the announced bytes of unfinished uploads, until they are deleted', async () => {
    const small = await service.serve({ clientLimit: 1_000 })
    try {
      const { id } = await service.identity.client()
      const one = await service.identity.person(id, ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE'])
      const asking = service.as(one)
      const place = (await asking.post('/schemas').send(schemaBody()).expect(201)).body.id
      const pipeline = (await asking.post('/data-pipelines').send(pipelineBody(place)).expect(201)).body.id
      const tus = tusOf(pipeline, one.token, small.url)
      const address = await tus.address(900)
      const refused = await tus.create(200)
      expect([refused.status, refused.body.code]).toEqual([422, 'files-limit-reached'])
      const plain = (text: string) =>
        fetch(`${small.url}/api/v1/data-pipelines/${pipeline}/file`, {
          method: 'POST',
          headers: { authorization: `Bearer ${one.token}`, 'content-type': 'text/csv' },
          body: text,
        })
      expect((await plain('x'.repeat(200))).status).toBe(422)
      expect((await plain('x\n'.repeat(40))).status).toBe(200)
      expect((await tus.remove(address)).status).toBe(204)
      const again = await tus.address(900)
      expect((await tus.append(again, 0, `a\n${'1\n'.repeat(449)}`)).status).toBe(204)
      expect((await tus.create(101)).status).toBe(422)
      expect((await tus.create(99)).status).toBe(201)
    } finally {
      await small.close()
    }
  })
})

describe('an expired upload', () => {
  it('is refused with 410, and maintenance removes it with its bytes, but not the file of a finished one', async () => {
    const pipeline = await newPipeline()
    const tus = tusOf(pipeline)
    const [expired, finished, running] = [await tus.address(8), await tus.address(8), await tus.address(8)]
    expect((await tus.append(expired, 0, 'a,b\n')).status).toBe(204)
    expect((await tus.append(running, 0, 'a,b\n')).status).toBe(204)
    expect((await tus.append(finished, 0, 'a,b\n1,2\n')).status).toBe(204)
    await service.stack.db
      .updateTable('resumable_uploads')
      .set({ touched_at: new Date(Date.now() - 73 * 3_600_000) })
      .where('uid', 'in', [expired, finished].map(idOf))
      .execute()
    expect((await tus.append(expired, 4, '1,2\n')).status).toBe(410)
    expect((await tus.head(expired)).status).toBe(410)
    const { db, filesDirectory } = service.stack
    const job = removeExpiredUploads({ db, filesDirectory })
    expect(await job.run(new AbortController().signal)).toBe(2)
    expect((await tus.head(expired)).status).toBe(404)
    const files = await readdir(folder())
    expect([expired, finished, running].map((one) => files.includes(idOf(one)))).toEqual([false, true, true])
    expect((await tus.append(running, 4, '1,2\n')).status).toBe(204)
  })
})

describe('a deleted pipeline', () => {
  it('takes its uploads and their bytes with it, also while bytes arrive', async () => {
    const pipeline = await newPipeline()
    const tus = tusOf(pipeline)
    const address = await tus.address(content.length)
    const { sent, answered } = await openAppend(address, content.slice(0, 1_000_000))
    await owner.delete(`/data-pipelines/${pipeline}`).expect(204)
    expect((await answered).statusCode).toBe(423)
    sent.destroy()
    expect(await uploadRow(address)).toBeUndefined()
    expect(await readdir(folder())).not.toContain(idOf(address))
    expect((await tus.head(address)).status).toBe(404)
  })
})
