import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { auditOf, goodPassword, startService, type Service } from '../app-under-test.ts'
import { enrolSecondFactor } from '../enrol-second-factor.ts'
import { Browser } from './http-browser-client.ts'
import { published, relyingParty } from './relying-party.ts'

let service: Service
let party: Awaited<ReturnType<typeof relyingParty>>
beforeAll(async () => {
  service = await startService()
  party = await relyingParty(service)
})
afterAll(() => service.stop())

const sessionsOf = async (uid: string) =>
  (await sql`select from sessions s join users u on u.id = s.user_id where u.uid = ${uid}`.execute(service.db)).rows
    .length
const open = async (browser = party.browser(), parameters: Record<string, string> = {}) => {
  const { url, finish } = await party.begin(parameters)
  return { browser, finish, page: await browser.open(url) }
}

describe('the sign-in page of an application', () => {
  it('names the application and its organisation, and limits form-action to the application', async () => {
    const { page } = await open(party.browser(), { login_hint: '"><script>x' })
    expect(page.html).toContain('Reports')
    const { rows } = await sql<{ name: string }>`select name from clients where uid = ${party.organisation}`.execute(
      service.db,
    )
    expect(page.html).toContain(rows[0]!.name)
    expect(page.html).not.toContain('<script')
    expect(page.headers.get('content-security-policy')).toContain("form-action 'self' https://reports.example.org;")
    expect(page.headers.get('cache-control')).toBe('no-store')
    expect(page.headers.get('x-frame-options')).toBe('DENY')
  })

  it('shows the same 401 for a wrong password, an unknown name and users of other organisations', async () => {
    const elsewhere = await service.user({ client: await service.client() })
    const root = await service.user({ client: await service.client(), roles: ['ROLE_SUPER_ADMIN'] })
    const user = await party.user()
    const tries = [
      [user.username, `${goodPassword}x`],
      ['nobody-of-that-name', goodPassword],
      [elsewhere.username, goodPassword],
      [root.username, goodPassword],
    ] as const
    const answers = await Promise.all(
      tries.map(async ([username, password]) => {
        const { browser, page } = await open()
        const { status, html } = await browser.submit(page, { username, password })
        return [status, /<h2[\s\S]*?<\/ul>|refused|incorrect[^<]*/.exec(html)?.[0]]
      }),
    )
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
    expect(answers[0]![0]).toBe(401)
    expect(await sessionsOf(elsewhere.uid)).toBe(0)
    expect(await sessionsOf(root.uid)).toBe(0)
  })

  it('counts and audits the right password of a user of another organisation as a failure', async () => {
    const elsewhere = await service.user({ client: await service.client() })
    const failures = async () =>
      (
        await sql<{ failures: number }>`
          select failures from sign_in_attempts
          where key = ${`account:${createHash('sha256').update(elsewhere.username).digest('base64url')}`}`.execute(
          service.db,
        )
      ).rows
    for (const [at, password] of [`${goodPassword}x`, goodPassword, `${goodPassword}x`].entries()) {
      const { browser, page } = await open()
      expect((await browser.submit(page, { username: elsewhere.username, password })).status).toBe(401)
      expect(await failures()).toEqual([{ failures: at + 1 }])
    }
    const outcomes = (await auditOf(service.db, elsewhere.uid)).map(({ details }) => details)
    expect(outcomes.toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)))).toEqual([
      { outcome: 'of another organisation' },
      { outcome: 'wrong password' },
      { outcome: 'wrong password' },
    ])
  })

  it('returns 400 and names the missing fields', async () => {
    const { browser, page } = await open()
    const answer = await browser.submit(page, { username: '', password: '' })
    expect(answer.status).toBe(400)
    expect(answer.html).toContain('Enter your username.')
    expect(answer.html).toContain('Enter your password.')
  })

  it('writes the sign-in and the consent to the audit log', async () => {
    const user = await party.user()
    await party.signIn(user.username)
    const rows = (await auditOf(service.db, party.body.ssoClientId)).filter(
      ({ actor, operation }) => actor === user.uid && operation === 'oidc.consent',
    )
    expect(rows).toMatchObject([
      {
        operation: 'oidc.consent',
        client: party.organisation,
        details: { outcome: 'allowed', scopes: ['openid', 'profile', 'email'] },
      },
    ])
    expect(await auditOf(service.db, user.uid)).toMatchObject([
      { operation: 'auth.login', details: { outcome: 'signed in' } },
    ])
  })

  it('requires a sign-in if the browser is signed in to another organisation', async () => {
    const other = await relyingParty(service)
    const user = await other.user()
    const { browser } = await other.signIn(user.username)
    const { page } = await open(browser)
    expect(page.html).toContain('name="password"')
    const silent = await party.begin({ prompt: 'none' })
    await expect(silent.finish(await browser.open(silent.url))).rejects.toMatchObject({ error: 'login_required' })
  })
})

