import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { applicationScopes } from '@sluice/contracts'
import { stylesheetPath } from '../../src/pages/stylesheet.ts'
import { en } from '../../src/pages/texts/en.ts'
import { de } from '../../src/pages/texts/de.ts'
import { goodPassword, startService, type Service } from '../app-under-test.ts'
import type { Browser, Page } from './browser.ts'
import { relyingParty } from './relying-party.ts'

/** The pages that an application's people see, where Sluice is published below a path and they read German. */

const at = 'http://localhost:3001/identity'
let service: Service
let party: Awaited<ReturnType<typeof relyingParty>>
beforeAll(async () => {
  service = await startService({ IDENTITY_PUBLIC_URL: at })
  const scopes = ['openid', 'profile', 'email', 'ROLE_SEE_VIEW', 'ROLE_MANAGE_USER_GROUP'] as const
  party = await relyingParty(service, { scopes: [...scopes] }, [], at)
})
afterAll(() => service.stop())

const german = { headers: { 'accept-language': 'de-CH, en;q=0.5' } }
const inGerman = (browser: Browser, page: Page) => browser.ask(page.url, german)
const begin = async (scope: string, browser = party.browser()) => {
  const { url } = await party.begin({ scope })
  return { browser, page: await browser.open(url) }
}
/** The question what the application may do, for somebody who has just signed in. */
const question = async (scope: string) => {
  const user = await party.user(['ROLE_SEE_VIEW', 'ROLE_MANAGE_USER_GROUP'])
  const { browser, page } = await begin(scope)
  const asked = await browser.submit(page, { username: user.username, password: goodPassword })
  return { browser, page: await inGerman(browser, asked) }
}

describe('the pages of an application’s sign-in', () => {
  it('ask in German what the application may do, to the last scope', async () => {
    const { page } = await question('openid profile email ROLE_SEE_VIEW ROLE_MANAGE_USER_GROUP')
    expect(page.html).toContain('<html lang="de">')
    const listed = [...page.html.matchAll(/<li>(.*?)<\/li>/g)].map(([, text]) => text)
    const { profile, email, ROLE_SEE_VIEW, ROLE_MANAGE_USER_GROUP } = de.scopes
    const wanted = [profile, email, ROLE_SEE_VIEW, ROLE_MANAGE_USER_GROUP, de.consent.account]
    expect(listed.toSorted()).toEqual(wanted.toSorted())
    for (const text of Object.values(en.scopes)) expect(page.html).not.toContain(`>${text}<`)
  })

  it('have words for every scope that there is', () => {
    expect(Object.keys(en.scopes).toSorted()).toEqual([...applicationScopes].toSorted())
  })

  it('say in German what the application did wrong', async () => {
    const { url } = await party.begin()
    url.searchParams.set('client_id', 'nobody')
    const { html, headers } = await party.browser().ask(url, german)
    expect(html).toContain(de.application.unknown.title)
    expect(html).toContain(de.application.forDevelopers)
    expect(headers.get('content-security-policy')).toContain("default-src 'none'; style-src 'self'")
  })

  it('say in German that the account elsewhere did not do', async () => {
    const { browser, page } = await begin('openid')
    const { html } = await browser.ask(new URL(`${page.url.href}/federated?problem=x`), german)
    expect(html).toContain(de.application.federated)
  })

  it('find their stylesheet below the path', async () => {
    const { browser, page: signIn } = await begin('openid')
    const { browser: signedIn, page: consent } = await question('openid profile')
    const gone = await party.browser().open(signIn.url)
    const refused = await browser.ask(new URL(`${signIn.url.href}/login`), {
      method: 'POST',
      body: new URLSearchParams(),
    })
    const signedOut = await browser.open(`${at}/oidc/session/end/success`)
    const signOut = await signedIn.open(`${at}/oidc/session/end`)
    const { url } = await party.begin()
    url.searchParams.set('client_id', 'nobody')
    const unknown = await browser.open(url)
    expect([gone.status, refused.status, unknown.status]).toEqual([400, 403, 400])
    for (const { html } of [signIn, consent, gone, refused, signedOut, signOut, unknown])
      expect(html).toContain(`href="/identity${stylesheetPath}"`)
    expect((await browser.open(`${at}${stylesheetPath}`)).status).toBe(200)
  })

  it('let the page for a new password know for whom one wanted to sign in', async () => {
    const { browser, page } = await begin('openid')
    const [, href] = /href="([^"]+forgot-password)"/.exec(page.html) ?? []
    expect(href).toBe('/identity/account/forgot-password')
    const { rows } = await sql<{ name: string }>`select name from clients where uid = ${party.organisation}`.execute(
      service.db,
    )
    expect((await browser.open(new URL(href!, page.url))).html).toContain(rows[0]!.name)
  })

  it('are pages as well where something breaks on our side', async () => {
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
