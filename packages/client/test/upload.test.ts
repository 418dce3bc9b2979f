import { createReadStream, openAsBlob } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { dataPipelines, publicDatasets } from '../src/generated/pipeline.ts'
import { serviceClient, ServiceUnavailable, upload, type RequestTransport } from '../src/index.ts'
import { json, problem, reset, scriptedServer } from './scripted-server.ts'

const uid = '0198c1a0-0000-7000-8000-000000000001'
const file = { name: 'a.csv', size: 3, sha256: 'ab', uploaded: '2026-01-01T00:00:00.000Z' }
const params = { uid }

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-client-upload-'))
})
afterAll(() => rm(folder, { recursive: true }))

const clientOf = (baseUrl: string) => serviceClient({ baseUrl, token: 'a-token', timeout: 500 })

it('streams an upload of a size that is known or not, for longer than the timeout of other requests', async () => {
  await using server = await scriptedServer(json(200, file))
  const client = clientOf(server.url)
  const input = { params, query: { name: 'a b.csv' } }

  const body = Readable.from([Buffer.from('a,b')])
  expect(await upload(client, dataPipelines.upload, { ...input, body, size: 3 })).toEqual(file)
  async function* slowly() {
    yield Buffer.from('c,')
    await new Promise((resolve) => setTimeout(resolve, 700))
    yield Buffer.from('d')
  }
  await upload(client, dataPipelines.upload, { ...input, body: slowly() })

  expect(server.asked.map(({ body }) => body)).toEqual(['a,b', 'c,d'])
  expect(server.asked[0]?.url).toBe(`/api/v1/data-pipelines/${uid}/file?name=a+b.csv`)
  expect(server.asked[0]?.headers).toMatchObject({
    'content-type': 'application/octet-stream',
    'content-length': '3',
    authorization: 'Bearer a-token',
  })
  expect(server.asked[1]?.headers['transfer-encoding']).toBe('chunked')
})

it('uploads a file as a Blob, with its size, and reports growing progress up to the end', async () => {
  const path = join(folder, 'large.csv')
  const text = 'some,columns,here\n'.repeat(50_000)
  await writeFile(path, text)
  await using server = await scriptedServer(json(200, file))
  const progress: [number, number | undefined][] = []
  await upload(clientOf(server.url), dataPipelines.upload, {
    params,
    body: await openAsBlob(path),
    onProgress: (sent, size) => progress.push([sent, size]),
  })
  expect(server.asked[0]?.body).toBe(text)
  expect(server.asked[0]?.headers['content-length']).toBe(String(text.length))
  const sent = progress.map(([bytes]) => bytes)
  expect(sent.length).toBeGreaterThan(3)
  expect(sent).toEqual(sent.toSorted((a, b) => a - b))
  expect(progress.at(-1)).toEqual([text.length, text.length])
})

it('sends a Blob again after a broken connection and an overload, and gives up after the given attempts', async () => {
  await using server = await scriptedServer(reset, problem(503, 'busy'), json(200, file))
  const client = clientOf(server.url)
  const body = new Blob(['a,b'])
  expect(await upload(client, dataPipelines.upload, { params, body })).toEqual(file)
  expect(server.asked.map(({ body }) => body)).toEqual(['a,b', 'a,b', 'a,b'])

  server.now(reset)
  const failed = upload(client, dataPipelines.upload, { params, body, attempts: 1 })
  await expect(failed).rejects.toMatchObject({ name: 'ServiceUnavailable', reason: 'unreachable' })
  expect(server.asked).toHaveLength(4)
})

it('does not send a Blob again when the service refuses it, or a stream in any case', async () => {
  await using server = await scriptedServer(problem(422, 'source-unreadable'))
  const client = clientOf(server.url)
  const refused = upload(client, dataPipelines.upload, { params, body: new Blob(['a']) })
  await expect(refused).rejects.toMatchObject({ status: 422, code: 'source-unreadable' })
  server.now(reset)
  await expect(upload(client, dataPipelines.upload, { params, body: Readable.from(['a']) })).rejects.toMatchObject({
    reason: 'unreachable',
  })
  expect(server.asked).toHaveLength(2)
})

it('sends a Blob again with a renewed token', async () => {
  await using server = await scriptedServer(problem(401, 'unauthenticated'), json(200, file))
  const client = serviceClient({ baseUrl: server.url, token: (rejected) => (rejected ? 'new' : 'old') })
  await upload(client, dataPipelines.upload, { params, body: new Blob(['a,b']) })
  expect(server.asked.map(({ headers, body }) => [headers.authorization, body])).toEqual([
    ['Bearer old', 'a,b'],
    ['Bearer new', 'a,b'],
  ])
})

it('sends the fields of a form before the file', async () => {
  await using server = await scriptedServer(json(201, {}))
  await upload(clientOf(server.url), publicDatasets.create, {
    form: { key: 'world_population', name: 'World', headerRow: 'true' } as never,
    body: new File(['a,b'], 'world.csv'),
  })
  const [{ headers, body } = { headers: {}, body: '' }] = server.asked
  const [, boundary] = /^multipart\/form-data; boundary=(.+)$/.exec(headers['content-type'] ?? '') ?? []
  const parts = body.split(`--${boundary}`).map((part) => part.trim())
  expect(parts.map((part) => /name="(\w+)"/.exec(part)?.[1]).filter(Boolean)).toEqual([
    'key',
    'name',
    'headerRow',
    'file',
  ])
  expect(parts.at(-2)).toMatch(/filename="world.csv"[^]*\r\n\r\na,b$/)
})

it('rethrows the error of a file that cannot be read', async () => {
  await using server = await scriptedServer(json(200, file))
  const body = createReadStream('/nowhere/at/all.csv')
  await expect(upload(clientOf(server.url), dataPipelines.upload, { params, body })).rejects.toMatchObject({
    code: 'ENOENT',
  })
})

it('closes a stream that is never sent', async () => {
  const body = Readable.from([Buffer.from('x')])
  const failed = upload(clientOf('http://127.0.0.1:1'), dataPipelines.upload, { params, body })
  await expect(failed).rejects.toThrow(ServiceUnavailable)
  expect(body.destroyed).toBe(true)
})

it('closes the stream and rejects with the reason of the signal when the caller aborts', async () => {
  await using server = await scriptedServer(json(200, file))
  async function* endless() {
    for (;;) {
      yield Buffer.alloc(1024)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
  const body = Readable.from(endless())
  const caller = new AbortController()
  const reason = new Error('the page was closed')
  const uploading = upload(clientOf(server.url), dataPipelines.upload, {
    params,
    body,
    signal: caller.signal,
    onProgress: (sent) => sent > 10_000 && caller.abort(reason),
  })
  await expect(uploading).rejects.toBe(reason)
  expect(body.destroyed).toBe(true)
})

it('leaves the body to a given transport, and takes its response as that of the operation', async () => {
  const requests: [string, string | null][] = []
  const transport: RequestTransport = async (url, { headers }) => {
    requests.push([url.pathname, new Headers(headers).get('authorization')])
    return Response.json(file)
  }
  const body = new Blob(['a,b'])
  const uploaded = await upload(clientOf('http://127.0.0.1:1'), dataPipelines.upload, { params, body, transport })
  expect(uploaded).toEqual(file)
  expect(requests).toEqual([[`/api/v1/data-pipelines/${uid}/file`, 'Bearer a-token']])
})
