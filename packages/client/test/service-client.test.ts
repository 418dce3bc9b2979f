import { createReadStream } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { expect, it } from '@jest/globals'
import { identityOperations, pipelineOperations } from '@sluice/contracts'
import { RemoteProblem, serviceClient, ServiceUnavailable } from '../src/service-client.ts'
import { breakOff, hang, json, problem, reset, scriptedServer, text } from './scripted-server.ts'

const { lookups } = identityOperations
const { dataPipelines, schemas } = pipelineOperations
const uid = '0198c1a0-0000-7000-8000-000000000001'
const group = { id: uid, client: uid, name: 'Nurses', code: 'N' }
const file = { name: 'a.csv', size: 3, sha256: 'ab', uploaded: '2026-01-01T00:00:00.000Z' }

const clientOf = (baseUrl: string, options: Partial<Parameters<typeof serviceClient>[0]> = {}) =>
  serviceClient({ baseUrl, token: () => 'a-token', ...options })

it('builds method, path, query, headers and body from the operation signature', async () => {
  await using server = await scriptedServer(json(200, [group]))
  const client = clientOf(`${server.url}/`, { headers: () => ({ 'x-request-id': 'mine', 'x-more': 'too' }) })

  await client.call(lookups.userGroups, { body: { ids: [uid] } })
  server.now(json(200, []))
  await client.call(schemas.list, {
    query: { filter: ['name:eq:a&b', 'tags:in:[x,y]'], page: 2, total: false },
  })

  const [look, list] = server.asked
  expect(look).toMatchObject({ method: 'POST', url: '/api/v1/lookups/user-groups', body: `{"ids":["${uid}"]}` })
  expect(look?.headers).toMatchObject({
    authorization: 'Bearer a-token',
    'content-type': 'application/json',
    'x-request-id': 'mine',
    'x-more': 'too',
  })
  expect(new URL(list?.url ?? '', server.url).searchParams.getAll('filter')).toEqual(['name:eq:a&b', 'tags:in:[x,y]'])
  expect(list?.url).toMatch(/page=2&total=false$/)
  expect(list?.headers['content-type']).toBeUndefined()
})

it('escapes path parameters and refuses those that would change the path', async () => {
  await using server = await scriptedServer(problem(404, 'not-found'))
  const client = clientOf(server.url)

  await expect(client.call(schemas.read, { params: { uid: 'a/../b?c#d' } })).rejects.toThrow(RemoteProblem)
  expect(server.asked[0]?.url).toBe('/api/v1/schemas/a%2F..%2Fb%3Fc%23d')
  for (const uid of ['', '.', '..', undefined as never]) {
    await expect(client.call(schemas.read, { params: { uid } })).rejects.toThrow(TypeError)
  }
  expect(server.asked).toHaveLength(1)
})

it('derives the types of parameters, body and response from the operation signature', () => {
  const client = clientOf('http://localhost')
  const typed = () => {
    void client.call(identityOperations.session.read)
    // @ts-expect-error a path parameter is missing
    void client.call(schemas.read)
    // @ts-expect-error a body is needed
    void client.call(lookups.users, {})
    // @ts-expect-error there is no such query parameter
    void client.call(schemas.list, { query: { nonsense: 1 } })
    // @ts-expect-error this operation takes no body
    void client.call(schemas.read, { params: { uid }, body: {} })
    return client
      .call(lookups.userGroups, { body: { ids: [] } })
      .then(([first]) => first?.code satisfies string | undefined)
  }
  expect(typed).toBeInstanceOf(Function)
})

it('returns the fields of the contract and drops unknown fields of a newer service', async () => {
  await using server = await scriptedServer(json(200, [{ ...group, colour: 'blue' }]))
  expect(await clientOf(server.url).call(lookups.userGroups, { body: { ids: [uid] } })).toEqual([group])
})

it('returns undefined for an operation without a response', async () => {
  await using server = await scriptedServer((response) => response.writeHead(204).end())
  expect(await clientOf(server.url).call(schemas.delete, { params: { uid } })).toBeUndefined()
  expect(server.asked[0]?.method).toBe('DELETE')
})

it('throws the problem that the service returns', async () => {
  await using server = await scriptedServer(problem(422, 'refused'))
  const client = clientOf(server.url)
  const failure = await client.call(identityOperations.session.read).catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(RemoteProblem)
  expect(failure).toMatchObject({ status: 422, code: 'refused', message: 'Because of this.', requestId: 'r-1' })
})

