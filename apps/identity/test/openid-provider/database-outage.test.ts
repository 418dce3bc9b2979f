import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { connect } from '@sluice/database'
import type { DB } from '../../src/database.ts'
import { startService, switchableDatabase, type Service } from '../app-under-test.ts'
import { relyingParty } from './relying-party.ts'

const unreachable = connect<DB>('postgres://nobody@127.0.0.1:1/none', { name: 'down' })
let down = false
let service: Service
beforeAll(async () => {
  service = await startService({}, (db) => switchableDatabase(() => (down ? unreachable.db : db)))
})
afterAll(async () => {
  await service.stop()
  await unreachable.db.destroy()
})

it('the provider answers temporarily_unavailable while the database is down', async () => {
  const party = await relyingParty(service)
  const user = await party.user()
  const { url } = await party.begin()
  const { browser, tokens } = await party.signIn(user.username)
  const token = () =>
    service.http
      .post('/oidc/token')
      .type('form')
      .auth(party.body.ssoClientId, party.body.clientSecret!)
      .send({ grant_type: 'client_credentials' })
  await token().expect(200)
  down = true
  const answers = [
    await token(),
    await service.http.get('/oidc/me').set('authorization', `Bearer ${tokens.access_token}`),
  ]
  for (const { status, body, headers } of answers) {
    expect([status, body.error]).toEqual([503, 'temporarily_unavailable'])
    expect(headers['retry-after']).toBe('5')
  }
  const page = await browser.open(url)
  expect([page.status, page.headers.get('retry-after')]).toEqual([503, '5'])
  expect(page.html).not.toContain('ECONNREFUSED')
  down = false
  await token().expect(200)
})
