import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { startService, userBody, type Service } from '../app-under-test.ts'

let service: Service
let admin: Awaited<ReturnType<Service['as']>>
beforeAll(async () => {
  service = await startService()
  admin = await service.as(['ROLE_SUPER_ADMIN'])
})
afterAll(() => service.stop())

const send = (text: string | Buffer) =>
  admin
    .post('/users')
    .set('content-type', 'application/json')
    .send(text as string)
const refused = async (text: string, statuses: number[]) => {
  const answer = await send(text)
  expect(statuses).toContain(answer.status)
  expect(answer.headers['content-type']).toMatch(/problem\+json/)
  return answer.body
}

it('refuses a body that is larger than 1 MiB', async () => {
  const { code } = await refused(JSON.stringify({ ...userBody(), name: 'x'.repeat(10_000_000) }), [413])
  expect(code).toBe('too-large')
})

it('refuses compressed JSON from every caller', async () => {
  const { status, body } = await admin
    .post('/users')
    .set('content-type', 'application/json')
    .set('content-encoding', 'gzip')
    .serialize((given: unknown) => given as string)
    .send(gzipSync(JSON.stringify(userBody())) as unknown as object)
  expect([status, body.code]).toEqual([415, 'unsupported-media-type'])
})

it('refuses a form at the token endpoint that is larger than 16 KiB or compressed', async () => {
  const token = () => service.http.post('/oidc/token').set('content-type', 'application/x-www-form-urlencoded')
  const long = await token().send(`grant_type=client_credentials&x=${'x'.repeat(17_000)}`)
  const packed = await token()
    .set('content-encoding', 'gzip')
    .serialize((given: unknown) => given as string)
    .send(gzipSync('grant_type=client_credentials') as unknown as object)
  expect([long, packed].map(({ status, body }) => [status, body.error])).toEqual([
    [413, 'invalid_request'],
    [415, 'invalid_request'],
  ])
  expect((await token().send('grant_type=client_credentials')).status).toBe(400)
})

it('refuses a sign-in body that is larger than 16 KiB or compressed', async () => {
  const login = () =>
    service.http
      .post('/api/v1/auth/login')
      .set('content-type', 'application/json')
      .serialize((given: unknown) => given as string)
  await login()
    .send(`[${'1,'.repeat(10_000)}1]` as unknown as object)
    .expect(413)
  await login()
    .set('content-encoding', 'gzip')
    .send(gzipSync('{}') as unknown as object)
    .expect(415)
})

it.each([
  ['arrays', '['.repeat(100_000) + ']'.repeat(100_000)],
  ['objects', '{"a":'.repeat(50_000) + '1' + '}'.repeat(50_000)],
  ['arrays in a property', `{"name":${'['.repeat(5_000)}${']'.repeat(5_000)}}`],
])('refuses %s nested deeper than 32 levels', async (_what, text) => {
  const { code } = await refused(text, [400])
  expect(code).toBe('unreadable-body')
})

it.each([
  ['40,000 roles', { auths: Array.from({ length: 40_000 }, (_, index) => `ROLE_${index}`) }],
  [
    '10,000 translations',
    {
      translations: Array.from({ length: 10_000 }, (_, index) => ({
        locale: 'fr',
        property: 'NAME',
        value: `${index}`,
      })),
    },
  ],
  ['100,000 fileAccessInstances', { fileAccessInstances: Array.from({ length: 100_000 }, (_, index) => `${index}`) }],
  [
    '10,000 groups',
    { userGroups: Array.from({ length: 10_000 }, () => ({ id: '00000000-0000-4000-8000-000000000000' })) },
  ],
])('refuses %s with 422 and at most 100 errors', async (_what, property) => {
  const { errors } = await refused(JSON.stringify({ ...userBody(), ...property }), [422])
  expect(errors.length).toBeLessThanOrEqual(100)
})

it('refuses a body that is not JSON, not an object, or not UTF-8', async () => {
  for (const text of ['{', '"', '[1,]', 'nul', '{"a":1}}', '1', 'true', '""']) await refused(text, [400])
  const answer = await admin
    .post('/users')
    .set('content-type', 'application/json')
    .serialize((body: unknown) => body as string)
    .send(Buffer.from([0x22, 0xff, 0xfe, 0x22]) as unknown as object)
  expect(answer.status).toBe(400)
})

it('serves other requests while it receives deeply nested bodies', async () => {
  const hostile = Array.from({ length: 20 }, () => send('['.repeat(500_000)))
  const { status } = await admin.get('/users/me')
  expect(status).toBe(200)
  expect(new Set((await Promise.all(hostile)).map((answer) => answer.status))).toEqual(new Set([400]))
})
