import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { auditOf, goodPassword, startService, type Service } from '../app-under-test.ts'
import { linkFor, createFormBrowser } from './form-browser.ts'

let service: Service
let client: string
beforeAll(async () => {
  service = await startService()
  client = await service.client({ name: `Weather "&" <b>Water</b>` })
})
afterAll(() => service.stop())

const newPassword = 'seven otters fold the map'
const readUser = async (uid: string) =>
  (
    await sql<{ status: string; version: number; password_hash: string | null; links: number }>`
      select status, version, password_hash, (select count(*)::int from links where user_id = u.id) as links
      from users u where uid = ${uid}`.execute(service.db)
  ).rows[0]!

const createInvitedUser = async (ssoAuth = false) => {
  const user = await service.user({ client, status: 'INVITATION', ssoAuth })
  return { ...user, path: await linkFor(service, user.uid, 'INVITATION') }
}
const createUserWithResetLink = async () => {
  const user = await service.user({ client })
  return { ...user, path: await linkFor(service, user.uid, 'PASSWORD_RESET') }
}

describe('an invitation', () => {
  it('names the user and the organisation, and GET changes nothing', async () => {
    const { uid, username, path } = await createInvitedUser()
    const before = await readUser(uid)
    for (let times = 0; times < 3; times++) {
      const { text, headers } = await createFormBrowser(service)
        .get(path)
        .then((response) => response)
      expect(text).toContain('Weather &quot;&amp;&quot; &lt;b&gt;Water&lt;/b&gt;')
      expect(text).toContain(`value="${username}" autocapitalize="none"`)
      expect(headers['referrer-policy']).toBe('no-referrer')
      expect(headers['cache-control']).toBe('no-store')
    }
    expect(await readUser(uid)).toEqual(before)
  })

  it('is accepted once with a password, and redirects to a URL without the token', async () => {
    const { uid, username, path } = await createInvitedUser()
    const browser = createFormBrowser(service)
    await browser.get(path)
    const form = browser.hidden()
    const answer = await browser.post('/account/invitation', { password: newPassword, repeat: newPassword })
    expect(answer.status).toBe(303)
    expect(answer.headers.location).toBe('/account/invitation-accepted')
    const done = await browser.get('/account/invitation-accepted')
    expect(done.text).toContain('You can now sign in')
    expect(done.text).toContain('Weather &quot;')
    await service.signIn(username, newPassword)
    expect(await auditOf(service.db, uid)).toMatchObject([
      { operation: 'auth.acceptInvitation', actor: uid, client },
      { operation: 'auth.login' },
    ])

    expect((await browser.get(path)).status).toBe(404)
    const again = await browser.post('/account/invitation', { ...form, password: goodPassword, repeat: goodPassword })
    expect(again.status).toBe(404)
    await service.signIn(username, newPassword)
  })

  it('is accepted without a password by a user with single sign-on', async () => {
    const { uid, path } = await createInvitedUser(true)
    const browser = createFormBrowser(service)
    const page = await browser.get(path)
    expect(page.text).not.toContain('type="password"')
    const answer = await browser.post('/account/invitation', { password: newPassword, repeat: newPassword })
    expect(answer.headers.location).toBe('/account/joined')
    expect((await browser.get('/account/joined')).status).toBe(200)
    expect(await readUser(uid)).toMatchObject({ status: 'ACTIVE', password_hash: null })
  })

  it('cannot be used as a password reset, and a password reset not as an invitation', async () => {
    const browser = createFormBrowser(service)
    const [invitation, reset] = [(await createInvitedUser()).path, (await createUserWithResetLink()).path]
    expect((await browser.get(invitation.replace('invitation', 'password'))).status).toBe(404)
    expect((await browser.get(reset.replace('password', 'invitation'))).status).toBe(404)
  })
})

