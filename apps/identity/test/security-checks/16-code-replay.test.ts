import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { connect } from '@sluice/database'
import type { DB } from '../../src/database.ts'
import { goodPassword } from '../app-under-test.ts'
import { applicationBody } from '../application-body.ts'
import { Browser } from '../openid-provider/http-browser-client.ts'
import { until } from '@sluice/testing/wait-until'
import { sendRequest, startInstallation, type Installation } from '../start-real-processes.ts'

let installation: Installation
let connection: ReturnType<typeof connect<DB>>
let token: string
const application = applicationBody()
const other = applicationBody()
const replayed = applicationBody()
beforeAll(async () => {
  installation = await startInstallation({ identities: 2 })
  connection = connect<DB>(installation.identityDatabase, { name: 'identity-test' })
  const [url = ''] = installation.identity
  const login = { username: 'admin', password: goodPassword }
  token = (await sendRequest(url, 'POST', '/auth/login', { body: login })).body.accessToken
  for (const body of [application, other, replayed])
    expect((await sendRequest(url, 'POST', '/sso-client-configs', { token, body })).status).toBe(201)
})
afterAll(async () => {
  await connection?.db.destroy()
  await installation?.[Symbol.asyncDispose]()
})

const verifier = 'a-verifier-that-is-long-enough-for-everybody-0123456789'
const challenge = async () =>
  Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from(verifier))).toString('base64url')
const [redirectUri = ''] = application.redirectUris

/** Signs the admin in to an application, and returns the authorization code. */
async function newCode(
  browser = new Browser({ published: installation.identity[0]!, actual: installation.identity[1]! }),
  as = application,
) {
  const query = new URLSearchParams({
    client_id: as.ssoClientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'openid ROLE_SEE_VIEW',
    code_challenge: await challenge(),
    code_challenge_method: 'S256',
  })
  let page = await browser.open(`/oidc/auth?${query}`)
  if (page.html.includes('name="password"'))
    page = await browser.submit(page, { username: 'admin', password: goodPassword })
  if (page.html.includes('value="allow"')) page = await browser.submit(page, { decision: 'allow' })
  const code = page.url.searchParams.get('code')
  if (!code) throw new Error(`no code: ${page.url.href} ${page.html}`)
  return { code, browser }
}

