import type { ServerResponse } from 'node:http'
import { expect, it } from '@jest/globals'
import { identityOperations } from '@sluice/contracts'
import { session, userGroups } from '../src/generated/identity.ts'
import { schemas } from '../src/generated/pipeline.ts'
import { RemoteProblem, serviceClient } from '../src/index.ts'
import { breakOff, hang, json, problem, reset, scriptedServer, text } from './scripted-server.ts'

const uid = '0198c1a0-0000-7000-8000-000000000001'
const group = { id: uid, client: { id: uid }, name: 'Nurses', code: 'N' }

const clientOf = (baseUrl: string, options: Partial<Parameters<typeof serviceClient>[0]> = {}) =>
  serviceClient({ baseUrl, token: () => 'a-token', ...options })

it('builds method, path, query, headers and body from the operation', async () => {
  await using server = await scriptedServer(json(200, [group]))
  const client = clientOf(`${server.url}/`, { headers: () => ({ 'x-request-id': 'mine', 'x-more': 'too' }) })

  await client.call(userGroups.search, { body: { query: 'a', paging: {} } })
  server.now(json(200, []))
  await client.call(schemas.list, {
    query: { filter: ['name:eq:a&b', 'tags:in:[x,y]'], page: 2, total: false },
  })

  const [look, list] = server.asked
  expect(look).toMatchObject({ method: 'POST', url: '/api/v1/user-groups/search', body: '{"query":"a","paging":{}}' })
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

it('sends the headers of a call, and replaces its own by them', async () => {
  await using server = await scriptedServer(json(200, { id: uid }))
  const headers = { 'if-match': '"3"', Accept: 'application/json' }
  await clientOf(server.url).call(schemas.update, { params: { uid }, body: {} as never, headers })
  expect(server.asked[0]?.headers).toMatchObject({ 'if-match': '"3"', accept: 'application/json' })
})

it('returns status and headers with the body on request', async () => {
  await using server = await scriptedServer(json(200, { id: uid }, { etag: '"4"' }))
  const { status, headers, body } = await clientOf(server.url).request(schemas.read, { params: { uid } })
  expect([status, headers.get('etag'), body.id]).toEqual([200, '"4"', uid])
})

it('rejects an address that is not one of HTTP', () => {
  for (const baseUrl of ['localhost:3001', 'ftp://localhost', '/identity', ''])
    expect(() => serviceClient({ baseUrl })).toThrow(/baseUrl must be an address/)
})

it('sends a fixed token, or none', async () => {
  await using server = await scriptedServer(json(200, []))
  await serviceClient({ baseUrl: server.url, token: 'sla_fixed' }).call(schemas.list)
  await serviceClient({ baseUrl: server.url }).call(schemas.list)
  expect(server.asked.map(({ headers }) => headers.authorization)).toEqual(['Bearer sla_fixed', undefined])
})

it('derives the types of parameters, body and response from the operation', () => {
  const client = clientOf('http://localhost')
  const typed = () => {
    void client.call(session.read)
    // @ts-expect-error a path parameter is missing
    void client.call(schemas.read)
    // @ts-expect-error a body is needed
    void client.call(userGroups.create, {})
    // @ts-expect-error there is no such query parameter
    void client.call(schemas.list, { query: { nonsense: 1 } })
    // @ts-expect-error this operation takes no body
    void client.call(schemas.read, { params: { uid }, body: {} })
    return client.call(userGroups.list).then(([first]) => first?.code satisfies string | undefined)
  }
  expect(typed).toBeInstanceOf(Function)
})

it('accepts the signatures of the contracts', async () => {
  await using server = await scriptedServer(json(200, [group]))
  const found = await clientOf(server.url).call(identityOperations.lookups.userGroups, { body: { ids: [uid] } })
  expect(found.map(({ code }) => code)).toEqual(['N'])
})

it('returns undefined for an operation without a response', async () => {
  await using server = await scriptedServer((response) => response.writeHead(204).end())
  expect(await clientOf(server.url).call(schemas.delete, { params: { uid } })).toBeUndefined()
  expect(server.asked[0]?.method).toBe('DELETE')
})

it('throws the problem that the service returns', async () => {
  await using server = await scriptedServer(problem(422, 'refused'))
  const client = clientOf(server.url)
  const failure = await client.call(session.read).catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(RemoteProblem)
  expect(failure).toMatchObject({ status: 422, code: 'refused', message: 'Because of this.', requestId: 'r-1' })
})

it('throws a RemoteProblem with code http-403 for a 403 that is not a problem document', async () => {
  await using server = await scriptedServer(text(403, '<h1>Blocked by proxy</h1>', 'text/html'))
  await expect(clientOf(server.url).call(session.read)).rejects.toMatchObject({
    name: 'RemoteProblem',
    status: 403,
    code: 'http-403',
  })
})

it.each([
  ['JSON that ends early', text(200, '[{"id":', 'application/json')],
  ['a page of HTML', text(200, '<html>', 'text/html')],
  ['an empty body', text(200, '', 'application/json')],
  ['a redirect', (response: ServerResponse) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
] as const)('rejects %s as a malformed answer', async (_what, behaviour) => {
  await using server = await scriptedServer(behaviour)
  const failure = clientOf(server.url).call(userGroups.list)
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
  const failure = clientOf(server.url, { timeout: reason === 'timed-out' ? 100 : 10_000 }).call(session.read)
  await expect(failure).rejects.toMatchObject({ name: 'ServiceUnavailable', reason })
})

it('names the host and port if the connection is refused', async () => {
  await expect(clientOf('http://127.0.0.1:1').call(session.read)).rejects.toThrow(/127\.0\.0\.1:1 cannot be reached/)
})

it('rejects with the reason of the signal if the caller aborts', async () => {
  await using server = await scriptedServer(hang)
  const reason = new Error('the browser went away')
  const signal = AbortSignal.abort(reason)
  await expect(clientOf(server.url).call(session.read, { signal })).rejects.toBe(reason)
  const later = new AbortController()
  const call = clientOf(server.url).call(session.read, { signal: later.signal })
  setTimeout(() => later.abort(reason), 30)
  await expect(call).rejects.toBe(reason)
})
