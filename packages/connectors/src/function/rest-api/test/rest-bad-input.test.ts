import { gzipSync, brotliCompressSync } from 'node:zlib'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { outgoingAllowed } from '@sluice/http-client'
import { never } from '../../../../test/connector-harness.ts'
import { createConnectorRegistry } from '../../../registry/connector-registry.ts'
import type { StandInResponse } from '../../../../test/stand-in-server.ts'
import type { RestApiSettings } from '../rest-request.ts'
import { openRestHarness, secrets } from './rest-harness.ts'

const rest = openRestHarness()
const list: RestApiSettings = { records: 'items', key: ['id'] }
const paged: RestApiSettings = { ...list, paging: { type: 'NEXT_LINK', path: 'next' } }
const failure = (restApi: RestApiSettings, mode?: 'INCREMENTAL') =>
  rest.load(restApi, mode).then(
    () => undefined,
    (error: { code: string; message: string }) => ({ code: error.code, message: error.message }),
  )
const rows = async () => (await rest.harness.values('id')).map(([id]) => id)

describe('a REST API', () => {
  it.each<[string, StandInResponse, RestApiSettings, string, RegExp]>([
    [
      'a page without the list of records',
      { body: { data: { rows: [] }, meta: { errors: [] } } },
      list,
      'OTHER_PROTOCOL',
      /^The response has no list under "items" \(restApi\.records\)\. Set restApi\.records to the path of its records: "data\.rows", "meta\.errors"\.$/,
    ],
    [
      'an object although no path of records is set',
      { body: { error: 'none' } },
      { key: ['id'] },
      'OTHER_PROTOCOL',
      /^The response is not a list\. The response has no list at all: check the address, the path and the query\.$/,
    ],
    [
      'a list although a path of records is set',
      { body: [] },
      list,
      'OTHER_PROTOCOL',
      /The response itself is a list: leave out/,
    ],
    [
      'records that are not objects',
      { body: { items: [1, 'two', null, [3]] } },
      list,
      'TOO_MANY_REJECTED_ROWS',
      /^4 of 4 rows do not fit, .* is not a JSON object, so it has no fields\./,
    ],
    [
      'a web page',
      { headers: { 'content-type': 'text/html' }, body: '<html>Welcome</html>' },
      list,
      'OTHER_PROTOCOL',
      /returned a web page instead of data from the API\. Check the address\.$/,
    ],
    ['text', { body: 'Welcome' }, list, 'OTHER_PROTOCOL', /returned text\/plain instead of JSON/],
    [
      'a rejection',
      { status: 400, body: { error: { message: `Unknown field for ${secrets.authToken}` } } },
      list,
      'REQUEST_REFUSED',
      /^The API at 127\.0\.0\.1:\d+ rejected the request \(400\).* It says: Unknown field for \[redacted\]$/,
    ],
  ])('fails with one sentence for %s', async (_name, response, restApi, code, message) => {
    rest.respond = () => response
    expect(await failure(restApi)).toEqual({ code, message: expect.stringMatching(message) })
    const problem = await rest.harness.testConnection(rest.createReading(restApi))
    if (code !== 'TOO_MANY_REJECTED_ROWS')
      expect(problem).toMatchObject({ code, message: expect.stringMatching(message) })
  })

  it('loads null as an empty list, and rejects records with the key of another', async () => {
    const items = [{ id: 1, a: 1 }, { id: 2 }, { id: 1, a: 2 }, { id: 1, a: 1 }, { a: 3 }]
    rest.respond = ({ query }) => ({ body: query.has('p') ? { items: null } : { items, next: '?p=2' } })
    await rest.load(paged)
    expect(await rows()).toEqual(['1', '2'])
    expect(rest.harness.rejected.map(({ reason }) => reason)).toEqual([
      expect.stringContaining('has the same key (id) as an earlier record'),
      expect.stringContaining('has no value in "id"'),
    ])
  })

  it('is read although single responses are 429, 500 or broken, and a failure in the middle loses nothing', async () => {
    rest.respond = ({ query }) => ({
      body: query.has('p') ? { items: [{ id: 3 }] } : { items: [{ id: 1 }, { id: 2 }], next: '?p=2' },
    })
    const faults = [{ status: 429 }, undefined, { status: 500 }, 'BREAKS_OFF', undefined] as const
    let count = 0
    rest.server.fault = () => faults[count++]
    await rest.load(paged)
    expect(await rows()).toEqual(['1', '2', '3'])
    rest.respond = ({ query }) =>
      query.has('p')
        ? { status: 500, body: { message: 'The database is away' } }
        : { body: { items: [{ id: 8 }], next: '?p=2' } }
    expect(await failure(paged)).toEqual({
      code: 'SOURCE_FAILED',
      message: expect.stringMatching(/^The API at .* failed \(500\)\. .* It says: The database is away$/),
    })
    expect(await rows()).toEqual(['1', '2', '3'])
  })

  it('is not requested before its rate limit is reset, and a limit of hours ends the run', async () => {
    const limited = (seconds: number): StandInResponse => ({
      status: 403,
      headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(Math.ceil(Date.now() / 1_000) + seconds) },
      body: { message: 'API rate limit exceeded' },
    })
    let count = 0
    rest.respond = () => (count++ === 0 ? limited(1) : { body: { items: [{ id: 1 }] } })
    await rest.load(list)
    const [first, second] = rest.server.requests
    expect(second!.at - first!.at).toBeGreaterThanOrEqual(300)
    rest.respond = () => limited(7_000)
    expect(await failure(list)).toEqual({
      code: 'RATE_LIMITED',
      message: expect.stringMatching(/too many \(403\) and asks to wait 1\d\d minutes\. Run the pipeline less often\./),
    })
  })

  it.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
  ])('may compress its responses with %s', async (encoding, compress) => {
    const { createServer } = await import('node:http')
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': encoding })
      response.end(compress(JSON.stringify({ items: [{ id: 1 }, { id: 2 }] })))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
    await rest.harness.load(rest.createReading(list, { url }))
    server.closeAllConnections()
    server.close()
    expect(await rows()).toEqual(['1', '2'])
  })

  it('may redirect within its host', async () => {
    rest.respond = ({ path }) =>
      path === '/v1/old' ? { status: 301, headers: { location: '/v2/new' } } : { body: { items: [{ id: 1 }] } }
    await rest.load({ ...list, path: 'old' })
    expect(rest.paths()).toEqual(['/v1/old', '/v2/new'])
  })
})

