import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import * as client from 'openid-client'
import { startService, type Service } from '../app-under-test.ts'
import { relyingParty } from './relying-party.ts'

let service: Service
let party: Awaited<ReturnType<typeof relyingParty>>
beforeAll(async () => {
  service = await startService({ SESSION_IDLE_HOURS: 8 })
  party = await relyingParty(service)
})
afterAll(() => service.stop())

const setIdleMinutes = (uid: string, minutes: number) =>
  sql`
    update sessions set last_used_at = now() - make_interval(mins => ${minutes})
    where user_id = (select id from users where uid = ${uid})`.execute(service.db)

const parameters = { scope: 'openid offline_access', prompt: 'consent' }

it('refreshes of an application keep the session open until it is idle for too long', async () => {
  const user = await party.user()
  const { browser, tokens } = await party.signIn(user.username, parameters)
  await setIdleMinutes(user.uid, 8 * 60 - 1)
  const next = await client.refreshTokenGrant(party.config, tokens.refresh_token!)
  await setIdleMinutes(user.uid, 8 * 60 - 1)
  const resumed = await party.begin()
  expect((await browser.open(resumed.url)).html).not.toContain('name="password"')
  await setIdleMinutes(user.uid, 8 * 60)
  await expect(client.refreshTokenGrant(party.config, next.refresh_token!)).rejects.toMatchObject({
    error: 'invalid_grant',
  })
})

it('an idle browser session requires a new sign-in', async () => {
  const user = await party.user()
  const { browser } = await party.signIn(user.username)
  await setIdleMinutes(user.uid, 8 * 60)
  const second = await party.begin()
  expect((await browser.open(second.url)).html).toContain('name="password"')
})