async function exchange(fields: Record<string, string>, { by = 0, as = application } = {}) {
  const answer = await fetch(`${installation.identity[by]}/oidc/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${as.ssoClientId}:${as.clientSecret}`)}` },
    body: new URLSearchParams(fields),
  })
  return { status: answer.status, body: (await answer.json()) as Record<string, string> }
}
const redeem = (code: string, options?: Parameters<typeof exchange>[1], more: Record<string, string> = {}) =>
  exchange(
    { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier, ...more },
    options,
  )
const refresh = (refresh_token: string, by = 0) => exchange({ grant_type: 'refresh_token', refresh_token }, { by })

describe('32 parallel uses', () => {
  it.each([1, 2])('of an authorization code succeed exactly once across %i processes', async (processes) => {
    for (let round = 0; round < 3; round++) {
      const { code } = await newCode()
      const answers = await Promise.all(
        Array.from({ length: 32 }, (_, index) => redeem(code, { by: index % processes })),
      )
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
      const refused = answers.filter(({ status }) => status !== 200)
      expect(new Set(refused.map(({ status, body }) => `${status} ${body['error']}`))).toEqual(
        new Set(['400 invalid_grant']),
      )
    }
  })

  it.each([1, 2])(
    'of a refresh token succeed exactly once across %i processes and keep the token family valid',
    async (processes) => {
      for (let round = 0; round < 3; round++) {
        const { code } = await newCode()
        const { body } = await redeem(code)
        const answers = await Promise.all(
          Array.from({ length: 32 }, (_, index) => refresh(body['refresh_token']!, index % processes)),
        )
        const accepted = answers.filter(({ status }) => status === 200)
        expect(accepted).toHaveLength(1)
        expect((await refresh(accepted[0]!.body['refresh_token']!, round % 2)).status).toBe(200)
      }
    },
  )
})

describe('an authorization code', () => {
  it('is refused for a wrong application, verifier or redirect URI, and stays valid', async () => {
    const { code } = await newCode()
    const wrong = [
      await redeem(code, { as: other }),
      await redeem(code, {}, { code_verifier: `${verifier}x` }),
      await redeem(code, {}, { redirect_uri: `${redirectUri}/` }),
      await exchange({ grant_type: 'authorization_code', code, redirect_uri: redirectUri }),
    ]
    expect(wrong.map(({ status }) => status)).toEqual([400, 400, 400, 400])
    expect((await redeem(code)).status).toBe(200)
  })

  it('revokes its tokens at once and is audited once if it is used twice', async () => {
    const reuses = async () => {
      const { rows } = await sql<object>`
        select a.client = u.client as "ofClient", a.actor = u.uid as "byUser", a.details
        from audit a, users u
        where u.username = 'admin' and a.operation = 'oidc.reuse' and a.object = ${replayed.ssoClientId}`.execute(
        connection.db,
      )
      return rows.length > 0 && rows
    }
    const { code } = await newCode(undefined, replayed)
    const { body } = await redeem(code, { as: replayed })
    expect(await reuses()).toBe(false)
    const status = async (by: number) =>
      (await sendRequest(installation.identity[by]!, 'GET', '/users/me', { token: body['access_token']! })).status
    expect([await status(0), await status(1)]).toEqual([200, 200])
    expect((await redeem(code, { by: 1, as: replayed })).status).toBe(400)
    // The audit row is written after the response.
    const audited = await until(reuses)
    expect(audited).toEqual([{ ofClient: true, byUser: true, details: { grantType: 'authorization_code' } }])
    expect([await status(0), await status(1)]).toEqual([401, 401])
    const refreshed = await exchange(
      { grant_type: 'refresh_token', refresh_token: body['refresh_token']! },
      { as: replayed },
    )
    expect([refreshed.status, refreshed.body['error']]).toEqual([400, 'invalid_grant'])
  })

  it('is not issued without PKCE or with the plain method', async () => {
    const browser = new Browser({ published: installation.identity[0]!, actual: installation.identity[0]! })
    const query = {
      client_id: application.ssoClientId,
      redirect_uri: redirectUri,
      response_type: 'code',
      scope: 'openid',
    }
    const wrong: Record<string, string>[] = [
      {},
      { code_challenge: verifier, code_challenge_method: 'plain' },
      { code_challenge: verifier },
    ]
    for (const more of wrong) {
      const page = await browser.open(`/oidc/auth?${new URLSearchParams({ ...query, ...more })}`)
      expect(page.url.searchParams.get('error')).toBe('invalid_request')
      expect(page.url.searchParams.get('code')).toBeNull()
    }
  })
})

describe('a refresh token', () => {
  it('ends its token family if it is used again after the grace period', async () => {
    const { code } = await newCode()
    const { body } = await redeem(code)
    const next = await refresh(body['refresh_token']!)
    await sql`
      update oidc_models set consumed_at = now() - interval '11 seconds'
      where model = 'RefreshToken' and consumed_at is not null`.execute(connection.db)
    expect((await refresh(body['refresh_token']!, 1)).status).toBe(400)
    expect((await refresh(next.body['refresh_token']!)).status).toBe(400)
  })

  it('is refused after the session expires, also if it was refreshed before', async () => {
    const { code } = await newCode()
    let { body } = await redeem(code)
    body = (await refresh(body['refresh_token']!)).body
    const { rows } = await sql<{ days: number }>`
      select max(extract(epoch from expires_at - now()) / 86400)::float8 as days from oidc_models where model = 'RefreshToken'`.execute(
      connection.db,
    )
    expect(rows[0]!.days).toBeLessThanOrEqual(30)
    await sql`update sessions set expires_at = now() - interval '1 second'`.execute(connection.db)
    expect((await refresh(body['refresh_token']!)).status).toBe(400)
  })
})

it('the database contains no usable code, token, client secret or cookie', async () => {
  const { code, browser } = await newCode()
  const { body } = await redeem(code)
  const { code: unused } = await newCode(browser)
  const { rows } = await sql<{ row: string }>`
    select m::text as row from oidc_models m union all select a::text from audit a
    union all select c::text from sso_client_configs c`.execute(connection.db)
  const stored = rows.map(({ row }) => row).join('\n')
  const cookies = browser.cookies.map(({ value }) => value).filter((value) => value.length > 20)
  const secrets = [code, unused, body['refresh_token']!, body['access_token']!, application.clientSecret!, ...cookies]
  expect(secrets.length).toBeGreaterThan(5)
  for (const secret of secrets) expect(stored).not.toContain(secret)
})
