import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { applicationScopes } from '@sluice/contracts'
import { stylesheetPath } from '../../src/pages/stylesheet.ts'
import { en } from '../../src/pages/texts/en.ts'
import { de } from '../../src/pages/texts/de.ts'
import { goodPassword, startService, type Service } from '../app-under-test.ts'
import type { Browser, Page } from './http-browser-client.ts'
import { relyingParty } from './relying-party.ts'

/** Pages of a sign-in to an application, below a path of the public URL and in German. */

const publicUrl = 'http://localhost:3001/identity'
let service: Service
let party: Awaited<ReturnType<typeof relyingParty>>
beforeAll(async () => {
  service = await startService({ IDENTITY_PUBLIC_URL: publicUrl })
  const scopes = ['openid', 'profile', 'email', 'ROLE_SEE_VIEW', 'ROLE_MANAGE_USER_GROUP'] as const
  party = await relyingParty(service, { scopes: [...scopes] }, [], publicUrl)
})
afterAll(() => service.stop())

const german = { headers: { 'accept-language': 'de-CH, en;q=0.5' } }
const inGerman = (browser: Browser, page: Page) => browser.ask(page.url, german)
const begin = async (scope: string, browser = party.browser()) => {
  const { url } = await party.begin({ scope })
  return { browser, page: await browser.open(url) }
}
/** The consent page of an application, for a user who has just signed in. */
const openConsentPage = async (scope: string) => {
  const user = await party.user(['ROLE_SEE_VIEW', 'ROLE_MANAGE_USER_GROUP'])
  const { browser, page } = await begin(scope)
  const consent = await browser.submit(page, { username: user.username, password: goodPassword })
  return { browser, page: await inGerman(browser, consent) }
}

describe('the pages of a sign-in to an application', () => {
  it('list every requested scope in German on the consent page', async () => {
    const { page } = await openConsentPage('openid profile email ROLE_SEE_VIEW ROLE_MANAGE_USER_GROUP')
    expect(page.html).toContain('<html lang="de">')
    const listedTexts = [...page.html.matchAll(/<li>(.*?)<\/li>/g)].map(([, text]) => text)
    const { profile, email, ROLE_SEE_VIEW, ROLE_MANAGE_USER_GROUP } = de.scopes
    const expectedTexts = [profile, email, ROLE_SEE_VIEW, ROLE_MANAGE_USER_GROUP, de.consent.account]
    expect(listedTexts.toSorted()).toEqual(expectedTexts.toSorted())
    for (const text of Object.values(en.scopes)) expect(page.html).not.toContain(`>${text}<`)
  })

  it('have a text for every scope', () => {
    expect(Object.keys(en.scopes).toSorted()).toEqual([...applicationScopes].toSorted())
  })

  it('describe an invalid request of an application in German', async () => {
    const { url } = await party.begin()
    url.searchParams.set('client_id', 'nobody')
    const { html, headers } = await party.browser().ask(url, german)
    expect(html).toContain(de.application.unknown.title)
    expect(html).toContain(de.application.forDevelopers)
    expect(headers.get('content-security-policy')).toContain("default-src 'none'; style-src 'self'")
  })

  it('describe a failed federated sign-in in German', async () => {
    const { browser, page } = await begin('openid')
    const { html } = await browser.ask(new URL(`${page.url.href}/federated?problem=x`), german)
    expect(html).toContain(de.application.federated)
  })

  it('link to the stylesheet below the path of the public URL', async () => {
    const { browser, page: signIn } = await begin('openid')
    const { browser: signedIn, page: consent } = await openConsentPage('openid profile')
    const otherBrowser = await party.browser().open(signIn.url)
    const refused = await browser.ask(new URL(`${signIn.url.href}/login`), {
      method: 'POST',
      body: new URLSearchParams(),
    })
    const signedOut = await browser.open(`${publicUrl}/oidc/session/end/success`)
    const signOut = await signedIn.open(`${publicUrl}/oidc/session/end`)
    const { url } = await party.begin()
    url.searchParams.set('client_id', 'nobody')
    const unknown = await browser.open(url)
    expect([otherBrowser.status, refused.status, unknown.status]).toEqual([400, 403, 400])
    for (const { html } of [signIn, consent, otherBrowser, refused, signedOut, signOut, unknown])
      expect(html).toContain(`href="/identity${stylesheetPath}"`)
    expect((await browser.open(`${publicUrl}${stylesheetPath}`)).status).toBe(200)
  })

  it('name the organisation on the forgot-password page that the sign-in page links to', async () => {
    const { browser, page } = await begin('openid')
    const [, href] = /href="([^"]+forgot-password)"/.exec(page.html) ?? []
    expect(href).toBe('/identity/account/forgot-password')
    const { rows } = await sql<{ name: string }>`select name from clients where uid = ${party.organisation}`.execute(
      service.db,
    )
    expect((await browser.open(new URL(href!, page.url))).html).toContain(rows[0]!.name)
  })

  it('show an internal error in German with its request id, and its reason only in the log', async () => {
    const { browser, page } = await begin('openid')
    await sql`alter table sso_provider_configs rename to elsewhere`.execute(service.db)
    try {
      const { status, html, headers } = await inGerman(browser, page)
      expect(status).toBe(500)
      expect(html).toContain(de.problems.internalTitle)
      expect(html).toContain(headers.get('x-request-id'))
      expect(html).not.toMatch(/relation|select|elsewhere/)
      expect(service.lines.join('')).toContain('relation \\"sso_provider_configs\\" does not exist')
    } finally {
      await sql`alter table elsewhere rename to sso_provider_configs`.execute(service.db)
    }
  })
})
