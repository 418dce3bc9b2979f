import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { consumeHandoverTicket } from '../../src/sign-in/federated/session-handover-tickets.ts'
import type { Service } from '../app-under-test.ts'
import { startTestProvider, type TestProvider } from './identity-provider-stand-in.ts'
import {
  startSignIn,
  requestCallback,
  followRedirect,
  throttleNetwork,
  openInteractionPage,
  signInAtProvider,
  createFederatedUser,
  startServiceBesideProviders,
} from './federated-sign-in-setup.ts'

let service: Service
let provider: TestProvider
beforeAll(async () => {
  service = await startServiceBesideProviders()
  provider = await startTestProvider()
})
afterAll(async () => {
  await provider.stop()
  await service.stop()
})

const createUserAtProvider = (about: Parameters<typeof createFederatedUser>[2] = {}) =>
  createFederatedUser(service, provider, about)

describe('a federated sign-in started on an interaction page of the OpenID Provider', () => {
  it('returns to that page with a one-time ticket that is valid there for one minute', async () => {
    const { code, user } = await createUserAtProvider()
    const issueTicket = async () => {
      const answer = await signInAtProvider(service, code, await openInteractionPage(service, 'page-1'))
      expect([answer.status, answer.text]).toEqual([302, ''])
      const callbackUrl = new URL(answer.headers.location as string)
      expect(callbackUrl.origin + callbackUrl.pathname).toBe('http://localhost:3001/interaction/page-1/federated')
      return callbackUrl.searchParams.get('ticket')!
    }
    const facts = { requestId: 'a-request', address: '192.0.2.1' }
    const open = async () =>
      (
        await sql`
          select from sessions s join users u on u.id = s.user_id
          where u.uid = ${user.uid} and s.ended_at is null`.execute(service.db)
      ).rows.length
    const ticket = await issueTicket()
    const taken = await Promise.all([1, 2, 3].map(() => consumeHandoverTicket(service.db, ticket, 'page-1', facts)))
    expect(taken.filter(Boolean)).toEqual([
      { user: { uid: user.uid, id: expect.any(Number), client: user.client }, session: expect.anything(), amr: [] },
    ])
    expect(await consumeHandoverTicket(service.db, await issueTicket(), 'page-2', facts)).toBeUndefined()
    const late = await issueTicket()
    await sql`update sso_tickets set expires_at = now() - interval '1 second'`.execute(service.db)
    expect(await consumeHandoverTicket(service.db, late, 'page-1', facts)).toBeUndefined()
    // The sessions of the two rejected tickets were ended.
    expect(await open()).toBe(1)
    const { rows } = await sql`
      select from audit where operation = 'oidc.endSession' and actor = ${user.uid} and request_id = 'a-request'`.execute(
      service.db,
    )
    expect(rows.length).toBe(2)
  })

  it('returns to that page when it is throttled, and can be retried', async () => {
    const { code } = await createUserAtProvider()
    const { query, cookie: page } = await openInteractionPage(service, 'page-5')
    const { location, cookie } = await startSignIn(service, code, { query, cookie: page })
    const callbackUrl = await followRedirect(location)
    const waiting = await throttleNetwork(service)
    const sendCallback = () =>
      requestCallback(service, callbackUrl, `${page}; ${cookie}`).set('x-forwarded-for', waiting.address)
    const { headers } = await sendCallback().expect(302)
    expect(headers.location).toBe('http://localhost:3001/interaction/page-5/federated?problem=too-many-requests')
    expect(headers['set-cookie']).toBeUndefined()
    await waiting.endWait()
    expect((await sendCallback().expect(302)).headers.location).toContain('?ticket=')
  })

  it('returns to that page when it fails', async () => {
    const { code } = await createUserAtProvider({ status: 'INACTIVE' })
    const answer = await signInAtProvider(service, code, await openInteractionPage(service, 'page-1'))
    expect(answer.headers.location).toBe('http://localhost:3001/interaction/page-1/federated?problem=sign-in-failed')
  })

  it('returns to that page when the provider config was deleted', async () => {
    const { code, config } = await createUserAtProvider()
    const { location, cookie } = await startSignIn(service, code, await openInteractionPage(service, 'page-6'))
    const callbackUrl = await followRedirect(location)
    await sql`delete from sso_provider_configs where uid = ${config}`.execute(service.db)
    const { headers } = await requestCallback(service, callbackUrl, cookie).expect(302)
    expect(headers.location).toBe('http://localhost:3001/interaction/page-6/federated?problem=sso-unknown')
  })

  it('starts only in the browser that has the interaction page open', async () => {
    const { code } = await createUserAtProvider()
    const { query, cookie } = await openInteractionPage(service, 'page-3')
    const other = await openInteractionPage(service, 'page-4')
    const status = async (search: string, header = '') =>
      (await service.http.get(`/api/v1/auth/sso/${code}${search}`).set('cookie', header)).status
    expect(await status(query, cookie)).toBe(302)
    expect(await status(query)).toBe(400)
    expect(await status(query, other.cookie)).toBe(400)
    expect(await status('?interaction=page-3', cookie)).toBe(400)
    expect(await status(query.replace('page-3', 'page-4'), cookie)).toBe(400)
    await sql`update oidc_models set expires_at = now() - interval '1 second'`.execute(service.db)
    const answer = await service.http.get(`/api/v1/auth/sso/${code}${query}`).set('cookie', cookie)
    expect([answer.status, answer.body.code]).toEqual([400, 'sso-unknown'])
  })

  it('rejects any other redirect target', async () => {
    const { code } = await createUserAtProvider()
    for (const page of ['..', 'a/b', 'https://evil.example.org', '%0d%0a', 'a.b'])
      await service.http.get(`/api/v1/auth/sso/${code}?interaction=${page}`).expect(400)
    await service.http.get(`/api/v1/auth/sso/${code}?redirect=https://evil.example.org`).expect(400)
  })
})
