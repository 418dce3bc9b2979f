import { afterAll, beforeAll, expect, it, jest } from '@jest/globals'
import * as client from 'openid-client'
import { startService, type Service } from '../app-under-test.ts'
import { relyingParty } from './relying-party.ts'

/** The console output: oidc-provider warns about default settings and development features. */
const printed: unknown[] = []
const keep = (...text: unknown[]) => void printed.push(text)
let service: Service
beforeAll(async () => {
  jest.spyOn(console, 'info').mockImplementation(keep)
  jest.spyOn(console, 'warn').mockImplementation(keep)
  jest.spyOn(console, 'log').mockImplementation(keep)
  service = await startService()
})
afterAll(async () => {
  jest.restoreAllMocks()
  await service.stop()
})

it('oidc-provider logs no warning about defaults or development features', async () => {
  const party = await relyingParty(service)
  const user = await party.user()
  const { browser, tokens } = await party.signIn(user.username)
  await client.fetchUserInfo(party.config, tokens.access_token, user.uid)
  await party.signIn(user.username, { scope: 'openid ROLE_SEE_VIEW' }, browser)
  const next = await client.refreshTokenGrant(party.config, tokens.refresh_token!)
  await client.clientCredentialsGrant(party.config, { scope: 'ROLE_SEE_VIEW' })
  await client.tokenRevocation(party.config, next.refresh_token!)
  await browser.open('/oidc/auth?client_id=nobody')
  await browser.submit(await browser.open('/oidc/session/end'), { logout: 'yes' })
  expect(printed).toEqual([])
})

it('the development pages of oidc-provider, which accept any password, do not exist', async () => {
  const party = await relyingParty(service)
  const browser = party.browser()
  const { url } = await party.begin()
  const page = await browser.open(url)
  const path = page.url.pathname
  expect(path).toMatch(/^\/interaction\/[\w-]+$/)
  for (const [method, to] of [
    ['POST', path],
    ['GET', `${path}/abort`],
    ['POST', `${path}/abort`],
  ] as const)
    expect(
      (
        await browser.ask(new URL(to, page.url), {
          method,
          ...(method === 'POST' && { body: new URLSearchParams({ prompt: 'login', login: 'x', password: 'y' }) }),
        })
      ).status,
    ).toBe(404)
  expect((await browser.submit(page, { username: 'anybody', password: 'anything' })).status).toBe(401)
})
