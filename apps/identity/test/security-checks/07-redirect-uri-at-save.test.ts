import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { startService, type Service } from '../app-under-test.ts'
import { applicationBody } from '../application-body.ts'

let service: Service
let admin: Awaited<ReturnType<Service['as']>>
beforeAll(async () => {
  service = await startService()
  admin = await service.as(['ROLE_SUPER_ADMIN'])
})
afterAll(() => service.stop())

const refused = [
  'http://app.example/callback',
  'http://localhost/callback',
  'http://127.0.0.1.example/callback',
  'http://127.1/callback',
  'javascript:alert(1)//https://app.example/',
  'data:text/html,hello',
  'app.example:/callback',
  'com.example.app:/callback',
  '//app.example/callback',
  '/callback',
  'callback',
  'https:///callback',
  'https://',
  'https://*.app.example/callback',
  'https://app.example/*',
  'https://user@app.example/callback',
  'https://good.example@app.example/callback',
  'https://user:word@app.example/callback',
  'https://app.example/callback#part',
  'https://app.example/callback#',
  'https://app.example/a/../callback',
  'https://app.example/a/%2e%2e/callback',
  'https://app.example/./callback',
  'https://app.example\\@evil.example/callback',
  'https://app.example/a\\b',
  'https://аpp.example/callback',
  'https://app.example/ü',
  'https://APP.example/callback',
  'HTTPS://app.example/callback',
  'https://app.example:443/callback',
  'https://app.example',
  'https://app.example/call back',
  ' https://app.example/callback',
  'https://app.example/callback\r\nLocation: https://evil.example/',
  'https://app.example/callback\u200b',
  'https://app.example/callback\0',
  `https://app.example/${'a'.repeat(5000)}`,
  '',
]

it.each(refused)('an application cannot register the redirect URI %j', async (uri) => {
  const body = applicationBody({ redirectUris: ['https://app.example/fine', uri] })
  const answer = await admin.post('/sso-client-configs').send(body)
  const isTooLong = uri.length > 2000
  expect(answer.status).toBe(isTooLong ? 422 : 400)
  // A body with a NUL character is rejected before validation.
  if (uri.includes('\0')) return expect(answer.body.code).toBe('unreadable-body')
  expect(answer.body.code).toBe(isTooLong ? 'refused' : 'malformed')
  expect(answer.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toContain('/redirectUris/1')
})

it('an application can register https URIs and http URIs of loopback addresses', async () => {
  const redirectUris = [
    'https://app.example/',
    'https://app.example/callback?from=sluice&x=%2F',
    'https://app.example:8443/callback',
    'https://xn--bcher-kva.example/callback',
    'http://127.0.0.1:4711/callback',
    'http://[::1]/callback',
  ]
  const { body } = await admin.post('/sso-client-configs').send(applicationBody({ redirectUris })).expect(201)
  expect(body.redirectUris).toEqual(redirectUris)
  const path = `/clients/${body.client.id}/sso-client-configs/${body.id}`
  await admin
    .put(path)
    .send(applicationBody({ redirectUris: ['http://app.example/'] }))
    .expect(400)
})

it('the error lists every invalid redirect URI', async () => {
  const body = applicationBody({ redirectUris: ['http://a.example/', 'https://b.example/#x', 'https://c.example/'] })
  const { body: problem } = await admin.post('/sso-client-configs').send(body).expect(400)
  expect(problem.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
    '/redirectUris/0',
    '/redirectUris/1',
  ])
})
