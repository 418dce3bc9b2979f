import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import { sql } from 'kysely'
import type { Service } from '../app-under-test.ts'
import { consoleClient, consoleSettings } from '../openid-provider/built-in-clients.ts'
import { relyingParty } from '../openid-provider/relying-party.ts'
import { startTestProvider, type TestProvider } from './identity-provider-stand-in.ts'
import {
  insertProviderConfig,
  followRedirect,
  createSsoUser,
  startServiceBesideProviders,
} from './federated-sign-in-setup.ts'

let service: Service
let provider: TestProvider
let party: Awaited<ReturnType<typeof relyingParty>>
let web: Awaited<ReturnType<typeof consoleClient>>
beforeAll(async () => {
  service = await startServiceBesideProviders(consoleSettings)
  web = await consoleClient(service)
  provider = await startTestProvider()
  party = await relyingParty(service)
  await insertProviderConfig(service, party.organisation, provider.issuer)
})
afterAll(async () => {
  await provider.stop()
  await service.stop()
})

/** Starts a sign-in to an application, follows the link to the provider, and returns to Sluice. */
async function signInAtProvider() {
  const { url, finish } = await party.begin()
  const browser = party.browser()
  const page = await browser.open(url)
  const [, link = ''] = /href="([^"]*\/auth\/sso\/[^"]*)"/.exec(page.html) ?? []
  const atProvider = await browser.open(link.replaceAll('&amp;', '&'))
  expect(atProvider.url.origin).toBe(provider.issuer)
  return { browser, finish, page: await browser.open(await followRedirect(atProvider.url.href)) }
}

it('signs users in to an application through the provider of their organisation', async () => {
  provider.person = { sub: 'grace' }
  const user = await createSsoUser(service, { client: party.organisation, ssoId: 'grace', roles: ['ROLE_SEE_VIEW'] })
  const { browser, finish, page } = await signInAtProvider()
  const callback = page.html.includes('value="allow"') ? await browser.submit(page, { decision: 'allow' }) : page
  const tokens = await finish(callback)
  expect(decodeJwt(tokens.id_token!).sub).toBe(user.uid)
  const { rows } = await sql`
    select from sessions s join users u on u.id = s.user_id where u.uid = ${user.uid} and s.ended_at is null`.execute(
    service.db,
  )
  expect(rows).toHaveLength(1)
})

it('returns to the sign-in page with an error when the provider authenticates an unknown user', async () => {
  provider.person = { sub: 'nobody' }
  const { page } = await signInAtProvider()
  expect([page.status, page.url.pathname]).toEqual([401, expect.stringMatching(/^\/interaction\/[\w-]+\/federated$/)])
  expect(page.html).toContain('name="password"')
})

it('signs users in to the console through the provider of the organisation whose code they enter', async () => {
  provider.person = { sub: 'ada' }
  const user = await createSsoUser(service, { client: party.organisation, ssoId: 'ada', roles: ['ROLE_MANAGE_USER'] })
  const { rows } = await sql<{ code: string }>`select code from clients where uid = ${party.organisation}`.execute(
    service.db,
  )
  const { url, finish } = await web.begin({ scope: 'openid' })
  const browser = web.browser()
  const start = await browser.open(url)
  expect(start.html).not.toContain('/auth/sso/')
  const withCode = (code: string) =>
    browser.open(`${start.url.pathname}?${new URLSearchParams({ organisation: code })}`)
  for (const code of ['nobody', '<script>', 'x'.repeat(300), "'"]) {
    const { status, html } = await withCode(code)
    expect([status, html.includes('/auth/sso/'), html.includes('<script>')]).toEqual([200, false, false])
  }
  const page = await withCode(rows[0]!.code.toUpperCase())
  const [, link = ''] = /href="([^"]*\/auth\/sso\/[^"]*)"/.exec(page.html) ?? []
  const atProvider = await browser.open(link.replaceAll('&amp;', '&'))
  const tokens = await finish(await browser.open(await followRedirect(atProvider.url.href)))
  expect(tokens.claims()!.sub).toBe(user.uid)
  const { body } = await service.withToken(tokens.access_token).get('/session').expect(200)
  expect(body.user.auths).toEqual(['ROLE_MANAGE_USER'])
})
