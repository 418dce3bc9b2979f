import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { sealSecret } from '../../src/sign-in/federated/provider-config.ts'
import type { Service } from '../app-under-test.ts'
import { registered, startTestProvider, type TestProvider } from '../federated/identity-provider-stand-in.ts'
import { followRedirect, createSsoUser, startServiceBesideProviders } from '../federated/federated-sign-in-setup.ts'
import type { Browser, Page } from './http-browser-client.ts'
import { relyingParty } from './relying-party.ts'

/** Users sign in to an application of Sluice through the provider of their organisation. */

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

const providerLink = (page: Page): string => {
  const [, href] = /class="button quiet" href="([^"]+)"/.exec(page.html) ?? []
  if (!href) throw new Error(`no link to a provider: ${page.html}`)
  return href.replaceAll('&amp;', '&')
}
/** Follows the link on the sign-in page to the provider, and the redirect back. */
const signInAtProvider = async (browser: Browser, page: Page): Promise<Page> => {
  const { url } = await browser.open(providerLink(page))
  return browser.open(await followRedirect(url.href))
}
const openSessions = async (uid: string) =>
  (
    await sql`select from sessions s join users u on u.id = s.user_id where u.uid = ${uid} and s.ended_at is null`.execute(
      service.db,
    )
  ).rows.length

it('a user of the provider signs in to an application, with consent and one session', async () => {
  const ssoId = randomUUID()
  provider.person = { sub: ssoId }
  const user = await createSsoUser(service, { client: party.organisation, ssoId, roles: ['ROLE_SEE_VIEW'] })
  const browser = party.browser()
  const { url, finish } = await party.begin({ scope: 'openid ROLE_SEE_VIEW' })
  const page = await browser.open(url)
  expect(page.html).toContain(new URL(provider.issuer).host)
  const question = await signInAtProvider(browser, page)
  expect(question.html).toContain('value="allow"')
  const tokens = await finish(await browser.submit(question, { decision: 'allow' }))
  expect(tokens.claims()!.sub).toBe(user.uid)
  await service.withToken(tokens.access_token).get('/users/me').expect(200)
  expect(await openSessions(user.uid)).toBe(1)
})

it('an unknown user of the provider gets the sign-in page with an error', async () => {
  provider.person = { sub: 'a-stranger' }
  const browser = party.browser()
  const page = await browser.open((await party.begin()).url)
  const result = await signInAtProvider(browser, page)
  expect([result.status, result.url.pathname]).toEqual([401, `${page.url.pathname}/federated`])
  expect(result.html).toContain('Sign-in with your organisation’s account failed')
  expect(result.html).toContain('name="password"')
})

it('a ticket is refused in another browser, and is invalid afterwards', async () => {
  const ssoId = randomUUID()
  provider.person = { sub: ssoId }
  const user = await createSsoUser(service, { client: party.organisation, ssoId })
  const victim = party.browser()
  const victimPage = await victim.open((await party.begin()).url)
  const attacker = party.browser()
  const attackerPage = await attacker.open((await party.begin()).url)
  const { url } = await attacker.open(providerLink(attackerPage))
  const callback = new URL(await followRedirect(url.href))
  // Not with the browser, which would follow the redirect and use the ticket.
  const answer = await service.http
    .get(callback.pathname + callback.search)
    .set('cookie', attacker.cookies.map(({ name, value }) => `${name}=${value}`).join('; '))
  const ticket = new URL(answer.headers['location'] as string).search
  expect(ticket).toMatch(/^\?ticket=/)
  expect((await victim.open(`${victimPage.url.pathname}/federated${ticket}`)).status).toBe(401)
  expect(await openSessions(user.uid)).toBe(0)
  expect((await attacker.open(`${attackerPage.url.pathname}/federated${ticket}`)).status).toBe(401)
  expect((await attacker.open(attackerPage.url)).html).toContain('name="password"')
})