describe('an interaction', () => {
  it('is refused in another browser', async () => {
    const { page } = await open()
    const stranger = party.browser()
    for (const path of ['', '/code', '/federated?ticket=x'])
      expect((await stranger.open(`${page.url.pathname}${path}`)).html).toContain('This sign-in is no longer valid')
    const { page: strangerPage } = await open(stranger)
    // A browser with the form of one interaction and the cookies of another.
    const mixedBrowser = new Browser({ published, actual: party.actual })
    mixedBrowser.cookies.push(...stranger.cookies)
    const user = await party.user()
    const answer = await mixedBrowser.submit(page, { username: user.username, password: goodPassword })
    expect([answer.status, strangerPage.status]).toEqual([403, 200])
    expect(await sessionsOf(user.uid)).toBe(0)
  })

  it('shows "no longer valid" if its forms are submitted again after it ended', async () => {
    const user = await party.user()
    const { browser, page } = await open()
    const question = await browser.submit(page, { username: user.username, password: goodPassword })
    const done = await browser.submit(question, { decision: 'allow' })
    expect(done.url.searchParams.get('code')).toBeTruthy()
    for (const old of [page, question]) {
      const again = await browser.submit(old, { username: user.username, password: goodPassword, decision: 'allow' })
      expect([again.status, again.html.includes('This sign-in is no longer valid')]).toEqual([400, true])
    }
    expect((await browser.open(page.url)).html).toContain('This sign-in is no longer valid')
  })

  it('ignores or refuses a consent, code or ticket before the sign-in', async () => {
    const user = await party.user()
    const { browser, page } = await open()
    // A consent before the sign-in returns to the sign-in page.
    const skipped = await browser.submit(
      { ...page, html: page.html.replace('/login"', '/consent"') },
      { decision: 'allow' },
    )
    expect(skipped.html).toContain('name="password"')
    expect((await browser.open(`${page.url.pathname}/code`)).html).toContain('name="password"')
    expect((await browser.open(`${page.url.pathname}/federated?ticket=made-up`)).status).toBe(401)
    expect((await browser.open(`${page.url.pathname}/federated?problem=<b>x`)).html).not.toContain('<b>x')
    expect((await browser.submit(page, { username: user.username, password: goodPassword })).html).toContain(
      'value="allow"',
    )
  })
})

describe('a second factor', () => {
  it('refuses a ticket and a code of another organisation with 401', async () => {
    const elsewhere = await service.as(['ROLE_SEE_VIEW'])
    const factor = await enrolSecondFactor(service, elsewhere)
    const before = await sessionsOf(elsewhere.uid)
    const { username } = elsewhere
    const login = await service.http.post('/api/v1/auth/login').send({ username, password: goodPassword }).expect(200)
    const { ticket } = login.body.secondFactor
    const user = await service.as(['ROLE_SEE_VIEW'], party.organisation)
    await enrolSecondFactor(service, user)
    const { browser, page } = await open()
    const consent = await browser.submit(page, { username: user.username, password: goodPassword })
    browser.cookies.find(({ name }) => name === 'sluice-second-factor')!.value = ticket
    expect((await browser.submit(consent, { code: factor.code() })).status).toBe(401)
    expect(await sessionsOf(elsewhere.uid)).toBe(before)
    const auditDetails = (await auditOf(service.db, elsewhere.uid)).map(({ details }) => details)
    expect(auditDetails).toContainEqual({ outcome: 'of another organisation' })
    // The ticket and the code stay valid for a sign-in in their own organisation.
    await service.http.post('/api/v1/auth/login/code').send({ ticket, code: factor.code() }).expect(200)
  })

  it('is required on a separate page before a session is created', async () => {
    const user = await service.as(['ROLE_SEE_VIEW'], party.organisation)
    const factor = await enrolSecondFactor(service, user)
    const before = await sessionsOf(user.uid)
    const { browser, page, finish } = await open()
    const code = await browser.submit(page, { username: user.username, password: goodPassword })
    expect(code.url.pathname).toMatch(/\/code$/)
    expect(code.html).toContain('name="code"')
    expect(await sessionsOf(user.uid)).toBe(before)
    expect((await browser.submit(code, { code: '' })).status).toBe(400)
    expect((await browser.submit(code, { code: '000000' })).status).toBe(401)
    const recovery = await browser.open(`${code.url.pathname}?recovery`)
    expect(recovery.html).toContain('recovery code')
    expect(await sessionsOf(user.uid)).toBe(before)
    const question = await browser.submit(recovery, { code: factor.recoveryCodes[0]! })
    const first = await finish(await browser.submit(question, { decision: 'allow' }))
    expect(first.claims()).toMatchObject({ sub: user.uid, amr: ['pwd', 'mfa'] })

    const other = await open()
    const again = await other.browser.submit(other.page, { username: user.username, password: goodPassword })
    const tokens = await other.finish(await other.browser.submit(again, { code: factor.code() }))
    expect(tokens.claims()).toMatchObject({ sub: user.uid, amr: ['pwd', 'otp', 'mfa'] })
  })
})

describe('a request with a NUL character', () => {
  it('is refused in the query and in form fields, without an error in the log', async () => {
    for (const query of ['client_id=%00', `client_id=${party.body.ssoClientId}&state=%00`])
      await service.http.get(`/oidc/auth?${query}`).expect(400)
    const form = (fields: object) => service.http.post('/oidc/token').type('form').send(fields)
    await form({ grant_type: 'client_credentials', client_id: '\0', client_secret: '\0' }).expect(401)
    await form({
      grant_type: 'authorization_code',
      code: '\0',
      redirect_uri: '\0',
      client_id: party.body.ssoClientId,
      client_secret: party.body.clientSecret,
    }).expect(400)
    expect(service.lines.filter((line) => line.includes('"level":50'))).toEqual([])
  })
})