describe('a request', () => {
  const request = async (restApi: RestApiSettings, functionSource: object = {}) => {
    rest.respond = () => ({ body: { items: [{ id: 1 }] } })
    await rest.harness.load(rest.createReading({ ...list, ...restApi }, functionSource))
    return rest.server.requests.at(-1)!
  }

  it('has the query of the address and of the settings, percent-encoded', async () => {
    const url = `${rest.server.url}/v1/?tenant=a`
    const query = { 'filter[a]': 'x&y=z#?', list: ['1', '2'], flag: true, n: 5, empty: '' }
    const sent = await request({ path: 'a%2Fb/ü', query }, { url })
    expect(sent.path).toBe('/v1/a%2Fb/%C3%BC')
    expect([...sent.query]).toEqual([
      ['tenant', 'a'],
      ['filter[a]', 'x&y=z#?'],
      ['list', '1'],
      ['list', '2'],
      ['flag', 'true'],
      ['n', '5'],
      ['empty', ''],
    ])
  })

  it.each(['//evil.example/x', '@evil.example', 'http://evil.example/x', ':80/x'])(
    'stays at its host if the path is %s',
    async (path) => {
      const sent = await request({ path }).catch((error: { code: string }) => error.code)
      expect(typeof sent === 'string' ? sent : sent.path).toMatch(/^(ADDRESS_INVALID|\/v1\/.*)$/)
    },
  )

  it.each(['a/../b', '%2e%2e/admin', '..%2Fadmin', 'a//b', 'a/./b', '%2E'])(
    'is not sent if a variable makes the path %s',
    async (path) => {
      expect(await failure({ ...list, path })).toEqual({
        code: 'ADDRESS_INVALID',
        message: 'The path (restApi.path) has an empty part, "." or "..". Check the variables used in it.',
      })
      expect(rest.paths()).toEqual([])
    },
  )

  it.each<[string, object, (sent: Awaited<ReturnType<typeof request>>) => unknown, unknown]>([
    ['a bearer token', {}, ({ headers }) => headers.authorization, 'Bearer a-token-of-the-api'],
    ['a header', { headerName: 'X-Api-Key' }, ({ headers }) => headers['x-api-key'], 'a-token-of-the-api'],
    ['a parameter', { parameterName: 'api_key' }, ({ query }) => query.getAll('api_key'), ['a-token-of-the-api']],
    [
      'the password of a user',
      { username: 'reader' },
      ({ headers }) => headers.authorization,
      `Basic ${Buffer.from('reader:a-token-of-the-api').toString('base64')}`,
    ],
  ])('carries the token as %s, also to the next page', async (_name, functionSource, find, expected) => {
    rest.respond = ({ query }) => ({ body: { items: [{ id: query.size }], next: query.has('p') ? null : '?p=2' } })
    await rest.harness.load(rest.createReading(paged, functionSource))
    expect(rest.server.requests.map(find)).toEqual([expected, expected])
    // The API repeats the token in its message, as it was sent.
    rest.respond = ({ headers, query }) => ({
      status: 400,
      body: { message: `${query} ${headers.authorization} ${headers['x-api-key']}` },
    })
    await expect(rest.harness.load(rest.createReading(paged, functionSource))).rejects.toThrow('rejected the request')
    const spellings = [secrets.authToken, Buffer.from(`reader:${secrets.authToken}`).toString('base64')]
    for (const spelling of spellings) expect(rest.harness.messages.join()).not.toContain(spelling)
  })

  it('is not sent with a header that has a line break', async () => {
    expect(await failure({ ...list, headers: { 'X-Team': 'a\r\nX-Admin: yes' } })).toEqual({
      code: 'REQUEST_REFUSED',
      message:
        'The header "X-Team" (restApi.headers) has a character that no header can contain. Check the variables used in it.',
    })
    expect(rest.paths()).toEqual([])
  })

  it.each(['https://169.254.169.254/latest', 'http://localhost:8080/', 'https://[::1]/', 'http://10.0.0.1/'])(
    'is not sent to the internal address %s',
    async (url) => {
      const filesDirectory = mkdtempSync(join(tmpdir(), 'sluice-rest-'))
      const sources = createConnectorRegistry({ filesDirectory, allowed: outgoingAllowed().fallback! })
      expect(await sources.testConnection(rest.createReading(list, { url }), never)).toMatchObject({
        code: 'ADDRESS_NOT_ALLOWED',
      })
    },
  )
})

