import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { goodPassword, startService, type Service } from '../app-under-test.ts'
import type { Browser, Page } from '../openid-provider/http-browser-client.ts'
import { published, relyingParty } from '../openid-provider/relying-party.ts'

/** Check 11 on the pages of the OpenID Provider: sign-in, consent and sign-out. */

let service: Service
let party: Awaited<ReturnType<typeof relyingParty>>
beforeAll(async () => {
  service = await startService()
  party = await relyingParty(service)
})
afterAll(() => service.stop())

const hiddenOf = ({ html }: Page): Record<string, string> =>
  Object.fromEntries(
    [...html.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(([, name, value]) => [name, value]),
  )
const send = (browser: Browser, path: string, fields: Record<string, string>, headers: Record<string, string>) =>
  browser.ask(new URL(path, published), { method: 'POST', body: new URLSearchParams(fields), headers })
const foreign: Record<string, string>[] = [
  { origin: 'https://evil.example' },
  { origin: 'http://localhost:3001.evil.example' },
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site', origin: published },
]
const openSessions = async (uid: string) =>
  (
    await sql`select from sessions s join users u on u.id = s.user_id where u.uid = ${uid} and s.ended_at is null`.execute(
      service.db,
    )
  ).rows.length

describe('a cross-site form', () => {
  it('is refused by the sign-in page with 403 and creates no session', async () => {
    const user = await party.user()
    const browser = party.browser()
    const page = await browser.open((await party.begin()).url)
    const fields: Record<string, string> = { ...hiddenOf(page), username: user.username, password: goodPassword }
    expect(fields).toHaveProperty('csrf')
    for (const headers of foreign)
      expect((await send(browser, `${page.url.pathname}/login`, fields, headers)).status).toBe(403)
    for (const csrf of ['', 'x', 'x.y', `${fields['csrf']}x`])
      expect((await send(browser, `${page.url.pathname}/login`, { ...fields, csrf }, {})).status).toBe(403)
    expect(await openSessions(user.uid)).toBe(0)
  })

  it('is refused by the consent page with 403 and stores no consent', async () => {
    const user = await party.user()
    const browser = party.browser()
    const page = await browser.open((await party.begin()).url)
    const question = await browser.submit(page, { username: user.username, password: goodPassword })
    const fields = { ...hiddenOf(question), decision: 'allow' }
    for (const headers of foreign)
      expect((await send(browser, `${question.url.pathname}/consent`, fields, headers)).status).toBe(403)
    expect((await send(browser, `${question.url.pathname}/consent`, { decision: 'allow' }, {})).status).toBe(403)
    const { rows } = await sql`
      select from application_consents k join users u on u.id = k.user_id where u.uid = ${user.uid}`.execute(service.db)
    expect(rows).toEqual([])
  })

  it('is refused by the sign-out page with 400 and keeps the session open', async () => {
    const user = await party.user()
    const { browser } = await party.signIn(user.username)
    const page = await browser.open('/oidc/session/end')
    for (const fields of [{ logout: 'yes' }, { logout: 'yes', xsrf: 'x' }, { logout: 'yes', xsrf: '' }])
      expect((await send(browser, '/oidc/session/end/confirm', fields as Record<string, string>, {})).status).toBe(400)
    expect(page.html).toContain('Sign out?')
    expect(await openSessions(user.uid)).toBe(1)
  })
})

it('GET requests to the sign-in, consent and sign-out pages keep the session open and change no consent', async () => {
  const user = await party.user()
  const { browser } = await party.signIn(user.username)
  const consents = async () =>
    (
      await sql`select k.* from application_consents k join users u on u.id = k.user_id where u.uid = ${user.uid}`.execute(
        service.db,
      )
    ).rows
  const before = await consents()
  const { url } = await party.begin({ prompt: 'consent' })
  const question = await browser.open(url)
  for (const path of [
    question.url.href,
    `${question.url.pathname}/consent?decision=allow`,
    `${question.url.pathname}/login?username=${user.username}&password=${goodPassword}`,
    `${question.url.pathname}/code`,
    `${question.url.pathname}/federated`,
    '/oidc/session/end',
    '/oidc/session/end?logout=yes',
    '/oidc/session/end/confirm?logout=yes',
  ])
    await browser.open(path)
  expect(await openSessions(user.uid)).toBe(1)
  expect(await consents()).toEqual(before)
})

it('cookies are SameSite=Lax and HttpOnly, and also Secure if the public URL is https', async () => {
  const { url } = await party.begin()
  const answer = await service.http.get(`${url.pathname}${url.search}`).expect(303)
  const cookies = answer.headers['set-cookie'] as unknown as string[]
  expect(cookies.length).toBeGreaterThan(1)
  for (const cookie of cookies) expect(cookie).toMatch(/; samesite=lax; httponly$/i)
  const secure = await startService({ IDENTITY_PUBLIC_URL: 'https://id.example.org' })
  try {
    const { rows } = await sql<{ uid: string }>`
      insert into clients (name, code, billing_code, disabled, domain, manager_enabled, routes_enabled, pipelines_enabled, enterprise_enabled)
      values ('A', 'AA', 'AA', false, 'REGULAR', true, true, true, true) returning uid`.execute(secure.db)
    await sql`
      insert into sso_client_configs (client, sso_client_id, sso_client_id_skeleton, client_name, redirect_uris, scopes, grant_types)
      values (${rows[0]!.uid}, 'app', 'app', 'App', '{https://app.example/}', '{openid}', '{authorization_code}')`.execute(
      secure.db,
    )
    const query =
      'client_id=app&response_type=code&scope=openid&redirect_uri=https://app.example/&code_challenge_method=S256'
    const page = await secure.http.get(`/oidc/auth?${query}&code_challenge=${'a'.repeat(43)}`).expect(303)
    for (const cookie of page.headers['set-cookie'] as unknown as string[]) expect(cookie).toMatch(/; secure/i)
  } finally {
    await secure.stop()
  }
})