it('throws a RemoteProblem with code http-403 for a 403 that is not a problem document', async () => {
  await using server = await scriptedServer(text(403, '<h1>Blocked by proxy</h1>', 'text/html'))
  await expect(clientOf(server.url).call(identityOperations.session.read)).rejects.toMatchObject({
    name: 'RemoteProblem',
    status: 403,
    code: 'http-403',
  })
})

it.each([
  ['JSON that ends early', text(200, '[{"id":', 'application/json')],
  ['a page of HTML', text(200, '<html>', 'text/html')],
  ['a missing field', json(200, [{ id: uid }])],
  ['another shape', json(200, { items: [] })],
  ['a redirect', (response: ServerResponse) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
] as const)('rejects %s as a malformed answer', async (_what, behaviour) => {
  await using server = await scriptedServer(behaviour)
  const failure = clientOf(server.url).call(lookups.userGroups, { body: { ids: [uid] } })
  await expect(failure).rejects.toMatchObject({ name: 'ServiceUnavailable', reason: 'malformed-answer' })
  expect(server.asked).toHaveLength(1)
})

it.each([
  ['resets', reset, 'unreachable'],
  ['breaks off its answer', breakOff, 'unreachable'],
  ['hangs', hang, 'timed-out'],
  ['is overloaded', problem(503, 'unavailable', { 'retry-after': '5' }), 'overloaded'],
  ['is behind a proxy that returns 502', text(502, 'Bad gateway', 'text/plain'), 'overloaded'],
] as const)('throws ServiceUnavailable with the reason if the service %s', async (_what, behaviour, reason) => {
  await using server = await scriptedServer(behaviour)
  const failure = clientOf(server.url, { timeout: reason === 'timed-out' ? 100 : 10_000 }).call(
    identityOperations.session.read,
  )
  await expect(failure).rejects.toMatchObject({ name: 'ServiceUnavailable', reason })
})

it('names the host and port if the connection is refused', async () => {
  await expect(clientOf('http://127.0.0.1:1').call(identityOperations.session.read)).rejects.toThrow(
    /127\.0\.0\.1:1 cannot be reached/,
  )
})

it('rejects with the reason of the signal if the caller aborts', async () => {
  await using server = await scriptedServer(hang)
  const reason = new Error('the browser went away')
  const signal = AbortSignal.abort(reason)
  await expect(clientOf(server.url).call(identityOperations.session.read, { signal })).rejects.toBe(reason)
  const later = new AbortController()
  const call = clientOf(server.url).call(identityOperations.session.read, { signal: later.signal })
  setTimeout(() => later.abort(reason), 30)
  await expect(call).rejects.toBe(reason)
})

it('streams an upload of a size that is known or not', async () => {
  await using server = await scriptedServer(json(200, file))
  const client = clientOf(server.url, { timeout: 500 })
  const input = { params: { uid }, query: { name: 'a b.csv' } }

  expect(
    await client.upload(dataPipelines.upload, { ...input, body: Readable.from([Buffer.from('a,b')]), length: 3 }),
  ).toEqual(file)
  async function* slowly() {
    yield Buffer.from('c,')
    await new Promise((resolve) => setTimeout(resolve, 700))
    yield Buffer.from('d')
  }
  await client.upload(dataPipelines.upload, { ...input, body: slowly() })

  expect(server.asked.map(({ body }) => body)).toEqual(['a,b', 'c,d'])
  expect(server.asked[0]?.url).toBe(`/api/v1/data-pipelines/${uid}/file?name=a+b.csv`)
  expect(server.asked[0]?.headers).toMatchObject({ 'content-type': 'application/octet-stream', 'content-length': '3' })
  expect(server.asked[1]?.headers['transfer-encoding']).toBe('chunked')
})

it('tells a file that cannot be read from a service that cannot be reached', async () => {
  await using server = await scriptedServer(json(200, file))
  const body = createReadStream('/nowhere/at/all.csv')
  const failure = clientOf(server.url).upload(dataPipelines.upload, { params: { uid }, body })
  await expect(failure).rejects.toMatchObject({ code: 'ENOENT' })
})

it('closes a file that is never sent', async () => {
  const body = Readable.from([Buffer.from('x')])
  const client = clientOf('http://127.0.0.1:1')
  await expect(client.upload(dataPipelines.upload, { params: { uid }, body })).rejects.toThrow(ServiceUnavailable)
  expect(body.destroyed).toBe(true)
})
