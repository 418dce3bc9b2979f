import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Browser, HTTPResponse, Page } from 'puppeteer-core'
import { goodPassword } from '../app-under-test.ts'
import { applicationBody } from '../application.ts'
import { chromiumIsThere, startBrowser, textOf, visit } from '../pages/browser.ts'
import { ask, freePort, startInstallation, type Installation } from '../real-processes.ts'
import { apacheIsThere, startApache } from './apache.ts'

const missing = [!apacheIsThere && 'apache2 and libapache2-mod-auth-openidc', !chromiumIsThere && 'chromium'].filter(
  Boolean,
)
const describeHere = missing.length > 0 ? describe.skip : describe
const why = missing.length > 0 ? ` (left out: ${missing.join(', ')} not installed)` : ''

describeHere(`an Apache with mod_auth_openidc${why}`, () => {
  const body = applicationBody({
    clientName: 'Apache',
    scopes: ['openid', 'profile', 'email', 'offline_access', 'ROLE_MANAGE_USER'],
  })
  let installation: Installation
  let apache: AsyncDisposable
  let browser: Browser
  let site: string
  let token: string

  beforeAll(async () => {
    installation = await startInstallation()
    const [identity] = installation.identity as [string]
    const port = await freePort()
    site = `http://127.0.0.1:${port}`
    const login = { username: 'admin', password: goodPassword }
    token = (await ask(identity, 'POST', '/auth/login', { body: login })).body.accessToken
    const application = { ...body, redirectUris: [`${site}/protected/callback`] }
    expect((await ask(identity, 'POST', '/sso-client-configs', { token, body: application })).status).toBe(201)
    apache = await startApache({
      port,
      issuer: identity,
      clientId: body.ssoClientId,
      clientSecret: body.clientSecret!,
      scope: body.scopes.join(' '),
    })
    browser = await startBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await apache?.[Symbol.asyncDispose]()
    await installation?.[Symbol.asyncDispose]()
  })

  /** Clicks what leads on, and answers where it led in the end. */
  async function led(page: Page, selector: string): Promise<HTTPResponse> {
    const [response] = await Promise.all([page.waitForNavigation(), page.click(selector)])
    return response!
  }

  async function signIn(page: Page): Promise<HTTPResponse> {
    await page.goto(`${site}/protected/`)
    expect(await textOf(page)).toContain('Apache')
    await page.type('input[name=username]', 'admin')
    await page.type('input[name=password]', goodPassword)
    const response = await led(page, 'button[type=submit]')
    return page.url().startsWith(site) ? response : led(page, 'button[value=allow]')
  }

  it('signs people in here, without JavaScript, and learns who they are', async () => {
    const { page, close } = await visit(browser, { javaScript: false })
    const response = await signIn(page)
    expect(page.url()).toBe(`${site}/protected/`)
    expect(await textOf(page)).toBe('Only for who signed in.')
    expect(response.headers()).toMatchObject({
      'x-user': 'admin',
      'x-name': 'Administrator',
      'x-email': 'admin@localhost.invalid',
    })
    await close()
  })

  it('may ask this API in their name, as far as its scopes reach', async () => {
    const [identity] = installation.identity as [string]
    const { page, close } = await visit(browser, { javaScript: false })
    const given = (await signIn(page)).headers()['x-access-token']!
    expect((await ask(identity, 'GET', '/users', { token: given })).status).toBe(200)
    expect((await ask(identity, 'GET', '/clients', { token: given })).status).toBe(403)
    await close()
  })

  it('signs them out here, too, when they leave it', async () => {
    const { page, close } = await visit(browser, { javaScript: false })
    await signIn(page)
    await page.goto(`${site}/protected/callback?logout=${encodeURIComponent(`${site}/`)}`)
    expect(await textOf(page)).toBe('Anybody may read this.')
    await page.goto(`${site}/protected/`)
    expect(page.url()).not.toContain(site)
    expect(await page.$('input[name=password]')).not.toBeNull()
    await close()
  })

  it('is out at once when the session ends here', async () => {
    const [identity] = installation.identity as [string]
    const { page, close } = await visit(browser, { javaScript: false })
    const given = (await signIn(page)).headers()['x-access-token']!
    const me = (await ask(identity, 'GET', '/session', { token: given })).body
    expect(me.user.username).toBe('admin')
    const { body: sessions } = await ask(identity, 'GET', '/users/me/sessions', { token })
    const applications = sessions.filter(({ current }: { current: boolean }) => !current)
    for (const { id } of applications) await ask(identity, 'DELETE', `/users/me/sessions/${id}`, { token })
    expect((await ask(identity, 'GET', '/session', { token: given })).status).toBe(401)
    await close()
  })
})
