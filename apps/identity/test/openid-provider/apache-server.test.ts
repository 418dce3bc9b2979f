import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { describeUnless } from '@sluice/testing/skip-tests'
import { goodPassword, startService, type Service } from '../app-under-test.ts'
import { applicationBody } from '../application-body.ts'
import { freePort } from '@sluice/testing/free-port'
import { forward, hasApache, startApache } from './apache-server.ts'
import { Browser, type Page } from './http-browser-client.ts'

const missing = hasApache ? undefined : 'no Apache here: apt-get install apache2 libapache2-mod-auth-openidc'

describeUnless(missing)('Apache with mod_auth_openidc', () => {
  const cleanup = new AsyncDisposableStack()
  let service: Service
  let apache: Awaited<ReturnType<typeof startApache>>
  let issuer: string
  let site: string
  let client: string
  beforeAll(async () => {
    const port = await freePort()
    const apachePort = await freePort()
    issuer = `http://127.0.0.1:${port}`
    site = `http://127.0.0.1:${apachePort}`
    service = await startService({ IDENTITY_PUBLIC_URL: issuer })
    cleanup.defer(() => service.stop())
    const actual = new URL(service.http.get('/').url).port
    const server = await forward(port, () => Number(actual))
    cleanup.defer(() => void server.close())
    expect((server.address() as AddressInfo).port).toBe(port)
    const admin = await service.as(['ROLE_SUPER_ADMIN'])
    client = admin.client
    const body = applicationBody({
      redirectUris: [`${site}/protected/callback`],
      scopes: ['openid', 'profile', 'email'],
    })
    await admin.post('/sso-client-configs').send(body).expect(201)
    apache = cleanup.use(
      await startApache({ port: apachePort, issuer, clientId: body.ssoClientId, secret: body.clientSecret! }),
    )
  })
  afterAll(() => cleanup.disposeAsync())

  /** A browser for both sites. It follows redirects from one to the other. */
  function createBrowser() {
    const identityBrowser = new Browser({ published: issuer, actual: issuer })
    const siteBrowser = new Browser({ published: site, actual: site })
    const follow = async (page: Page): Promise<Page> => {
      if (page.status !== 0) return page
      return follow(await (page.url.origin === site ? siteBrowser : identityBrowser).open(page.url))
    }
    return {
      siteBrowser,
      visit: async (path: string) => follow(await siteBrowser.open(path)),
      submit: async (page: Page, fields: Record<string, string>) => follow(await identityBrowser.submit(page, fields)),
    }
  }

  it('shows its protected page and receives the username after a sign-in with consent', async () => {
    const user = await service.user({ client })
    const { visit, submit } = createBrowser()
    const form = await visit('/protected/')
    expect(form.html).toContain('name="password"')
    const question = await submit(form, { username: user.username, password: goodPassword })
    const page = await submit(question, { decision: 'allow' })
    expect([page.status, page.html, await apache.log()]).toEqual([
      200,
      'the protected page',
      expect.not.stringContaining('error'),
    ])
    expect(page.headers.get('x-signed-in')).toBe(user.username)
    expect((await visit('/protected/')).html).toBe('the protected page')
  })

  it('does not show its protected page if the user denies consent', async () => {
    const user = await service.user({ client })
    const { visit, submit } = createBrowser()
    const question = await submit(await visit('/protected/'), { username: user.username, password: goodPassword })
    const page = await submit(question, { decision: 'deny' })
    expect(page.html).not.toContain('the protected page')
    expect(page.url.searchParams.get('error')).toBe('access_denied')
    expect((await visit('/protected/')).html).not.toContain('the protected page')
  })

  it('requires a new sign-in after a sign-out through Apache', async () => {
    const user = await service.user({ client })
    const { visit, submit } = createBrowser()
    const question = await submit(await visit('/protected/'), { username: user.username, password: goodPassword })
    await submit(question, { decision: 'allow' })
    const left = await visit(`/protected/callback?logout=${encodeURIComponent(`${site}/`)}`)
    expect(left.url.href).toBe(`${site}/`)
    expect((await visit('/protected/')).html).toContain('name="password"')
  })
})
