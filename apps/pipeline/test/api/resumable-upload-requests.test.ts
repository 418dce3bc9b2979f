import { readdir, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { until } from '@sluice/testing/wait-until'
import type { Person } from '../join-shared-identity-service.ts'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from './app-under-test.ts'
import { samples } from './pipeline-type-samples.ts'
import { named, tusRequests } from './tus-requests.ts'

const limit = 1_000_000

let service: Service
let person: Person
let owner: Asking
let schema: string
let pipeline: string
let tus: ReturnType<typeof tusRequests>
beforeAll(async () => {
  service = await startService({ uploadLimit: limit })
  const { id } = await service.identity.client()
  person = await service.identity.person(id, ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE'])
  owner = service.as(person)
  schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body.id
  pipeline = (await owner.post('/data-pipelines').send(pipelineBody(schema)).expect(201)).body.id
  tus = tusRequests(service.url, person.token, pipeline)
})
afterAll(() => service?.stop())

const uploadsFolder = () => join(service.stack.filesDirectory, 'uploads')
const countUploads = async () =>
  Number(
    (
      await service.stack.db
        .selectFrom('resumable_uploads')
        .select(({ fn }) => fn.countAll().as('count'))
        .executeTakeFirstOrThrow()
    ).count,
  )

it('reports the version, the extensions and the largest size to OPTIONS, and permits origins to browsers', async () => {
  const { status, headers } = await fetch(tus.uploads, { method: 'OPTIONS' })
  expect([status, Object.fromEntries(headers)]).toEqual([
    204,
    expect.objectContaining({
      'tus-version': '1.0.0',
      'tus-extension': 'creation,termination,expiration',
      'tus-max-size': '1000000',
    }),
  ])
  const preflight = await fetch(`${tus.uploads}/x`, {
    method: 'OPTIONS',
    headers: { origin: 'https://page.example.org', 'access-control-request-method': 'PATCH' },
  })
  expect(preflight.headers.get('access-control-allow-methods')).toContain('PATCH')
  expect(preflight.headers.get('tus-version')).toBeNull()
})

describe('a creation', () => {
  let before: number
  beforeEach(async () => {
    before = await countUploads()
  })
  const refusesWith = async (
    [length, headers, body]: [string | undefined, Record<string, string | undefined>?, string?],
    [status, detail]: [number, RegExp],
  ) => {
    const answer = await tus.create('', { 'upload-length': length, ...headers }, body)
    expect([answer.status, answer.body.detail]).toEqual([status, expect.stringMatching(detail)])
    expect(await countUploads()).toBe(before)
    return answer
  }

  it('returns its address, expiry and state, and stores no file', async () => {
    const { status, headers, body } = await tus.create(10, named('stock.csv'))
    expect([status, body]).toEqual([
      201,
      {
        id: expect.any(String),
        name: 'stock.csv',
        length: 10,
        received: 0,
        created: expect.any(String),
        createdBy: person.username,
        expires: expect.any(String),
      },
    ])
    expect(headers.get('location')).toBe(`/api/v1/data-pipelines/${pipeline}/uploads/${body.id}`)
    expect(headers.get('tus-resumable')).toBe('1.0.0')
    expect(new Date(headers.get('upload-expires')!).getTime() - Date.now()).toBeGreaterThan(71 * 3_600_000)
    expect(await readdir(join(service.stack.filesDirectory, 'uploads')).catch(() => [])).toEqual([])
  })

  it.each(['-1', '1.5', '1e3', '1e+21', '0x10', '7 7', '9999999999999999', 'NaN', '', '07'])(
    'with the length %j is refused',
    (length) => refusesWith([length], [400, /^\/Upload-Length must be a number of bytes in decimal digits/]),
  )

  it('without a length, with a length of 0, or with one above the limit is refused', async () => {
    await refusesWith([undefined], [400, /^\/Upload-Length must be a number/])
    await refusesWith(['0'], [422, /The file is empty/])
    await refusesWith([String(limit + 1)], [413, /The limit is 1000000 bytes/])
  })

  it('with a deferred length, in parts, or with bytes is refused with the reason', async () => {
    await refusesWith([undefined, { 'upload-defer-length': '1' }], [422, /send their number in Upload-Length/])
    await refusesWith(['10', { 'upload-concat': 'partial' }], [422, /Send the file as one upload/])
    const type = { 'content-type': 'application/offset+octet-stream' }
    await refusesWith(['10', type, 'a,b\n1,2\n3\n'], [415, /a request without a body, then the bytes with PATCH/])
  })

  it('in another version of tus, or in none, is refused with the supported version', async () => {
    for (const version of [undefined, '0.2.2', '1.0.0, 1.0.0']) {
      const { headers } = await refusesWith(
        ['10', { 'tus-resumable': version }],
        [412, /Send the header "Tus-Resumable: 1/],
      )
      expect(headers.get('tus-version')).toBe('1.0.0')
    }
  })

  it.each([
    ['no base64', 'filename *', /pairs of a key and a value in base64/],
    ['a key twice', 'a YQ==,a YQ==', /each key once/],
    ['three words', 'a YQ== YQ==', /pairs of a key/],
    ['a long header', `filename ${Buffer.alloc(6_000, 'a').toString('base64')}`, /at most 4000 characters/],
    ['a long name', `filename ${Buffer.alloc(256, 'a').toString('base64')}`, /a file name of at most 255 characters/],
    ['NUL in the name', `filename ${Buffer.from('a\0b').toString('base64')}`, /without the NUL character/],
    ['a name that is not UTF-8', `filename ${Buffer.from([0xff, 0xfe]).toString('base64')}`, /a file name in UTF-8/],
  ])('with metadata with %s is refused', (_what, metadata, detail) =>
    refusesWith(['10', { 'upload-metadata': metadata }], [400, detail]),
  )

  it('with metadata that fills the headers is refused by the server, which keeps working', async () => {
    const answer = await tus
      .create(10, { 'upload-metadata': `filename ${'YWFh'.repeat(5_000)}` })
      .catch(() => undefined)
    expect(answer?.status ?? 431).toBe(431)
    expect((await tus.create(10)).status).toBe(201)
  })

  it.each(['../../etc/passwd', '.htaccess', 'a/b\\c.csv', 'pass"wd\r\nX: y ü.csv', '<script>'])(
    'keeps the name %j, and does not use it as a path',
    async (name) => {
      const content = 'a\n1\n'
      const address = await tus.address(content.length, named(name))
      expect((await tus.append(address, 0, content)).status).toBe(204)
      expect((await tus.read(address)).body.file.name).toBe(name)
      for (const file of await readdir(join(service.stack.filesDirectory, 'uploads')))
        expect(file).toMatch(/^[\da-f-]{36}$/)
    },
  )

  it('ignores the other metadata that clients send, and repeats it', async () => {
    const metadata = 'relativePath bnVsbA==,name YS5jc3Y=,filetype dGV4dC9jc3Y=,empty'
    const address = await tus.address(4, { 'upload-metadata': metadata })
    const { headers } = await tus.head(address)
    expect(headers.get('upload-metadata')).toBe(metadata)
    expect((await tus.read(address)).body.name).toBe('a.csv')
  })

  it('to a pipeline that reads from elsewhere, or with an old version in If-Match, is refused', async () => {
    const sheet = pipelineBody(schema, { type: 'ONLINE_SPREADSHEET', ...samples.ONLINE_SPREADSHEET.own })
    const { body } = await owner.post('/data-pipelines').send(sheet).expect(201)
    const refused = await tusRequests(service.url, person.token, body.id).create(10)
    expect([refused.status, refused.body.detail]).toEqual([422, expect.stringMatching(/accepts no file/)])
    expect((await tus.create(10, { 'if-match': '"999"' })).status).toBe(412)
  })
})

describe('an append', () => {
  const content = 'a,b\n1,2\n'
  let address: string
  beforeEach(async () => {
    address = await tus.address(content.length)
  })
  /** Expects that the request stored no bytes, and that the upload can continue. */
  const continues = async (offset = 0) => {
    expect((await tus.head(address)).headers.get('upload-offset')).toBe(String(offset))
    expect((await tus.append(address, offset, content.slice(offset))).status).toBe(204)
  }

  it.each(['1', '8', '100'])('at the offset %s, which is not that of the upload, is refused', async (offset) => {
    const { status, body } = await tus.append(address, offset, 'x')
    expect([status, body.code, body.detail]).toEqual([
      409,
      'upload-offset',
      'Upload-Offset is not the number of bytes that are stored. Read it with HEAD, and continue there.',
    ])
    await continues()
  })

  it.each([undefined, '-1', '1e0', 'x', '0, 0'])('with the offset %s is refused', async (offset) => {
    const { status, body } = await tus.append(address, 0, 'x', { 'upload-offset': offset })
    expect([status, body.detail]).toEqual([400, expect.stringMatching(/^\/Upload-Offset must be a number/)])
    await continues()
  })

  it('of another type, compressed, with a length, or without the version is refused', async () => {
    for (const [headers, status] of [
      [{ 'content-type': 'text/csv' }, 415],
      [{ 'content-encoding': 'gzip' }, 415],
      [{ 'upload-length': '3' }, 422],
      [{ 'tus-resumable': undefined }, 412],
    ] as const)
      expect((await tus.append(address, 0, content, headers)).status).toBe(status)
    await continues()
  })

  it('with more bytes than the announced length is refused, with and without Content-Length', async () => {
    async function* chunked() {
      yield Buffer.from(content)
      yield Buffer.from('more,rows\n')
    }
    for (const body of [`${content}more`, chunked()]) {
      const answer = await tus.append(address, 0, body)
      expect([answer.status, answer.body.detail]).toEqual([413, expect.stringMatching(/more bytes than Upload-Length/)])
    }
    const { body } = await tus.read(address)
    expect(body).not.toHaveProperty('file')
    await continues(Number((await tus.head(address)).headers.get('upload-offset')))
  })

  it('without bytes, and a repeated last one, change nothing and succeed', async () => {
    expect((await tus.append(address, 0, '')).headers.get('upload-offset')).toBe('0')
    await continues()
    const before = (await owner.get(`/data-pipelines/${pipeline}`).expect(200)).body.file
    const again = await tus.append(address, content.length, '')
    expect([again.status, again.headers.get('upload-offset')]).toEqual([204, String(content.length)])
    expect((await tus.append(address, 0, content)).status).toBe(409)
    expect((await owner.get(`/data-pipelines/${pipeline}`).expect(200)).body.file).toEqual(before)
  })

  it.each([
    ['file is missing', (path: string) => rm(path)],
    ['file has lost its end', (path: string) => truncate(path, 3)],
    ['file is empty', (path: string) => truncate(path, 0)],
  ])('is refused with 410 and its upload removed if the %s', async (_what, lose) => {
    await owner.post(`/data-pipelines/${pipeline}/file`).type('text/csv').send('good\n1\n').expect(200)
    const before = (await owner.get(`/data-pipelines/${pipeline}`).expect(200)).body.file
    expect((await tus.append(address, 0, content.slice(0, 4))).status).toBe(204)
    const uid = address.slice(address.lastIndexOf('/') + 1)
    await lose(join(uploadsFolder(), uid))
    const { status, body } = await tus.append(address, 4, content.slice(4))
    expect([status, body.code, body.detail]).toEqual([
      410,
      'upload-bytes-lost',
      expect.stringMatching(/start a new one\. The pipeline keeps its current file\.$/),
    ])
    expect((await tus.head(address)).status).toBe(404)
    expect(await readdir(uploadsFolder())).not.toContain(uid)
    expect((await owner.get(`/data-pipelines/${pipeline}`).expect(200)).body.file).toEqual(before)
  })

  it('is refused with 410 if the file loses bytes before its digest is computed', async () => {
    const path = join(uploadsFolder(), address.slice(address.lastIndexOf('/') + 1))
    async function* losing() {
      yield Buffer.from(content.slice(0, 4))
      await until(async () => ((await stat(path).catch(() => undefined))?.size ?? 0) === 4)
      await rm(path)
      await writeFile(path, 'a')
      yield Buffer.from(content.slice(4))
    }
    const { status, body } = await tus.append(address, 0, losing())
    expect([status, body.code]).toEqual([410, 'upload-bytes-lost'])
    expect((await tus.head(address)).status).toBe(404)
  })

  it('by another method than PATCH is refused with the allowed methods', async () => {
    const { status, headers } = await tus.send('POST', address, { 'x-http-method-override': 'PATCH' }, 'x')
    expect([status, headers.get('allow')]).toEqual([405, expect.stringContaining('PATCH')])
    await continues()
  })
})

it('returns 404 for an upload that does not exist, in every method', async () => {
  for (const id of ['00000000-0000-4000-8000-000000000000', 'x', '..%2f..%2fx', '%00', '*']) {
    const address = `${tus.uploads}/${id}`
    const answers = [tus.head(address), tus.append(address, 0, 'x'), tus.remove(address), tus.read(address)]
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([404, 404, 404, 404])
  }
})
