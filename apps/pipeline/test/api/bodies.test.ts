import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { schemaBody, startService, type Asking, type Service } from './app-under-test.ts'

let service: Service
let owner: Asking
let token: string
beforeAll(async () => {
  service = await startService()
  const { id } = await service.identity.client()
  const person = await service.identity.person(id, ['ROLE_MANAGE_SCHEMA'])
  token = person.token
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

describe('a body', () => {
  it.each([
    ['nothing at all', '', 400, 'malformed'],
    ['broken off', '{"name":', 400, 'unreadable-body'],
    ['not JSON', 'name=a', 400, 'unreadable-body'],
    ['two values', '{} {}', 400, 'unreadable-body'],
    ['bytes that are no text', Buffer.from([0x22, 0xff, 0xfe, 0x22]), 400, 'unreadable-body'],
    ['a NUL byte', '{"name":"a\0"}', 400, 'unreadable-body'],
    ['a NUL character', String.raw`{"name":"a\u0000"}`, 400, 'unreadable-body'],
    ['as deep as is taken', nested(32), 400, 'malformed'],
    ['deeper', nested(33), 400, 'unreadable-body'],
    ['very deep', nested(400_000), 400, 'unreadable-body'],
    ['deep inside a name', `{"a":${nested(40)}}`, 400, 'unreadable-body'],
    ['brackets in text only', JSON.stringify({ name: '['.repeat(200) + '\\"' }), 400, 'malformed'],
    ['too large', JSON.stringify({ name: 'x'.repeat(1_048_576) }), 413, 'too-large'],
  ])('that is %s is refused', async (_what, content, status, code) => {
    const answer = await json(content)
    expect([answer.status, answer.body.code]).toEqual([status, code])
    expect(answer.headers['content-type']).toMatch('application/problem+json')
  })

  it('may come compressed, but not larger than it may be, nor broken, nor in another way', async () => {
    const gzip = { 'Content-Encoding': 'gzip' }
    await json(gzipSync(JSON.stringify(schemaBody())), gzip).expect(201)
    await json(gzipSync(Buffer.alloc(50_000_000, ' ')), gzip).expect(413)
    await json(gzipSync('{}').subarray(0, 10), gzip).expect(400)
    await json('nonsense', gzip).expect(400)
    await json('{}', { 'Content-Encoding': 'zip' }).expect(415)
    await json('{}', { 'Content-Type': 'application/json; charset=klingon' }).expect(415)
  })

  it('that breaks off is answered as one that did', async () => {
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

describe('an address', () => {
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
  ])('that is none is a problem, such as %s', async (path, status) => {
    const { status: answered, body } = await service.http.get(path).set('authorization', `Bearer ${token}`)
    expect([answered, body.status]).toEqual([status, status])
  })
})

describe('a host', () => {
  it('that is not ours is told so', async () => {
    const { body } = await owner.get('/schemas').set('Host', 'evil.example').expect(421)
    expect(body.code).toBe('misdirected')
  })
})

describe('a problem', () => {
  it('tells nothing of what is inside: no stack, no SQL, no secret', async () => {
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
