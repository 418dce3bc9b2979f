import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { describeUnless } from '@sluice/testing/skip-tests'
import { sql } from 'kysely'
import type { SsoProviderConfigBody } from '@sluice/contracts'
import { clientBody, type Service } from '../app-under-test.ts'
import { loginByForm } from './submit-login-form.ts'
import { lemonldapMissing, secretAtLemonldap, startLemonldap, type Lemonldap } from './lemonldap.ts'
import { startSignIn, requestCallback, createSsoUser, startServiceBesideProviders } from './federated-sign-in-setup.ts'

const missing = lemonldapMissing()

describeUnless(missing)('LemonLDAP::NG as the provider of an organisation', () => {
  let service: Service
  let lemonldap: Lemonldap
  let manager: Awaited<ReturnType<Service['as']>>
  let code: string
  let id: string
  let redirectUri: string

  beforeAll(async () => {
    service = await startServiceBesideProviders()
    lemonldap = await startLemonldap()
    const client = clientBody()
    code = client.code
    const uid = await service.client(client)
    manager = await service.as(['ROLE_MANAGE_SSO_PROVIDER_CONFIG'], uid)
    id = (await manager.post('/sso-provider-configs').send(body()).expect(201)).body.id
    redirectUri = (await tried()).data.redirectUri
    await lemonldap.start({ redirectUri })
    await createSsoUser(service, { client: uid, ssoId: 'dwho', status: 'INVITATION' })
  })
  afterAll(async () => {
    await lemonldap?.stop()
    await service?.stop()
  })

  const body = (changes: Partial<SsoProviderConfigBody> = {}): SsoProviderConfigBody => ({
    provider: 'GENERIC',
    clientDomain: lemonldap.base,
    mappingClaim: 'preferred_username',
    clientId: 'sluice',
    clientSecret: secretAtLemonldap,
    ...changes,
  })
  const tried = async () => (await manager.post(`/sso-provider-configs/${id}/test`).expect(200)).body

  async function signIn(user: string) {
    const { location, cookie } = await startSignIn(service, code)
    return requestCallback(service, await loginByForm(location, { user, password: user }, redirectUri), cookie)
  }

  it('passes the provider test, which names what the provider does not list', async () => {
    const { status, message, data } = await tried()
    expect([status, data.algorithms, data.issuer]).toEqual(['WARNING', ['RS256'], `${lemonldap.base}/`])
    expect(message).toMatch(/does not list the claim preferred_username/)
  })

  it('fails the provider test with a wrong client secret', async () => {
    await manager
      .put(`/sso-provider-configs/${id}`)
      .send(body({ clientSecret: 'wrong' }))
      .expect(200)
    expect(await tried()).toMatchObject({ status: 'ERROR', errorCode: 'SSO_CLIENT_REFUSED' })
    await manager.put(`/sso-provider-configs/${id}`).send(body()).expect(200)
  })

  it('signs in the user that the mapping claim names, and activates an invited user', async () => {
    const { body: tokens } = await signIn('dwho')
    const { body: me } = await service.withToken(tokens.accessToken).get('/users/me').expect(200)
    expect([me.ssoId, me.status]).toEqual(['dwho', 'ACTIVE'])
    const { rows } = await sql`select issuer, subject from sso_identities`.execute(service.db)
    expect(rows).toEqual([{ issuer: `${lemonldap.base}/`, subject: 'dwho' }])
  })

  it('refuses the sign-in of a person without a user here', async () => {
    const answer = await signIn('rtyler')
    expect([answer.status, answer.body.code]).toEqual([401, 'sign-in-failed'])
  })

  it('signs in users after it has rotated its keys', async () => {
    await lemonldap.start({ redirectUri })
    expect((await signIn('dwho')).status).toBe(200)
  })

  it('is rejected after it changes its issuer', async () => {
    const before = await startSignIn(service, code)
    await lemonldap.start({ redirectUri, issuer: 'https://sso.elsewhere.example' })
    const back = await loginByForm(before.location, { user: 'dwho', password: 'dwho' }, redirectUri)
    const answer = await requestCallback(service, back, before.cookie)
    expect([answer.status, answer.body.detail]).toEqual([
      502,
      'The ID token was issued by another provider. Check the clientDomain.',
    ])
    expect(await tried()).toMatchObject({ status: 'ERROR', errorCode: 'SSO_ISSUER_MISMATCH' })
    expect((await service.http.get(`/api/v1/auth/sso/${code}`)).status).toBe(502)
  })
})
