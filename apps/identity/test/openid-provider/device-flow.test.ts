import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import { sql } from 'kysely'
import * as client from 'openid-client'
import { de } from '../../src/pages/texts/de.ts'
import { fr } from '../../src/pages/texts/fr.ts'
import { endSwitchedOff } from '../../src/openid-provider/storage/built-in-applications.ts'
import { auditOf, goodPassword, startService, type Service } from '../app-under-test.ts'
import { commandLine } from './built-in-clients.ts'
import type { Browser, Page } from './http-browser-client.ts'

let service: Service
let party: Awaited<ReturnType<typeof commandLine>>
beforeAll(async () => {
  service = await startService()
  party = await commandLine(service)
})
afterAll(() => service.stop())

const scope = 'openid ROLE_SEE_VIEW'
const request = () => client.initiateDeviceAuthorization(party.config, { scope })
const poll = (device: client.DeviceAuthorizationResponse) =>
  client.pollDeviceAuthorizationGrant(party.config, { ...device, interval: 0.1 })
const redeem = (device: client.DeviceAuthorizationResponse, fields: Record<string, string> = {}) =>
  service.http
    .post('/oidc/token')
    .type('form')
    .send({
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      client_id: 'cli',
      device_code: device.device_code,
      ...fields,
    })
const someone = async () => service.user({ client: await service.client(), roles: ['ROLE_SEE_VIEW'] })

/** Enters a code on the page, and sees the confirmation or the refusal. */
const enter = async (browser: Browser, userCode: string): Promise<Page> =>
  browser.submit(await browser.open('/device'), { user_code: userCode })
/** Confirms a code, signs in and consents. */
async function approve(browser: Browser, userCode: string, username: string): Promise<Page> {
  const signIn = await browser.submit(await enter(browser, userCode), { confirm: 'yes' })
  const consent = await browser.submit(signIn, { username, password: goodPassword })
  return browser.submit(consent, { decision: 'allow' })
}

