import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { ssrfSafeFetch, outgoingAllowed } from '@sluice/http-client'
import {
  type StandInResponse,
  type StandInRequest,
  type StandInServer,
  startStandInServer,
} from '../../../test/stand-in-server.ts'
import { secretRedactor } from '@sluice/process'
import { createBulkExport } from '../../fhir/bulk-export.ts'
import { type HttpConnection, parseBaseUrl, openHttpSession } from '../http-session.ts'
import { findErrorText } from '../http-problems.ts'

const directory = mkdtempSync(join(tmpdir(), 'sluice-http-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const token = 'a-secret+token/of=mine'
let server: StandInServer
let answer: (request: StandInRequest) => StandInResponse
beforeAll(async () => {
  server = await startStandInServer((request) => answer(request))
})
beforeEach(() => {
  server.requests.length = 0
  answer = () => ({ body: {} })
})
afterEach(() => void (server.fault = () => undefined))
afterAll(() => server[Symbol.asyncDispose]())

const waits: number[] = []
const paths = () => server.requests.map(({ path }) => path)

function openSession(connection: Partial<HttpConnection> = {}, { maxBytes = 10_000, allowed = '127.0.0.1' } = {}) {
  const fetch = ssrfSafeFetch({ allowed: outgoingAllowed().parse(allowed), maxBytes, returnRedirects: true })
  return openHttpSession(
    { url: `${server.url}/at/api/`, ignoredSegments: ['api'], headers: { 'x-token': token }, ...connection },
    {
      fetch,
      downloads: fetch,
      system: 'Example',
      secrets: [token],
      retryPolicy: { attempts: 3, firstDelay: 0.01, maxDelay: 0.02 },
      directory,
      signal: new AbortController().signal,
      onBytes: () => {},
      onRetry: (_problem, seconds) => void waits.push(seconds),
      onAlive: () => {},
    },
  )
}

describe('the base address', () => {
  it.each([
    [' https://a.example/api/ ', ['api'], 'https://a.example'],
    ['https://a.example/dhis/API', ['api'], 'https://a.example/dhis'],
    ['https://a.example/api/v2/', ['v2', 'api'], 'https://a.example'],
    ['https://a.example:8443/x/?y=1#z', [], 'https://a.example:8443/x'],
    ['https://a.example/rapi', ['api'], 'https://a.example/rapi'],
  ])('of %s without %s is %s', (address, ignoredSegments, base) =>
    expect(parseBaseUrl(address, ignoredSegments)).toBe(base),
  )

  it('is rejected if it is invalid', () =>
    expect(() => parseBaseUrl('nowhere')).toThrow(expect.objectContaining({ code: 'ADDRESS_INVALID' })))

  it('is not requested if the operator does not allow it', async () => {
    const refused = openSession({}, { allowed: '10.0.0.0/8' }).getJson('me')
    await expect(refused).rejects.toMatchObject({ code: 'ADDRESS_NOT_ALLOWED' })
    expect(paths()).toEqual([])
  })
})

describe('a request', () => {
  it('contains its parameters and credentials', async () => {
    await openSession().getJson('list', { query: { page: 1, none: undefined, id: ['a', 'b'], text: 'ä&b' } })
    const [{ path, query, headers }] = server.requests as [StandInRequest]
    expect([path, [...query]]).toEqual([
      '/at/list',
      [
        ['page', '1'],
        ['id', 'a'],
        ['id', 'b'],
        ['text', 'ä&b'],
      ],
    ])
    expect(headers).toMatchObject({ 'x-token': token, accept: 'application/json' })
  })

  it('is retried only if it is idempotent', async () => {
    server.fault = () => (server.requests.length < 3 ? { status: 503 } : undefined)
    await openSession().getJson('list')
    expect(paths()).toHaveLength(3)
    server.requests.length = 0
    await expect(openSession().getJson('save', { method: 'POST', body: {} })).rejects.toMatchObject({
      code: 'SOURCE_FAILED',
    })
    expect(paths()).toHaveLength(1)
    server.requests.length = 0
    await openSession().getJson('search', { method: 'POST', body: new URLSearchParams({ a: '1' }), isIdempotent: true })
    expect(server.requests.map(({ body }) => body)).toEqual(['a=1', 'a=1', 'a=1'])
  })

  it('is not retried after a long Retry-After or a rejection', async () => {
    const codes: unknown[] = []
    for (const [status, seconds] of [
      [429, '7200'],
      [403, ''],
      [404, ''],
      [422, ''],
    ] as const) {
      server.requests.length = 0
      server.fault = () => ({ status, headers: { 'retry-after': seconds || '0' }, body: { detail: 'No.' } })
      const error = await openSession()
        .getJson('list', { subject: 'The list' })
        .catch((one: unknown) => one)
      codes.push([(error as { code: string }).code, (error as Error).message, paths().length])
    }
    expect(codes).toEqual([
      ['RATE_LIMITED', expect.stringMatching(/asks to wait 120 minutes\. .* It says: No\.$/), 1],
      ['PERMISSION_DENIED', expect.stringContaining('may not read The list'), 1],
      ['NOT_FOUND', expect.stringMatching(/^The list does not exist at Example/), 1],
      ['REQUEST_REFUSED', expect.any(String), 1],
    ])
  })

  it('follows at most five redirects, and none to another host or port or of a POST request', async () => {
    answer = ({ path }) => (path === '/at/old' ? { status: 301, headers: { location: '/at/new' } } : { body: { path } })
    expect(await openSession().getJson('old')).toEqual({ path: '/at/new' })
    answer = ({ path }) => ({ status: 302, headers: { location: `${path}x` } })
    server.requests.length = 0
    await expect(openSession().getJson('loop')).rejects.toMatchObject({
      code: 'REDIRECTED',
      message: expect.stringContaining('in a loop'),
    })
    expect(paths()).toHaveLength(6)
    answer = () => ({ status: 302, headers: { location: 'http://localhost/x' } })
    await expect(openSession().getJson('away')).rejects.toMatchObject({
      message: expect.stringContaining('redirects to localhost'),
    })
    // A request body is not sent to a redirect's target, even on the same host, because its content may be secret.
    answer = ({ path }) => ({ status: 302, headers: { location: `${path}/there?secret=1` } })
    await expect(openSession().getJson('run', { method: 'POST', body: {} })).rejects.toMatchObject({
      code: 'REDIRECTED',
      message: expect.stringMatching(/redirects the request to http:\/\/127\.0\.0\.1:\d+\/at\/run\/there\. /),
    })
    // Behind another port is somebody else, who is not to get what shows who asks.
    server.requests.length = 0
    answer = () => ({ status: 302, headers: { location: 'https://127.0.0.1:9200/at/x' } })
    await expect(openSession().getJson('port')).rejects.toMatchObject({
      code: 'REDIRECTED',
      message: expect.stringContaining('redirects to 127.0.0.1:9200'),
    })
    expect(paths()).toEqual(['/at/port'])
  })

  it('keeps digits that JavaScript would round', async () => {
    answer = () => ({
      headers: { 'content-type': 'application/json' },
      body: '{"a":12345678901234567890,"b":0.1234567890123456789,"c":7}',
    })
    expect(JSON.stringify(await openSession().getJson('x'))).toBe(
      '{"a":12345678901234567890,"b":0.1234567890123456789,"c":7}',
    )
  })

  it('rejects a response that is too large, a web page, or not JSON', async () => {
    answer = () => ({ body: { a: 'x'.repeat(20_000) } })
    await expect(openSession().getJson('x')).rejects.toMatchObject({ code: 'ANSWER_TOO_LARGE' })
    answer = () => ({ headers: { 'content-type': 'text/html' }, body: '<html>Welcome</html>' })
    await expect(openSession().getJson('x')).rejects.toMatchObject({
      code: 'OTHER_PROTOCOL',
      message: expect.stringContaining('web page'),
    })
    answer = () => ({ body: 'pong' })
    await expect(openSession().getJson('x')).rejects.toMatchObject({
      code: 'OTHER_PROTOCOL',
      message: expect.stringContaining('text/plain'),
    })
  })

  it('downloads a body completely after a broken connection, and the body can be read twice', async () => {
    answer = () => ({ body: 'abc'.repeat(1_000) })
    server.fault = () => (server.requests.length === 1 ? 'BREAKS_OFF' : undefined)
    using file = await openSession().download('file')
    for (let times = 0; times < 2; times += 1) {
      let text = ''
      for await (const chunk of file.chunks()) text += chunk.toString()
      expect(text).toBe('abc'.repeat(1_000))
    }
    expect(paths()).toHaveLength(2)
  })
})

describe('a session', () => {
  const signing = (): Partial<HttpConnection> => ({
    signIn: async (http) => {
      const { session } = (await http.getJson('login', { method: 'POST', body: {} })) as { session: string }
      return { cookie: `session=${session}` }
    },
  })
  let current = 0
  beforeEach(() => {
    current = 0
    answer = ({ path, headers }) => {
      if (path === '/at/login') return { body: { session: `number-${(current += 1)}` } }
      return headers.cookie === `session=number-${current}`
        ? { body: {} }
        : { status: 401, body: { detail: headers.cookie } }
    }
  })

  it('signs in once, and again when the session has expired', async () => {
    const http = openSession(signing())
    await http.getJson('one')
    await http.getJson('two')
    current += 1
    await http.getJson('three')
    expect(paths()).toEqual(['/at/login', '/at/one', '/at/two', '/at/three', '/at/login', '/at/three'])
  })

  it('signs in at most twice if it is rejected, and is never part of a message', async () => {
    answer = ({ path, headers }) =>
      path === '/at/login'
        ? { body: { session: 'sesame-sesame' } }
        : { status: 401, body: { detail: `no ${headers.cookie}` } }
    const error = await openSession(signing())
      .getJson('one')
      .catch((one: unknown) => one)
    expect(error).toMatchObject({ code: 'AUTHENTICATION_FAILED' })
    expect((error as Error).message).not.toContain('sesame')
    expect(paths()).toEqual(['/at/login', '/at/one', '/at/login', '/at/one'])
  })
})

describe('a link to the next page', () => {
  it.each([
    ['list?page=2', 'list?page=2'],
    ['/at/list?page=2', 'list?page=2'],
    ['http://127.0.0.1/at/list?page=2', 'list?page=2'],
  ])('%s is resolved to %s', (link, path) => expect(openSession().resolveLink(link)).toBe(path))

  it.each([
    'http://localhost/at/list',
    'https://127.0.0.1.evil.example/at/list',
    '/elsewhere/list',
    '//evil.example/at/x',
  ])('%s is not followed', (link) =>
    expect(() => openSession().resolveLink(link)).toThrow(expect.objectContaining({ code: 'REDIRECTED' })),
  )
})

describe('the error text of a response', () => {
  it('is found in the common fields of error responses', () => {
    expect(findErrorText('{"detail":"a"}')).toBe('a')
    expect(findErrorText('{"issue":[{"severity":"error","diagnostics":"b"}]}')).toBe('b')
    expect(findErrorText('{"error":{"code":7,"message":"c"}}')).toBe('c')
    expect(findErrorText('plain')).toBe('plain')
    expect(findErrorText('<html>no</html>')).toBeUndefined()
    expect(findErrorText('{"code":7}')).toBeUndefined()
  })

  it('is one short line without secrets in any encoding', () => {
    const words = secretRedactor([token, 'p"w'])
    const text = `${token}\n${encodeURIComponent(token)}\t${Buffer.from(token).toString('base64')} ${JSON.stringify('p"w')} ${'x'.repeat(600)}`
    expect(words(text)).toMatch(/^\[redacted\] \[redacted\] \[redacted\] "\[redacted\]" x+$/)
    expect(words(text)).toHaveLength(500)
    const form = new URLSearchParams({ password: 'pass word!x' })
    expect(secretRedactor(['pass word!x'])(`not ${form.toString()}`)).toBe('not password=[redacted]')
  })
})

describe('the manifest of an export', () => {
  it('is rejected if it exceeds the memory limit', async () => {
    const messages = JSON.stringify({ transactionTime: '2026-03-01T10:00:00Z', output: [] })
    answer = ({ path }): StandInResponse =>
      path.endsWith('$export')
        ? { status: 202, headers: { 'content-location': '/at/status' } }
        : { headers: { 'content-type': 'application/json' }, body: messages + ' '.repeat(32_000_000) }
    const http = openSession({}, { maxBytes: 40_000_000 })
    const signal = new AbortController().signal
    const pages = createBulkExport(
      { http, signal, log: () => {} },
      { prefix: 'fhir', types: ['Patient'], streamCount: 1 },
    )('Patient')
    await expect(pages.next()).rejects.toMatchObject({ code: 'ANSWER_TOO_LARGE' })
  })
})
