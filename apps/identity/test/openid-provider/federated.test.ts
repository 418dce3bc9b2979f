import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { sealSecret } from '../../src/sign-in/federated/provider-config.ts'
import type { Service } from '../app-under-test.ts'
import { registered, startTestProvider, type TestProvider } from '../federated/test-provider.ts'
import { followed, ssoUser, startServiceBesideProviders } from '../federated/federated-sign-in-setup.ts'
import type { Browser, Page } from './browser.ts'
import { relyingParty } from './relying-party.ts'

/** An application signs in here whoever their organisation's own provider signs in there. */

let service: Service
let provider: TestProvider
let party: Awaited<ReturnType<typeof relyingParty>>
beforeAll(async () => {
  service = await startServiceBesideProviders()
  provider = await startTestProvider()
  party = await relyingParty(service)
  const uid = randomUUID()
  const secret = sealSecret(uid, registered.clientSecret, service.config.SECRET_KEYS)
  await sql`
    insert into sso_provider_configs (uid, client, provider, client_id, client_secret, client_domain, mapping_claim)
    values (${uid}, ${party.organisation}, 'GENERIC', ${registered.clientId}, ${secret}, ${provider.issuer}, 'sub')`.execute(
    service.db,
  )
})
afterAll(async () => {
  await provider.stop()
  await service.stop()
})
beforeEach(() => {
  provider.misbehaviour = {}
})

const linkOn = (page: Page): string => {
  const [, href] = /class="button quiet" href="([^"]+)"/.exec(page.html) ?? []
  if (!href) throw new Error(`no link to a provider: ${page.html}`)
  return href.replaceAll('&amp;', '&')
}
/** The way to the provider, through it, and back. */
const through = async (browser: Browser, page: Page): Promise<Page> => {
  const there = await browser.open(linkOn(page))
  return browser.open(await followed(there.url.href))
}
const openSessions = async (uid: string) =>
  (
    await sql`select from sessions s join users u on u.id = s.user_id where u.uid = ${uid} and s.ended_at is null`.execute(
      service.db,
    )
  ).rows.length

it('signs in to an application whoever the organisation’s provider signs in', async () => {
  const ssoId = randomUUID()
  provider.person = { sub: ssoId }
  const user = await ssoUser(service, { client: party.organisation, ssoId, roles: ['ROLE_SEE_VIEW'] })
  const browser = party.browser()
  const { url, finish } = await party.begin({ scope: 'openid ROLE_SEE_VIEW' })
  const page = await browser.open(url)
  expect(page.html).toContain(new URL(provider.issuer).host)
  const question = await through(browser, page)
  expect(question.html).toContain('value="allow"')
  const tokens = await finish(await browser.submit(question, { decision: 'allow' }))
  expect(tokens.claims()!.sub).toBe(user.uid)
  await service.bearing(tokens.access_token).get('/users/me').expect(200)
  expect(await openSessions(user.uid)).toBe(1)
})

it('comes back to the page, with a word, when nobody was signed in there', async () => {
  provider.person = { sub: 'a-stranger' }
  const browser = party.browser()
  const page = await browser.open((await party.begin()).url)
  const back = await through(browser, page)
  expect([back.status, back.url.pathname]).toEqual([401, `${page.url.pathname}/federated`])
  expect(back.html).toContain('Sign-in with your organisation’s account failed')
  expect(back.html).toContain('name="password"')
})

it('takes a ticket in the browser and interaction that it was made for, once', async () => {
  const ssoId = randomUUID()
  provider.person = { sub: ssoId }
  const user = await ssoUser(service, { client: party.organisation, ssoId })
  const victim = party.browser()
  const theirs = await victim.open((await party.begin()).url)
  const attacker = party.browser()
  const page = await attacker.open((await party.begin()).url)
  const there = await attacker.open(linkOn(page))
  const callback = new URL(await followed(there.url.href))
  // The last step by hand, to have the ticket.
  const answer = await service.http
    .get(callback.pathname + callback.search)
    .set('cookie', attacker.cookies.map(({ name, value }) => `${name}=${value}`).join('; '))
  const ticket = new URL(answer.headers['location'] as string).search
  expect(ticket).toMatch(/^\?ticket=/)
  expect((await victim.open(`${theirs.url.pathname}/federated${ticket}`)).status).toBe(401)
  expect(await openSessions(user.uid)).toBe(0)
  expect((await attacker.open(`${page.url.pathname}/federated${ticket}`)).status).toBe(401)
  expect((await attacker.open(page.url)).html).toContain('name="password"')
  expect(user.client).toBe(party.organisation)
})