describe('a password reset', () => {
  it('changes the password, once', async () => {
    const { uid, username, path } = await createUserWithResetLink()
    const browser = createFormBrowser(service)
    await browser.get(path)
    const answer = await browser.post('/account/password', { password: newPassword, repeat: newPassword })
    expect([answer.status, answer.headers.location]).toEqual([303, '/account/password-changed'])
    expect((await browser.get('/account/password-changed')).text).toContain('signed out on all devices')
    await service.signIn(username, newPassword)
    expect(await auditOf(service.db, uid)).toMatchObject([
      { operation: 'auth.resetPassword' },
      { operation: 'auth.login' },
    ])
    expect((await browser.get(path)).status).toBe(404)
  })

  it.each([
    ['nothing', '', '', 'Enter a new password.', 'password'],
    ['too few characters', 'short', 'short', 'Enter at least 12 characters.', 'password'],
    ['too many characters', 'x'.repeat(129), 'x'.repeat(129), 'Enter at most 128 characters.', 'password'],
    ['a common password', 'password1234', 'password1234', 'This password is too common', 'password'],
    [
      'the name of the user',
      'test-and-pebbles-17',
      'test-and-pebbles-17',
      'The password must not contain your name',
      'password',
    ],
    ['no repetition', newPassword, '', 'Confirm the password.', 'repeat'],
    ['a different repetition', newPassword, `${newPassword}!`, 'The passwords do not match', 'repeat'],
  ])(
    'rejects %s with an error at the field, and never shows the password',
    async (_what, password, repeat, words, field) => {
      const { uid, path } = await createUserWithResetLink()
      const before = await readUser(uid)
      const browser = createFormBrowser(service)
      await browser.get(path)
      const { status, text } = await browser.post('/account/password', { password, repeat })
      expect(status).toBe(422)
      expect(text).toContain('<title>Error: ')
      expect(text).toMatch(new RegExp(`id="${field}-error">[^<]*${words}`))
      expect(text).toMatch(
        new RegExp(`<input id="${field}"[^>]*aria-describedby="[^"]*${field}-error" aria-invalid="true"`),
      )
      expect(text).toContain(`<a href="#${field}">`)
      if (password) expect(text).not.toContain(password)
      expect(await readUser(uid)).toEqual(before)
      // The form can be sent again.
      expect((await browser.post('/account/password', { password: newPassword, repeat: newPassword })).status).toBe(303)
    },
  )

  it('counts code points, not UTF-16 units', async () => {
    const { path } = await createUserWithResetLink()
    const browser = createFormBrowser(service)
    await browser.get(path)
    const eleven = '🦦'.repeat(11)
    expect((await browser.post('/account/password', { password: eleven, repeat: eleven })).status).toBe(422)
  })
})

describe('an invalid link', () => {
  const queries = {
    'no token': '',
    'an empty token': '?token=',
    'a short token': '?token=sll_made-up',
    'an unknown token': `?token=sll_${'A'.repeat(43)}`,
    'a long token': `?token=${'A'.repeat(5000)}`,
    'two tokens': '?token=a&token=b',
    'a token as an object': '?token[x]=1',
    SQL: "?token=sll_' or 1=1 --aaaaaaaaaaaaa",
    'a NUL character': '?token=%00aaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
  }

  it.each(Object.entries(queries))('with %s shows a page with the next step', async (_what, query) => {
    const invitation = await createFormBrowser(service).get(`/account/invitation${query}`)
    const reset = await createFormBrowser(service).get(`/account/password${query}`)
    expect([invitation.status, reset.status]).toEqual([404, 404])
    expect(invitation.text).toContain('ask the person who invited you')
    expect(reset.text).toContain('href="/account/forgot-password"')
  })

  it('shows the same page if it has expired or is unknown', async () => {
    const { uid, path } = await createInvitedUser()
    const unknown = await createFormBrowser(service).get('/account/invitation?token=sll_made-up')
    await sql`update links set expires_at = now() - interval '1 second'
      where user_id = (select id from users where uid = ${uid})`.execute(service.db)
    expect((await createFormBrowser(service).get(path)).text).toBe(unknown.text)
  })

  it('includes a link of a user whose organisation is disabled', async () => {
    const { path } = await createInvitedUser()
    await sql`update clients set disabled = true where uid = ${client}`.execute(service.db)
    expect((await createFormBrowser(service).get(path)).status).toBe(404)
    await sql`update clients set disabled = false where uid = ${client}`.execute(service.db)
  })
})

