import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { schemaBody, startService, type Asking, type Service } from './app-under-test.ts'

let service: Service
let owner: Asking
let token: string
let powerless: string
beforeAll(async () => {
  service = await startService()
  const { id } = await service.identity.client()
  const person = await service.identity.person(id, ['ROLE_MANAGE_SCHEMA'])
  token = person.token
  powerless = (await service.identity.person(id, [])).token
  owner = service.as(person)
})
afterAll(() => service?.stop())

const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
const json = (content: string | Buffer, headers: Record<string, string> = {}) =>
  owner
    .post('/schemas')
    .set({ 'Content-Type': 'application/json', ...headers })
    .serialize((sent) => sent as string)
    .send(content as string)

/**
 * Returns the status of the response to a request with an incomplete body; undefined without a response within five
 * seconds.
 */
async function answerToHalf(path: string, authorization: string, sent: Buffer, announced: number) {
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    ...(authorization ? [`Authorization: ${authorization}`] : []),
    `Content-Length: ${announced}`,
    'Content-Type: application/json',
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  socket.write(sent)
  try {
    const [answer] = (await once(socket, 'data', { signal: AbortSignal.timeout(5_000) })) as [Buffer]
    return Number(/^HTTP\/1.1 (\d+) /.exec(answer.toString())?.[1])
  } catch {
    return undefined
  } finally {
    socket.destroy()
  }
}

describe('a request body', () => {
  it.each([
    ['empty', '', 400, 'malformed'],
    ['truncated', '{"name":', 400, 'unreadable-body'],
    ['not JSON', 'name=a', 400, 'unreadable-body'],
    ['two values', '{} {}', 400, 'unreadable-body'],
    ['not valid UTF-8', Buffer.from([0x22, 0xff, 0xfe, 0x22]), 400, 'unreadable-body'],
    ['a NUL byte', '{"name":"a\0"}', 400, 'unreadable-body'],
    ['a NUL character', String.raw`{"name":"a\u0000"}`, 400, 'unreadable-body'],
    ['at the nesting limit, but not an object', nested(32), 400, 'malformed'],
    ['one level above the nesting limit', nested(33), 400, 'unreadable-body'],
    ['nested very deeply', nested(400_000), 400, 'unreadable-body'],
    ['nested too deeply inside a field', `{"a":${nested(40)}}`, 400, 'unreadable-body'],
    ['invalid, with brackets only in a text', JSON.stringify({ name: '['.repeat(200) + '\\"' }), 400, 'malformed'],
    ['too large', JSON.stringify({ name: 'x'.repeat(1_048_576) }), 413, 'too-large'],
  ])('that is %s is refused', async (_what, content, status, code) => {
    const answer = await json(content)
    expect([answer.status, answer.body.code]).toEqual([status, code])
    expect(answer.headers['content-type']).toMatch('application/problem+json')
  })

  it('is refused if it is compressed or not in UTF-8', async () => {
    for (const encoding of ['gzip', 'deflate', 'br', 'zip']) {
      const { body } = await json(gzipSync(JSON.stringify(schemaBody())), { 'Content-Encoding': encoding }).expect(415)
      expect(body.code).toBe('unsupported-media-type')
    }
    await json('{}', { 'Content-Type': 'application/json; charset=klingon' }).expect(415)
  })

  it.each([
    ['without a token', '/api/v1/schemas', () => '', 401],
    ['with an invalid token', '/api/v1/schemas', () => 'Bearer x', 401],
    ['without the role', '/api/v1/schemas', () => `Bearer ${powerless}`, 403],
    ['to an unknown address', '/api/v1/x', () => 'x', 404],
  ])('%s is not read before the response', async (_what, path, authorization, status) => {
    // All but the last byte: a server that reads the body first never answers.
    expect(await answerToHalf(path, authorization(), Buffer.alloc(1_000, ' '), 1_001)).toBe(status)
  })

  it('of a public operation is limited to 16 KiB', async () => {
    const uid = '00000000-0000-4000-8000-000000000000'
    const send = (size: number) =>
      service.http
        .get(`/api/v1/public/views/${uid}`)
        .set({ authorization: 'x', 'content-type': 'application/json' })
        .serialize((sent) => sent as unknown as string)
        .send(' '.repeat(size) as never)
    await send(17_000).expect(413)
  })

  it('that ends before its Content-Length gets 400', async () => {
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
    const head = [
      'POST /api/v1/schemas HTTP/1.1',
      'Host: 127.0.0.1',
      `Authorization: Bearer ${token}`,
      'Content-Length: 9',
    ]
    socket.write([...head, 'Content-Type: application/json', 'Connection: close', '', '{"a"'].join('\r\n'))
    socket.end()
    expect(await text(socket)).toMatch(/^HTTP\/1.1 400 /)
  })
})

describe('an unknown or malformed path', () => {
  it.each([
    ['/api/v1/nothing', 404],
    ['/api/v1/schemas/', 404],
    ['/api/v1/SCHEMAS', 404],
    ['/api/v2/schemas', 404],
    ['/api/v1/schemas/%zz', 400],
    ['/api/v1/schemas/%c0%ae', 400],
    ['/api/v1/schemas/..%2f..%2fetc%2fpasswd', 404],
    [`/api/v1/schemas/${'x'.repeat(500)}`, 404],
    [`/api/v1/schemas?query=${'x'.repeat(201)}`, 400],
    ['/docs/assets/..%2f..%2fpackage.json', 404],
    ['/.env', 404],
  ])('returns a problem: %s', async (path, status) => {
    const { status: answered, body } = await service.http.get(path).set('authorization', `Bearer ${token}`)
    expect([answered, body.status]).toEqual([status, status])
  })
})

describe('a request', () => {
  it('to another host gets 421', async () => {
    const { body } = await owner.get('/schemas').set('Host', 'evil.example').expect(421)
    expect(body.code).toBe('misdirected')
  })
})

describe('an error response', () => {
  it('contains no stack trace, SQL or secret', async () => {
    const { db } = service.stack
    await sql`alter table schemas rename column permanent to perm`.execute(db)
    const broken = [
      await owner.post('/schemas').send(schemaBody()),
      await owner.get('/schemas?filter=permanent:eq:true'),
    ]
    await sql`alter table schemas rename column perm to permanent`.execute(db)
    const answers = [
      ...broken,
      await json('{"name":'),
      await json(nested(33)),
      await owner.get("/schemas?filter=name:eq:';select"),
      await owner.get('/nothing'),
    ]
    expect(broken.map(({ status, body }) => [status, body.code])).toEqual([
      [500, 'internal'],
      [500, 'internal'],
    ])
    const secrets = [service.config.SERVICE_SECRET, token, new URL(service.config.PIPELINE_DATABASE_URL).password]
    for (const { text: said } of answers) {
      expect(said).not.toMatch(/\.ts|node_modules|\bat \S+ \(|select |insert |column "|relation|PostgreSQL|kysely/i)
      for (const secret of secrets) expect(said).not.toContain(secret)
    }
    const { requestId } = broken[0]!.body
    const line = service
      .log()
      .split('\n')
      .find((line) => line.includes(requestId) && line.includes('stack'))
    expect(JSON.parse(line!)).toMatchObject({
      operation: 'schemas.create',
      err: { message: expect.stringContaining('permanent') },
    })
    for (const secret of secrets) expect(service.log()).not.toContain(secret)
  })
})
