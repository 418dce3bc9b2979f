import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import * as client from 'openid-client'
import { goodPassword, startService, type Service } from '../app-under-test.ts'
import { commandLine } from '../openid-provider/built-in-clients.ts'
import type { Browser, Page } from '../openid-provider/http-browser-client.ts'
import { published } from '../openid-provider/relying-party.ts'

let service: Service
let cli: Awaited<ReturnType<typeof commandLine>>
beforeAll(async () => {
  service = await startService()
  cli = await commandLine(service)
})
afterAll(() => service.stop())

const request = () => client.initiateDeviceAuthorization(cli.config, { scope: 'openid ROLE_SEE_VIEW' })
const redeem = (device_code: string) =>
  service.http
    .post('/oidc/token')
    .type('form')
    .send({ grant_type: 'urn:ietf:params:oauth:grant-type:device_code', client_id: 'cli', device_code })
const hiddenOf = ({ html }: Page): Record<string, string> =>
  Object.fromEntries(
    [...html.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(([, name, value]) => [name, value]),
  )
/** Sends a form from a network. */
const send = (browser: Browser, fields: Record<string, string>, headers: Record<string, string> = {}) =>
  browser.ask(new URL('/device', published), { method: 'POST', body: new URLSearchParams(fields), headers })
const statuses = (pages: { status: number }[]) =>
  Object.fromEntries([...Map.groupBy(pages, ({ status }) => status)].map(([status, all]) => [status, all.length]))
const someone = async () => service.user({ client: await service.client(), roles: ['ROLE_SEE_VIEW'] })

describe('guessing user codes', () => {
  it('is slowed down in its network, for right codes too, and in no other', async () => {
    const { user_code } = await request()
    const from = (address: string) => ({ 'x-forwarded-for': address })
    // Each page has a token of its own, which is valid for one form.
    const browsers = Array.from({ length: 60 }, () => cli.browser())
    const opened = await Promise.all(browsers.map((browser) => browser.open('/device')))
    const wrong = (at: number) => `BBBB-BB${String.fromCharCode(66 + (at % 20))}B`
    const pages = await Promise.all(
      browsers.map((browser, at) =>
        send(browser, { ...hiddenOf(opened[at]!), user_code: wrong(at) }, from(`192.0.2.${at}`)),
      ),
    )
    expect(statuses(pages)).toEqual({ 200: 20, 429: 40 })
    const browser = cli.browser()
    const page = await browser.ask(new URL('/device', published), { headers: from('192.0.2.9') })
    const refused = await send(browser, { ...hiddenOf(page), user_code }, from('192.0.2.9'))
    expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true])
    expect(refused.html).toContain('Too many attempts')
    expect(refused.html).not.toContain('name="confirm"')
    const elsewhere = await send(browser, { ...hiddenOf(refused), user_code }, from('203.0.113.9'))
    expect(elsewhere.html).toContain('name="confirm"')
  })

  it('is not counted when the codes are right', async () => {
    const browser = cli.browser()
    for (let again = 0; again < 25; again++) {
      const { user_code } = await request()
      const page = await browser.submit(await browser.open('/device'), { user_code })
      expect(page.html).toContain('name="confirm"')
    }
  })
})

