import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Person } from '../join-shared-identity-service.ts'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from './app-under-test.ts'

const limit = 1_000_000
const compress = { gzip: (text: string) => gzipSync(text), zstd: (text: string) => zstdCompressSync(text) }

let service: Service
let person: Person
let owner: Asking
let schema: string
beforeAll(async () => {
  service = await startService({ uploadLimit: limit })
  const { id } = await service.identity.client({ domain: 'PUBLIC_DATASET_CATALOG' })
  person = await service.identity.person(id, [
    'ROLE_MANAGE_SCHEMA',
    'ROLE_MANAGE_DATA_PIPELINE',
    'ROLE_MANAGE_PUBLIC_DATASET_CATALOG',
  ])
  owner = service.as(person)
  schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body.id
})
afterAll(() => service?.stop())

const newPipeline = async (): Promise<string> =>
  (await owner.post('/data-pipelines').send(pipelineBody(schema)).expect(201)).body.id
const filesOnDisk = async () => (await readdir(join(service.stack.filesDirectory, 'uploads'))).toSorted()
const send = (path: string, encoding: string, body: Buffer | ReadableStream, headers = {}) =>
  fetch(`${service.url}/api/v1${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${person.token}`,
      'content-type': 'text/csv',
      'content-encoding': encoding,
      ...headers,
    },
    body,
    duplex: 'half',
  } as RequestInit)

const readProblem = async (answer: Response) => (await answer.json()) as { code: string; detail: string }

describe.each(['gzip', 'zstd'] as const)('an upload with Content-Encoding: %s', (encoding) => {
  const text = 'day,cases\n2026-01-31,12\n'.repeat(20_000)

  it('is stored decoded, with the size and digest of the decoded bytes, with and without Content-Length', async () => {
    const uid = await newPipeline()
    const packed = compress[encoding](text)
    const sha256 = createHash('sha256').update(text).digest('hex')
    for (const body of [packed, new Blob([packed]).stream()]) {
      const answer = await send(`/data-pipelines/${uid}/file?name=days.csv`, encoding, body)
      expect(answer.status).toBe(200)
      expect(await answer.json()).toMatchObject({ name: 'days.csv', size: text.length, sha256 })
    }
    const { uid: stored } = await service.stack.db
      .selectFrom('uploaded_files')
      .select('uid')
      .where('sha256', '=', sha256)
      .executeTakeFirstOrThrow()
    expect(await readFile(join(service.stack.filesDirectory, 'uploads', stored), 'utf8')).toBe(text)
    expect(await service.stack.db.selectFrom('running_uploads').select('uid').execute()).toEqual([])
  })

  it('is refused with a reason if it is truncated, damaged or too large when decoded, and leaves the file', async () => {
    const uid = await newPipeline()
    await owner.post(`/data-pipelines/${uid}/file`).type('text/csv').send('old\n1\n').expect(200)
    const before = await filesOnDisk()
    const refusals = [
      [compress[encoding](text).subarray(0, -3), 400, /ends too early\. Send the whole file again/],
      [Buffer.from(text), 400, /not in the format of its Content-Encoding/],
      [compress[encoding]('a'.repeat(30 * limit)), 413, /The limit is 1000000 bytes/],
      [compress[encoding](''), 422, /The file is empty/],
    ] as const
    for (const [body, status, detail] of refusals) {
      const answer = await send(`/data-pipelines/${uid}/file`, encoding, body)
      expect([answer.status, await answer.json()]).toEqual([
        status,
        expect.objectContaining({ detail: expect.stringMatching(detail) }),
      ])
    }
    expect(await filesOnDisk()).toEqual(before)
    expect((await owner.get(`/data-pipelines/${uid}`).expect(200)).body.file.size).toBe(6)
    expect(await service.stack.db.selectFrom('running_uploads').select('uid').execute()).toEqual([])
  })
})

it('stores a file that is gzip itself as it is, without Content-Encoding', async () => {
  const uid = await newPipeline()
  const packed = gzipSync('a\n1\n')
  const answer = await owner
    .post(`/data-pipelines/${uid}/file?name=a.csv.gz`)
    .type('application/gzip')
    .serialize((sent) => sent as string)
    .send(packed as unknown as string)
    .expect(200)
  expect(answer.body).toMatchObject({ name: 'a.csv.gz', size: packed.length })
  expect(answer.body).not.toHaveProperty('mismatch')
})

it('counts the decoded bytes in the files limit of the organisation', async () => {
  const small = await service.serve({ clientLimit: 100_000 })
  try {
    const uid = await newPipeline()
    const body = gzipSync('a,b\n'.repeat(50_000))
    expect(body.length).toBeLessThan(1_000)
    const answer = await fetch(`${small.url}/api/v1/data-pipelines/${uid}/file`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${person.token}`,
        'content-type': 'text/csv',
        'content-encoding': 'gzip',
      },
      body,
    })
    expect([answer.status, (await readProblem(answer)).code]).toEqual([422, 'files-limit-reached'])
  } finally {
    await small.close()
  }
})

it('refuses a form and a preview that are compressed', async () => {
  const form = await send('/public-datasets', 'gzip', gzipSync('--x--'), {
    'content-type': 'multipart/form-data; boundary=x',
  })
  expect(form.status).toBe(415)
  const preview = await send('/data-pipelines/preview-file', 'zstd', zstdCompressSync('a\n1\n'))
  expect([preview.status, (await readProblem(preview)).detail]).toEqual([
    415,
    'Send it as plain bytes, without Content-Encoding.',
  ])
})