describe('an incremental read', () => {
  const increment = { cursorField: 'at', parameter: 'since' }
  const settings: RestApiSettings = { ...list, increment }
  let items: object[] = []
  const respond = ({ query }: { query: URLSearchParams }) => ({
    body: { items: items.filter((item) => (item as { at: string }).at >= (query.get('since') ?? '')) },
  })

  it('reads everything and replaces the rows if the source was restored', async () => {
    rest.respond = respond
    items = [1, 2, 3].map((id) => ({ id, at: `2026-01-0${id}T00:00:00Z` }))
    await rest.load(settings)
    items = items.slice(0, 2)
    await rest.load(settings, 'INCREMENTAL')
    expect(await rows()).toEqual(['1', '2'])
    expect(rest.harness.messages.join()).toContain('no record with a "at" of 2026-01-03T00:00:00Z or later')
    // The next increment continues from the restored records.
    items.push({ id: 4, at: '2026-01-02T12:00:00Z' })
    rest.server.requests.length = 0
    await rest.load(settings, 'INCREMENTAL')
    expect(await rows()).toEqual(['1', '2', '4'])
    expect(rest.paths()).toEqual(['/v1?since=2026-01-01T23%3A55%3A00Z'])
  })

  it('fails if the cursor field vanishes or changes its type, and the old rows stay', async () => {
    rest.respond = () => ({ body: { items } })
    items = [{ id: 1, at: '2026-01-01T00:00:00Z' }]
    await rest.load(settings)
    items = [{ id: 2, updated: '2026-01-02T00:00:00Z' }]
    expect(await failure(settings, 'INCREMENTAL')).toMatchObject({ code: 'INCREMENTAL_COLUMN_MISSING' })
    items = [{ id: 2, at: `soon, ${secrets.authToken}` }]
    expect(await failure(settings, 'INCREMENTAL')).toEqual({
      code: 'INCREMENTAL_COLUMN_UNSUITABLE',
      message: expect.stringMatching(/^The value "soon, \[redacted\]" of "at" .* is not of the type TIMESTAMP\./),
    })
    expect(await rows()).toEqual(['1'])
  })

  it('misses nothing if clocks are an hour ahead', async () => {
    rest.respond = respond
    const clock = Date.parse('2026-05-01T12:00:00Z')
    rest.server.clock = () => new Date(clock)
    // One record comes from a device with a clock that is an hour ahead of the source.
    items = [
      { id: 1, at: '2026-05-01T13:00:00Z' },
      { id: 2, at: '2026-05-01T11:00:00Z' },
    ]
    await rest.load(settings)
    items.push({ id: 3, at: '2026-05-01T12:00:30Z' })
    await rest.load(settings, 'INCREMENTAL')
    expect(await rows()).toEqual(['1', '2', '3'])
  })

  it('sends the first value in a full read, and a reset time in the next one', async () => {
    rest.respond = respond
    items = [{ id: 1, at: '2026-01-01T00:00:00Z' }]
    const withFirst = { ...settings, increment: { ...increment, firstValue: '2000-01-01' } }
    await rest.load(withFirst)
    expect(rest.paths()).toEqual(['/v1?since=2000-01-01'])
    const reading = rest.createReading(withFirst)
    expect(await rest.harness.sources.getCursorKind('FUNCTION', reading.settings)).toBe('MOMENT')
    const numbers = rest.createReading({ ...list, increment: { ...increment, cursorType: 'NUMBER' } })
    expect(await rest.harness.sources.getCursorKind('FUNCTION', numbers.settings)).toBe('OPAQUE')
    expect(await rest.harness.sources.getCursorKind('FUNCTION', rest.createReading(list).settings)).toBe('NONE')
    rest.server.requests.length = 0
    await rest.harness.load({ ...reading, reset: { from: '2025-06-01T00:00:00.000Z' } }, 'INCREMENTAL')
    expect(rest.paths()).toEqual(['/v1?since=2025-05-31T23%3A55%3A00.000Z'])
  })
})