describe('the device flow', () => {
  it('signs in a program while its user approves the code in a browser', async () => {
    const user = await someone()
    const device = await request()
    expect(device).toMatchObject({
      user_code: expect.stringMatching(/^[B-Z]{4}-[B-Z]{4}$/),
      verification_uri: 'http://localhost:3001/device',
      verification_uri_complete: `http://localhost:3001/device?user_code=${device.user_code}`,
      expires_in: 600,
    })
    const tokens = poll(device)
    const done = await approve(party.browser(), device.user_code, user.username)
    expect([done.status, done.html]).toEqual([200, expect.stringContaining('The sign-in is complete')])
    expect((await tokens).claims()!.sub).toBe(user.uid)
    const { access_token, refresh_token } = await tokens
    expect(decodeJwt(access_token)).toMatchObject({ client_id: 'cli', scope: 'ROLE_SEE_VIEW', tenant: user.client })
    await service.withToken(access_token).get('/session').expect(200)
    const next = await client.refreshTokenGrant(party.config, refresh_token!)
    await service.withToken(next.access_token).get('/session').expect(200)
    expect((await redeem(device)).body.error).toBe('invalid_grant')
    // A second use of the code ends what the first one got.
    await service.withToken(next.access_token).get('/session').expect(401)
  })

  it('shows who asks and from where, and the code of a link only filled in', async () => {
    const { body: device } = await service.http
      .post('/oidc/device-authorization')
      .type('form')
      .set({ 'user-agent': 'sluice/1.2 <b>', 'x-forwarded-for': '203.0.113.77' })
      .send({ client_id: 'cli', scope })
      .expect(200)
    const browser = party.browser()
    const page = await browser.open(device.verification_uri_complete)
    expect(page.html).toContain(`value="${device.user_code}"`)
    expect(page.headers.get('content-security-policy')).not.toContain('script')
    const confirmation = await browser.submit(page, { user_code: device.user_code.toLowerCase().replace('-', ' ') })
    for (const text of ['Sluice command line', '203.0.113.77', 'sluice/1.2 &lt;b&gt;', device.user_code])
      expect(confirmation.html).toContain(text)
    expect(confirmation.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    const odd = await browser.open('/device?user_code=%22%3E%3Cscript%3E')
    expect([odd.status, odd.html.includes('script')]).toEqual([200, false])
  })

  it('shows the name that the program gives itself shortened, without control characters and as not verified', async () => {
    const name = `a\t\x85\xad${Buffer.from('\u202e', 'utf8').toString('latin1')}b ${'verified by your administrator '.repeat(9)}`
    const { body: device } = await service.http
      .post('/oidc/device-authorization')
      .type('form')
      .set('user-agent', name)
      .send({ client_id: 'cli', scope })
      .expect(200)
    const { html } = await enter(party.browser(), device.user_code)
    const [, shown] = /<dt>Program \(as it names itself, not verified\)<\/dt><dd><bdi>([^<]*)<\/bdi>/.exec(html)!
    expect(shown).toMatch(/^a .*b verified by your administrator verified by yo.*…$/)
    expect(shown!.length).toBe(60)
    expect(shown).not.toMatch(/[\p{Cc}\p{Cf}]/u)
  })

  it('tells the program that its user declined, on either page', async () => {
    const browser = party.browser()
    const first = await request()
    const declined = await browser.submit(await enter(browser, first.user_code), { abort: 'yes' })
    expect([declined.status, declined.html]).toEqual([200, expect.stringContaining('Nothing was allowed')])
    await expect(poll(first)).rejects.toMatchObject({ error: 'access_denied' })

    const second = await request()
    const user = await someone()
    const signIn = await browser.submit(await enter(browser, second.user_code), { confirm: 'yes' })
    const consent = await browser.submit(signIn, { username: user.username, password: goodPassword })
    const denied = await browser.submit(consent, { decision: 'deny' })
    expect(denied.html).toContain('Nothing was allowed')
    await expect(poll(second)).rejects.toMatchObject({ error: 'access_denied' })
  })

  it('asks for a confirmation and for consent again in a browser that is signed in', async () => {
    const user = await someone()
    const browser = party.browser()
    await approve(browser, (await request()).user_code, user.username)
    const device = await request()
    const consent = await browser.submit(await enter(browser, device.user_code), { confirm: 'yes' })
    expect(consent.html).toContain(user.username)
    expect((await redeem(device).expect(400)).body.error).toBe('authorization_pending')
    await browser.submit(consent, { decision: 'allow' })
    await redeem(device).expect(200)
  })

  it('refuses empty, unknown, expired and used codes with one page', async () => {
    const browser = party.browser()
    const [expired, used] = [await request(), await request()]
    await sql`
      update oidc_models set expires_at = now() - interval '1 second', payload = payload || '{"exp": 1}'
      where model in ('UserCode', 'DeviceCode')`.execute(service.db)
    const open = await request()
    await browser.submit(await enter(browser, open.user_code), { confirm: 'yes' })
    for (const code of [expired.user_code, used.user_code, open.user_code, 'BBBB-BBBB', '<b>', 'x'.repeat(500)]) {
      const page = await enter(browser, code)
      expect([code, page.status, page.html.includes('is incorrect, has expired')]).toEqual([code, 200, true])
      expect(page.html).not.toContain('<b>')
    }
    expect((await enter(browser, '')).html).toContain('Enter the code.')
    expect((await redeem(expired)).body.error).toBe('expired_token')
    expect((await redeem(expired, { device_code: 'unknown' })).body.error).toBe('invalid_grant')
  })

  it('works for a user who has to choose a new password in between', async () => {
    const user = await someone()
    const device = await request()
    await sql`update users set token_valid_after = now() where uid = ${user.uid}`.execute(service.db)
    await approve(party.browser(), device.user_code, user.username)
    await redeem(device).expect(200)
  })

  it('binds a code to the first of two browsers that approve it', async () => {
    const [one, other] = [await someone(), await someone()]
    const device = await request()
    const browsers = [party.browser(), party.browser()]
    const [first, second] = await Promise.all(browsers.map((browser) => enter(browser, device.user_code)))
    // Both had the confirmation before one of them used it.
    await sql`update oidc_models set payload = payload - 'inFlight' where model = 'DeviceCode'`.execute(service.db)
    const consentOf = async (browser: Browser, page: Page, username: string) => {
      const signIn = await browser.submit(page, { confirm: 'yes' })
      await sql`update oidc_models set payload = payload - 'inFlight' where model = 'DeviceCode'`.execute(service.db)
      return browser.submit(signIn, { username, password: goodPassword })
    }
    const consents = [
      await consentOf(browsers[0]!, first!, one.username),
      await consentOf(browsers[1]!, second!, other.username),
    ]
    const pages = await Promise.all(consents.map((page, at) => browsers[at]!.submit(page, { decision: 'allow' })))
    expect(pages.filter(({ html }) => html.includes('The sign-in is complete'))).toHaveLength(1)
    const winner = pages[0]!.html.includes('The sign-in is complete') ? one : other
    const { body } = await redeem(device).expect(200)
    expect(decodeJwt(body.access_token).sub).toBe(winner.uid)
  })

  it('ends with the sign-in session of the browser, before and after the program has its tokens', async () => {
    const browser = party.browser()
    const device = await request()
    await approve(browser, device.user_code, (await someone()).username)
    await browser.submit(await browser.open('/oidc/session/end'), { logout: 'yes' })
    expect((await redeem(device)).body.error).toBe('invalid_grant')

    const user = await someone()
    const again = await request()
    await approve(browser, again.user_code, user.username)
    const { body } = await redeem(again).expect(200)
    await sql`update users set status = 'INACTIVE' where uid = ${user.uid}`.execute(service.db)
    await service.withToken(body.access_token).get('/session').expect(401)
  })

  it('is in the audit with the address and the name of the program', async () => {
    const user = await someone()
    const device = await request()
    await approve(party.browser(), device.user_code, user.username)
    await redeem(device).expect(200)
    const rows = async () =>
      (await auditOf(service.db, 'cli')).filter(
        ({ actor, operation }) => actor === user.uid && operation === 'oidc.exchangeCode',
      )
    for (; (await rows()).length === 0; ) await new Promise((resolve) => setTimeout(resolve, 20))
    expect(await rows()).toMatchObject([
      { client: user.client, details: { device: { address: expect.any(String), userAgent: expect.any(String) } } },
    ])
    await service.tally.flush()
    const { rows: pending } = await sql`select from audit where details::text like '%authorization_pending%'`.execute(
      service.db,
    )
    expect(pending).toEqual([])
  })

  it('has its pages in German and French', async () => {
    for (const [language, texts] of Object.entries({ de, fr })) {
      const browser = party.browser()
      const headers = { 'accept-language': language }
      const page = await browser.ask(new URL('/device', 'http://localhost:3001'), { headers })
      expect(page.html).toContain(texts.device.lead)
    }
  })

  it('ends a page that was open for too long, and says so', async () => {
    const browser = party.browser()
    const device = await request()
    const signIn = await browser.submit(await enter(browser, device.user_code), { confirm: 'yes' })
    await sql`delete from oidc_models where model = 'DeviceCode'`.execute(service.db)
    const user = await someone()
    const consent = await browser.submit(signIn, { username: user.username, password: goodPassword })
    expect(consent.html).toMatch(/is incorrect, has expired|no longer valid/)
  })
})

describe('a device flow that is switched off', () => {
  it('refuses programs and codes, while the command line signs in with a loopback address', async () => {
    const off = await startService({ DEVICE_FLOW: false })
    try {
      const { body } = await off.http.get('/.well-known/openid-configuration').expect(200)
      expect(body.device_authorization_endpoint).toBeUndefined()
      await off.http.post('/oidc/device-authorization').type('form').send({ client_id: 'cli', scope }).expect(404)
      await off.http.get('/device').expect(404)
      const fields = {
        grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
        client_id: 'cli',
        device_code: 'x',
      }
      const { body: refused } = await off.http.post('/oidc/token').type('form').send(fields).expect(400)
      expect(refused.error).toBe('unsupported_grant_type')
      const own = await commandLine(off)
      const user = await off.user({ client: await off.client(), roles: ['ROLE_SEE_VIEW'] })
      const { url, finish } = await own.begin({ scope })
      const browser = own.browser()
      const consent = await browser.submit(await browser.open(url), { username: user.username, password: goodPassword })
      const tokens = await finish(await browser.submit(consent, { decision: 'allow' }))
      await off.withToken(tokens.access_token).get('/session').expect(200)
    } finally {
      await off.stop()
    }
  })

  it('ends codes that were approved before', async () => {
    const user = await someone()
    const device = await request()
    await approve(party.browser(), device.user_code, user.username)
    await endSwitchedOff(service.db, { ...service.config, DEVICE_FLOW: false })
    expect((await redeem(device).expect(400)).body.error).toBe('invalid_grant')
  })
})