describe('a form of these pages', () => {
  it('is refused without the token of this browser, and approves nothing', async () => {
    const device = await request()
    const user = await someone()
    const victim = cli.browser()
    const earlier = await request()
    const confirmation = await victim.submit(await victim.open('/device'), { user_code: earlier.user_code })
    const signIn = await victim.submit(confirmation, { confirm: 'yes' })
    await victim.submit(signIn, { username: user.username, password: goodPassword })
    const attacker = cli.browser()
    const token = hiddenOf(await attacker.open('/device'))['xsrf']!
    await victim.open('/device')
    for (const xsrf of [undefined, '', 'x', token]) {
      const fields = { user_code: device.user_code, confirm: 'yes', ...(xsrf !== undefined && { xsrf }) }
      const page = await send(victim, fields)
      expect([page.status, page.html.includes('This form cannot be sent')]).toEqual([400, true])
    }
    // The session cookie is SameSite=Lax: a browser omits it from a form of another site.
    const page = await send(cli.browser(), { xsrf: token, user_code: device.user_code, confirm: 'yes' })
    expect(page.status).toBe(400)
    const { headers } = await service.http.get('/device').expect(200)
    const cookies = headers['set-cookie'] as unknown as string[]
    expect(cookies.length).toBeGreaterThan(0)
    for (const cookie of cookies) expect(cookie).toMatch(/; samesite=lax; httponly(; expires=[^;]+)?$/i)
    expect(headers['x-frame-options']).toBe('DENY')
    expect((await redeem(device.device_code)).body.error).toBe('authorization_pending')
  })

  it('is not skipped by a link: GET approves nothing', async () => {
    const device = await request()
    const user = await someone()
    const browser = cli.browser()
    for (const query of ['', '&confirm=yes', '&confirm=yes&xsrf=x', '&abort=yes'])
      await browser.open(`/device?user_code=${device.user_code}${query}`)
    let page = await browser.submit(await browser.open('/device'), { user_code: device.user_code })
    page = await browser.submit(page, { confirm: 'yes' })
    page = await browser.submit(page, { username: user.username, password: goodPassword })
    await browser.open(page.url)
    expect((await redeem(device.device_code)).body.error).toBe('authorization_pending')
    await browser.submit(page, { decision: 'allow' })
    await redeem(device.device_code).expect(200)
  })
})

it('32 parallel uses of a device code succeed at most once', async () => {
  const user = await someone()
  const device = await request()
  const browser = cli.browser()
  let page = await browser.submit(await browser.open('/device'), { user_code: device.user_code })
  page = await browser.submit(page, { confirm: 'yes' })
  page = await browser.submit(page, { username: user.username, password: goodPassword })
  await browser.submit(page, { decision: 'allow' })
  const answers = await Promise.all(Array.from({ length: 32 }, () => redeem(device.device_code)))
  // A replay deletes the grant, so there are no tokens at all if it comes before the first use has ended.
  expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1)
  expect(new Set(answers.filter(({ status }) => status !== 200).map(({ body }) => body.error))).toEqual(
    new Set(['invalid_grant']),
  )
})

it('the database and the logs contain no usable code', async () => {
  const user = await someone()
  const device = await request()
  const browser = cli.browser()
  const link = await browser.open(device.verification_uri_complete!)
  let page = await browser.submit(link, { user_code: device.user_code })
  page = await browser.submit(page, { confirm: 'yes' })
  page = await browser.submit(page, { username: user.username, password: goodPassword })
  const { rows } = await sql<{ row: string }>`
    select m::text as row from oidc_models m union all select a::text from audit a`.execute(service.db)
  const stored = [...rows.map(({ row }) => row), ...service.lines].join('\n')
  const code = device.user_code.replace('-', '')
  for (const secret of [device.device_code, device.user_code, code]) expect(stored).not.toContain(secret)
  // The sign-in needs the device code, so the row of the interaction contains it, encrypted with the id of the
  // interaction.
  expect(stored).toContain('"deviceCode"')
  await browser.submit(page, { decision: 'allow' })
  await redeem(device.device_code).expect(200)
})

it('a network gets a limited number of device codes and pages, and others are not affected', async () => {
  const own = await startService()
  try {
    const begin = (address: string) =>
      own.http
        .post('/oidc/device-authorization')
        .type('form')
        .set('x-forwarded-for', address)
        .send({ client_id: 'cli', scope: 'openid' })
    for (let batch = 0; batch < 14; batch++)
      await Promise.all(Array.from({ length: 20 }, () => begin('198.51.100.7').expect(200)))
    await Promise.all(
      Array.from({ length: 20 }, () => own.http.get('/device').set('x-forwarded-for', '198.51.100.8').expect(200)),
    )
    const refused = await begin('198.51.100.9').expect(429)
    expect(refused.body).toEqual({ error: 'slow_down', error_description: expect.any(String) })
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    const page = await own.http.get('/device').set('x-forwarded-for', '198.51.100.9').expect(429)
    expect(page.type).toBe('text/html')
    await begin('203.0.113.1').expect(200)
    const wrong = () => own.http.post('/oidc/device-authorization').type('form').set('x-forwarded-for', '203.0.113.1')
    for (let again = 0; again < 310; again++) await wrong().send({ client_id: 'nobody' }).expect(401)
    await begin('203.0.113.1').expect(200)
  } finally {
    await own.stop()
  }
})