describe('the forgot-password page', () => {
  it.each([
    ['a user with a password', async () => (await service.user({ client })).username],
    ['an unknown username', async () => 'no-such-person'],
    ['a user with single sign-on', async () => (await service.user({ client, ssoAuth: true })).username],
  ])('shows the same response for %s', async (_who, createUsername) => {
    const username = await createUsername()
    const browser = createFormBrowser(service)
    expect((await browser.get('/account/forgot-password')).text).toContain('autocomplete="username"')
    const answer = await browser.post('/account/forgot-password', { username })
    expect([answer.status, answer.headers.location]).toEqual([303, '/account/forgot-password-sent'])
    expect((await browser.get('/account/forgot-password-sent')).text).toContain('If the account exists')
    const { rows } = await sql`select typed from forgotten_passwords where typed = ${username}`.execute(service.db)
    expect(rows).toHaveLength(1)
  })

  it('shows an error for an empty or too long username', async () => {
    const browser = createFormBrowser(service)
    await browser.get('/account/forgot-password')
    const empty = await browser.post('/account/forgot-password', { username: '  ' })
    const long = await browser.post('/account/forgot-password', { username: 'x'.repeat(300) })
    expect([empty.status, long.status]).toEqual([422, 422])
    expect(empty.text).toContain('<p class="error" id="username-error">')
  })

  it('is throttled after five requests', async () => {
    const browser = createFormBrowser(service)
    const answers = []
    for (let tries = 0; tries < 6; tries++) {
      await browser.get('/account/forgot-password')
      answers.push(await browser.post('/account/forgot-password', { username: 'impatient' }))
    }
    const last = answers.at(-1)!
    expect(last.status).toBe(429)
    expect(last.headers['retry-after']).toMatch(/^\d+$/)
    expect(last.text).toContain(`in ${last.headers['retry-after']} second`)
  })
})

describe('the language of a page', () => {
  it.each([
    ['de-AT,de;q=0.9,en;q=0.5', 'de', 'Dieser Link funktioniert nicht'],
    ['fr-CA', 'fr', 'Ce lien ne fonctionne pas'],
    ['tlh, en;q=0.1', 'en', 'This link does not work'],
    ['', 'en', 'This link does not work'],
  ])('follows Accept-Language: %s', async (accepted, language, words) => {
    const { text, headers } = await service.http.get('/account/password').set('accept-language', accepted)
    expect(text).toContain(`<html lang="${language}">`)
    expect(text).toContain(words)
    expect(headers.vary).toContain('Accept-Language')
  })
})

it('uses the path of the public address in links and redirects', async () => {
  const below = await startService({ IDENTITY_PUBLIC_URL: 'https://example.org/identity' })
  try {
    const user = await below.user({ client: await below.client() })
    const pages = await Promise.all(
      [
        await linkFor(below, user.uid, 'PASSWORD_RESET'),
        '/account/password',
        '/account/nothing',
        '/account/joined',
      ].map((path) => below.http.get(path)),
    )
    const addresses = pages.flatMap(({ text }) => [...text.matchAll(/(?:href|action)="([^"#]+)"/g)].map(([, to]) => to))
    expect(addresses).toHaveLength(6 + 4)
    expect(addresses.filter((to) => to !== 'data:,' && !to!.startsWith('/identity/account/'))).toEqual([])
  } finally {
    await below.stop()
  }
})

describe('an invalid request to a page', () => {
  it('returns an error page if it is too large or has too many fields, a repeated field or a NUL', async () => {
    const { path } = await createUserWithResetLink()
    const browser = createFormBrowser(service)
    await browser.get(path)
    const send = (body: string, type = 'application/x-www-form-urlencoded') =>
      service.http.post('/account/password').set({ cookie: browser.cookie(), 'content-type': type }).send(body)
    const token = `csrf=${browser.hidden()['csrf']}&token=${browser.hidden()['token']}`
    const answers = await Promise.all([
      send(`password=${'x'.repeat(9000)}`),
      send(Array.from({ length: 30 }, (_, index) => `f${index}=1`).join('&')),
      send(`${token}&password=a&password=b`),
      send(`${token}&password=a%00b`),
      service.http.get('/account/nothing-here'),
      service.http.put('/account/password'),
    ])
    expect(answers.map(({ status }) => status)).toEqual([413, 413, 400, 400, 404, 404])
    for (const { headers, text } of answers) {
      expect(headers['content-type']).toBe('text/html; charset=utf-8')
      expect(headers['content-security-policy']).toContain("default-src 'none'")
      expect(text).toContain('<h1>')
    }
  })
})

describe('a page with a one-time link', () => {
  it('writes no token and no password to the log', async () => {
    const { path } = await createUserWithResetLink()
    const browser = createFormBrowser(service)
    await browser.get(path)
    await browser.post('/account/password', { password: newPassword, repeat: newPassword })
    const log = service.lines.join('')
    expect(log).toContain('/account/password')
    expect(log).not.toContain('sll_')
    expect(log).not.toContain(newPassword)
  })

  it('links to a stylesheet that browsers may cache for a year', async () => {
    const { text } = await service.http.get('/account/joined')
    const path = /<link rel="stylesheet" href="([^"]+)">/.exec(text)?.[1] ?? ''
    const { headers } = await service.http.get(path).expect(200)
    expect(headers).toMatchObject({
      'content-type': 'text/css; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
    })
  })
})
