import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { startService, type Service } from '../app-under-test.ts'
import { published, relyingParty } from '../openid-provider/relying-party.ts'

let service: Service
let party: Awaited<ReturnType<typeof relyingParty>>
let native: Awaited<ReturnType<typeof relyingParty>>
beforeAll(async () => {
  service = await startService()
  party = await relyingParty(service, {
    redirectUris: ['https://app.example/callback?x=1', 'https://app.example:8443/back'],
  })
  native = await relyingParty(service, { redirectUris: ['http://127.0.0.1:4711/callback'] })
})
afterAll(() => service.stop())

const registeredOfAnother = 'https://other.example/callback'
const refused = [
  'https://app.example/callback',
  'https://app.example/callback/?x=1',
  'https://app.example/Callback?x=1',
  'https://APP.example/callback?x=1',
  'https://app.example/callback?x=1&y=2',
  'https://app.example/callback?x=1#part',
  'https://app.example/%63allback?x=1',
  'https://app.example/a/../callback?x=1',
  'https://app.example%2Fcallback?x=1',
  'https://app.example:443/callback?x=1',
  'https://app.example:8444/back',
  'https://app.example.evil.example/callback?x=1',
  'https://evil.example/https://app.example/callback?x=1',
  'https://app.example@evil.example/callback?x=1',
  'http://app.example/callback?x=1',
  'javascript:alert(1)',
  '//evil.example/',
  '',
  registeredOfAnother,
]

it.each(refused)('a request with the redirect URI %j gets an error page instead of a redirect', async (uri) => {
  await relyingParty(service, { redirectUris: [registeredOfAnother] })
  const { url } = await party.begin({ redirect_uri: uri })
  const page = await party.browser().open(url)
  expect([page.status, page.url.origin]).toEqual([400, published])
  expect(page.headers.get('content-type')).toMatch('text/html')
  expect(page.html).not.toMatch(/(href|action)="[^"]*(example|javascript)/)
})

it('a request with two redirect URIs, or without one, is rejected', async () => {
  const { url } = await party.begin()
  url.searchParams.append('redirect_uri', 'https://evil.example/')
  expect((await party.browser().open(url)).status).toBe(400)
  const { url: without } = await native.begin()
  without.searchParams.delete('redirect_uri')
  expect((await native.browser().open(without)).status).toBe(400)
})

it('a loopback redirect URI may have another port than the registered one, and no other difference', async () => {
  const user = await native.user()
  const { page } = await native.signIn(user.username).catch((error: Error) => ({ page: error }))
  expect(page).toHaveProperty('url.origin', 'http://127.0.0.1:4711')
  const { url } = await native.begin({ redirect_uri: 'http://127.0.0.1:5000/callback' })
  expect((await native.browser().open(url)).html).toContain('name="password"')
  for (const uri of [
    'http://127.0.0.1:5000/other',
    'http://127.0.0.2:4711/callback',
    'http://localhost:4711/callback',
    'http://[::1]:4711/callback',
    'http://127.0.0.1:4711@evil.example/callback',
  ])
    expect((await native.browser().open((await native.begin({ redirect_uri: uri })).url)).status).toBe(400)
})
