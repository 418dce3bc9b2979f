import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { startService, type Service } from '../app-under-test.ts'
import { linkFor, originOf, createFormBrowser } from '../pages/form-browser.ts'

/** Check 11: only a page of Sluice can submit its form, and GET requests change nothing. */

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

const password = 'seven otters fold the map'
const chosen = { password, repeat: password }

/** Creates a user with a password reset link, and opens its page. */
async function openResetPage() {
  const user = await service.user({ client: await service.client() })
  const path = await linkFor(service, user.uid, 'PASSWORD_RESET')
  const browser = createFormBrowser(service)
  await browser.get(path)
  const hash = async () =>
    (await sql<{ password_hash: string }>`select password_hash from users where uid = ${user.uid}`.execute(service.db))
      .rows[0]?.password_hash
  return { browser, path, hash, before: await hash() }
}

const expectRefusalPage = ({
  status,
  headers,
  text,
}: {
  status: number
  headers: Record<string, string>
  text: string
}) => {
  expect(status).toBe(403)
  expect(headers['content-type']).toBe('text/html; charset=utf-8')
  expect(text).toContain('This form cannot be sent')
}

describe('a form from another origin', () => {
  it.each([
    ['cross-site', { 'sec-fetch-site': 'cross-site' }],
    ['same-site', { 'sec-fetch-site': 'same-site' }],
    ['no initiating page', { 'sec-fetch-site': 'none' }],
  ])('is refused because of Sec-Fetch-Site, with a valid cookie and token: %s', async (_from, headers) => {
    const { browser, hash, before } = await openResetPage()
    expectRefusalPage(await browser.post('/account/password', chosen, headers))
    expect(await hash()).toBe(before)
  })

  it.each([
    'https://evil.example',
    'https://localhost:3001',
    'http://localhost:3001.evil.example',
    'http://localhost',
    'x',
  ])('is refused because of its Origin header if Sec-Fetch-Site is missing: %s', async (origin) => {
    const { browser, hash, before } = await openResetPage()
    const { hidden, cookie } = browser
    const answer = await service.http
      .post('/account/password')
      .type('form')
      .set({ cookie: cookie(), origin })
      .send({ ...hidden(), ...chosen })
    expectRefusalPage(answer)
    expect(await hash()).toBe(before)
  })

  it('is refused without the form cookie', async () => {
    const { browser, hash, before } = await openResetPage()
    for (const headers of [{}, { origin: 'null' }, { origin: originOf(service), 'sec-fetch-site': 'same-origin' }])
      expectRefusalPage(
        await service.http
          .post('/account/password')
          .type('form')
          .set(headers)
          .send({ ...browser.hidden(), ...chosen }),
      )
    expect(await hash()).toBe(before)
  })

  it('is refused without a CSRF token, with an invalid token, and with the token of another browser', async () => {
    const { browser, hash, before } = await openResetPage()
    const other = await openResetPage()
    const tokens = ['', 'x', '.', `${'A'.repeat(16)}.${'A'.repeat(43)}`, other.browser.hidden()['csrf'] ?? '']
    for (const csrf of tokens) expectRefusalPage(await browser.post('/account/password', { csrf, ...chosen }))
    // The page of a refusal has no form, so the hidden fields cannot be sent again.
    expect(await hash()).toBe(before)
  })

  it('is refused by the invitation, password and forgot-password pages', async () => {
    for (const path of ['/account/invitation', '/account/password', '/account/forgot-password'])
      expectRefusalPage(
        await service.http
          .post(path)
          .type('form')
          .send({ token: 'x', username: 'x', ...chosen }),
      )
  })

  it('is refused with the content types application/json and text/plain', async () => {
    const { browser } = await openResetPage()
    for (const type of ['application/json', 'text/plain'])
      expectRefusalPage(
        await service.http
          .post('/account/password')
          .set({ cookie: browser.cookie(), 'content-type': type })
          .send(JSON.stringify({ ...browser.hidden(), ...chosen })),
      )
  })
})

describe('a same-origin form', () => {
  it.each([
    ['a browser over https or at localhost', { 'sec-fetch-site': 'same-origin', origin: 'null' }],
    ['a browser that sends its origin', { origin: 'http://localhost:3001' }],
    ['a browser over plain http that sends the origin "null"', { origin: 'null' }],
  ])('is accepted from %s', async (_browser, headers) => {
    const { browser, hash, before } = await openResetPage()
    const answer = await service.http
      .post('/account/password')
      .type('form')
      .set({ cookie: browser.cookie(), ...headers })
      .send({ ...browser.hidden(), ...chosen })
    expect(answer.status).toBe(303)
    expect(await hash()).not.toBe(before)
  })

  it('is accepted with the token of an earlier page after a second page was opened', async () => {
    const { browser, path } = await openResetPage()
    const first = browser.hidden()
    await browser.get(path)
    expect(browser.hidden()['csrf']).not.toBe(first['csrf'])
    expect((await browser.post('/account/password', { ...first, ...chosen })).status).toBe(303)
  })

  it('has an HttpOnly cookie, which has the __Host- prefix and is Secure over https', async () => {
    const plain = await service.http.get('/account/forgot-password')
    expect(plain.headers['set-cookie']).toEqual([
      expect.stringMatching(/^sluice-form=[\w-]{24}; Path=\/; HttpOnly; SameSite=Lax$/),
    ])
    const secure = await startService({ IDENTITY_PUBLIC_URL: 'https://id.example.org' })
    try {
      const { headers } = await secure.http.get('/account/forgot-password')
      expect(headers['set-cookie']).toEqual([
        expect.stringMatching(/^__Host-sluice-form=[\w-]{24}; Path=\/; HttpOnly; Secure; SameSite=Lax$/),
      ])
    } finally {
      await secure.stop()
    }
  })
})

describe('GET and HEAD requests to a page with a form', () => {
  it('do not change the password and do not use up the one-time link', async () => {
    const { browser, path, hash, before } = await openResetPage()
    for (let times = 0; times < 3; times++) {
      expect((await browser.get(path)).status).toBe(200)
      expect((await browser.get(`${path}&password=${password}&repeat=${password}`)).status).toBe(200)
      await service.http.head(path).expect(200)
    }
    expect(await hash()).toBe(before)
    await browser.get(path)
    expect((await browser.post('/account/password', chosen)).status).toBe(303)
  })
})
