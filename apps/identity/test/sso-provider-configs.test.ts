import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import type { Role, SsoProviderConfigBody } from '@sluice/contracts'
import { auditOf, type Service } from './app-under-test.ts'
import { registered, startTestProvider, type TestProvider } from './federated/identity-provider-stand-in.ts'
import { signInAtProvider, createSsoUser, startServiceBesideProviders } from './federated/federated-sign-in-setup.ts'

const manage: Role[] = ['ROLE_MANAGE_SSO_PROVIDER_CONFIG']

let service: Service
let provider: TestProvider
let manager: Awaited<ReturnType<Service['as']>>
beforeAll(async () => {
  service = await startServiceBesideProviders()
  provider = await startTestProvider()
})
afterAll(async () => {
  await provider.stop()
  await service.stop()
})
beforeEach(async () => {
  manager = await service.as(manage)
  provider.misbehaviour = {}
})

const body = (changes: Partial<SsoProviderConfigBody> = {}): SsoProviderConfigBody => ({
  provider: 'GENERIC',
  clientDomain: provider.issuer,
  mappingClaim: 'sub',
  ...registered,
  ...changes,
})
const createConfig = async (changes: Partial<SsoProviderConfigBody> = {}) =>
  (await manager.post('/sso-provider-configs').send(body(changes)).expect(201)).body.id as string
const put = (id: string, changes: Partial<SsoProviderConfigBody> = {}) => {
  const { clientId: _id, clientSecret: _secret, ...rest } = body()
  return manager.put(`/sso-provider-configs/${id}`).send({ ...rest, ...changes })
}
const stored = async (id: string) => {
  const { rows } = await sql<{ client_id: string | null; client_secret: string | null }>`
    select client_id, client_secret from sso_provider_configs where uid = ${id}`.execute(service.db)
  return rows[0]!
}

describe('the credentials of a provider config', () => {
  it('are returned only to super admins, encrypted at rest, and absent from the audit log', async () => {
    const id = await createConfig()
    const super_ = await service.as(['ROLE_SUPER_ADMIN'])
    const texts = [
      (await manager.get(`/sso-provider-configs/${id}`)).text,
      (await manager.get('/sso-provider-configs')).text,
      (await put(id)).text,
      (await manager.post(`/sso-provider-configs/${id}/test`)).text,
    ]
    const one = await super_.put(`/clients/${manager.client}/sso-provider-configs/${id}`).send(body())
    expect(one.body).toMatchObject(registered)
    texts.push(JSON.stringify(await auditOf(service.db, id)), service.lines.join('\n'))
    for (const text of texts) expect(text).not.toContain(registered.clientSecret)
    for (const text of texts.slice(0, 4)) expect(text).not.toContain(registered.clientId)
    expect((await stored(id)).client_secret).toMatch(/^test\.[\w-]+\.[\w-]+$/)
  })

  it('are kept if absent or null in a body, replaced by a value, and removed by an empty string', async () => {
    const id = await createConfig()
    const before = await stored(id)
    await put(id, { mappingClaim: 'oid' }).expect(200)
    expect(await stored(id)).toEqual(before)
    await put(id, { clientSecret: 'another' }).expect(200)
    expect((await stored(id)).client_secret).not.toBe(before.client_secret)
    const now = await stored(id)
    await put(id, { clientSecret: null, clientId: null }).expect(200)
    expect(await stored(id)).toEqual(now)
    await put(id, { clientSecret: '', clientId: '' }).expect(200)
    expect(await stored(id)).toEqual({ client_id: null, client_secret: null })
  })

  it('cannot be reused for another provider address', async () => {
    const id = await createConfig()
    const moved = await put(id, { clientDomain: 'sso.elsewhere.example' })
    expect([moved.status, moved.body.errors[0].pointer]).toEqual([422, '/clientSecret'])
    await put(id, { clientDomain: 'sso.elsewhere.example', clientSecret: 'another' }).expect(200)
    await put(id, { clientDomain: provider.issuer, clientSecret: '' }).expect(200)
  })

  it('cannot be read through the path of another organisation', async () => {
    const id = await createConfig()
    const super_ = await service.as(['ROLE_SUPER_ADMIN'])
    await super_.put(`/clients/${super_.client}/sso-provider-configs/${id}`).send(body()).expect(404)
  })
})

describe('a provider config', () => {
  it('is unique in its organisation', async () => {
    await createConfig()
    const { body: problem } = await manager.post('/sso-provider-configs').send(body()).expect(409)
    expect(problem.detail).toMatch(/has an SSO provider config/)
  })

  it.each([
    ['IDP_VENDOR', 'https://acme.vendor.com/'],
    ['IDP_VENDOR', 'acme.vendor.com/x'],
    ['GENERIC', 'a b'],
    ['GENERIC', 'ftp://sso.example.org'],
    ['GENERIC', 'https://a:b@sso.example.org'],
    ['GENERIC', 'https://sso.example.org/?a=b'],
    ['GENERIC', 'https://sso.example.org/#a'],
    ['GENERIC', '//sso.example.org'],
  ] as const)('is rejected with the provider %s and the address %s', async (kind, clientDomain) => {
    const answer = await manager.post('/sso-provider-configs').send(body({ provider: kind, clientDomain }))
    expect([400, 422]).toContain(answer.status)
    expect(answer.body.errors[0].pointer).toBe('/clientDomain')
  })

  it('cannot be changed by a user who lacks a role of its users', async () => {
    const id = await createConfig()
    await createSsoUser(service, { client: manager.client, ssoId: 'powerful', roles: ['ROLE_SUPER_ADMIN'] })
    const refused = await put(id, { mappingClaim: 'oid' })
    expect([refused.status, refused.body.detail]).toEqual([403, expect.stringContaining('ROLE_SUPER_ADMIN')])
    await put(id, { clientSecret: 'rotated' }).expect(200)
    expect((await auditOf(service.db, id)).at(-1)?.details.secretChanged).toBe(true)
    await manager.delete(`/sso-provider-configs/${id}`).expect(403)
    const super_ = await service.as(['ROLE_SUPER_ADMIN'], manager.client)
    await super_
      .put(`/sso-provider-configs/${id}`)
      .send(body({ mappingClaim: 'oid' }))
      .expect(200)
  })

  it('ends sessions and identity links of its users when its issuer changes', async () => {
    const id = await createConfig()
    const { rows } = await sql<{ code: string }>`select code from clients where uid = ${manager.client}`.execute(
      service.db,
    )
    await createSsoUser(service, { client: manager.client, ssoId: 'p' })
    provider.person = { sub: 'p' }
    const signedIn = await signInAtProvider(service, rows[0]!.code)
    expect(signedIn.status).toBe(200)
    const person = service.withToken(signedIn.body.accessToken)
    const pins = async () =>
      (
        await sql`select from sso_identities i join sso_provider_configs p on p.id = i.config_id where p.uid = ${id}`.execute(
          service.db,
        )
      ).rows.length
    await put(id, { mappingClaim: 'oid' }).expect(200)
    expect(await pins()).toBe(1)
    await person.get('/users/me').expect(200)
    await put(id, { clientDomain: 'sso.elsewhere.example', clientSecret: 'x' }).expect(200)
    expect(await pins()).toBe(0)
    await person.get('/users/me').expect(401)
  })

  it.each([
    ['the provider', { clientDomain: 'sso.elsewhere.example', clientSecret: 'x' }],
    ['the mapping claim', { mappingClaim: 'oid' }],
    ['the registration', { clientId: 'another', clientSecret: 'x' }],
  ])('that changes %s rejects sign-ins in progress', async (_what, changes) => {
    const id = await createConfig()
    const { rows } = await sql<{ code: string }>`select code from clients where uid = ${manager.client}`.execute(
      service.db,
    )
    const user = await createSsoUser(service, { client: manager.client, ssoId: 'p' })
    provider.person = { sub: 'p' }
    provider.misbehaviour = {
      async token(claims) {
        await put(id, changes).expect(200)
        return provider.sign(claims)
      },
    }
    const answer = await signInAtProvider(service, rows[0]!.code)
    expect([answer.status, answer.body.code]).toEqual([401, 'sign-in-failed'])
    const left = sql`
      with person as (select id from users where uid = ${user.uid})
      select from sessions join person on person.id = user_id union all select from sso_identities join person on person.id = user_id`
    expect((await left.execute(service.db)).rows).toHaveLength(0)
    const [noted] = await auditOf(service.db, user.uid)
    expect(noted!.details).toMatchObject({ outcome: 'the config changed meanwhile' })
  })
})

describe('the provider test', () => {
  const result = async (id: string) => (await manager.post(`/sso-provider-configs/${id}/test`).expect(200)).body

  it('returns the issuer, redirect URI and algorithms of a working provider', async () => {
    const id = await createConfig()
    expect(await result(id)).toMatchObject({
      // The only warning is that the test provider has no TLS.
      status: 'WARNING',
      errorCode: 'SSO_DOUBTFUL',
      message: expect.stringContaining('without TLS'),
      data: {
        issuer: `${provider.issuer}/`,
        redirectUri: `http://localhost:3001/api/v1/auth/sso/callback?provider=${id}`,
        algorithms: ['ES256'],
      },
    })
  })

  it('returns a warning for each questionable setting', async () => {
    const id = await createConfig({ mappingClaim: 'email' })
    provider.misbehaviour = { metadata: { code_challenge_methods_supported: ['plain'], claims_supported: ['sub'] } }
    const { status, data } = await result(id)
    expect([status, data.warnings.length]).toEqual(['WARNING', 4])
  })

  it.each([
    [
      'another issuer',
      { metadata: { issuer: 'https://other.example.org' } },
      'SSO_ISSUER_MISMATCH',
      /names the issuer https:\/\/other/,
    ],
    ['no token endpoint', { metadata: { token_endpoint: undefined } }, 'SSO_NOT_SUPPORTED', /no usable token_endpoint/],
    [
      'insecure signature algorithms',
      { metadata: { id_token_signing_alg_values_supported: ['HS256', 'none'] } },
      'SSO_NOT_SUPPORTED',
      /no signature algorithm that Sluice accepts/,
    ],
    ['a missing jwks_uri', { metadata: { jwks_uri: undefined } }, 'SSO_NOT_SUPPORTED', /no usable jwks_uri/],
  ])('returns an error that explains %s', async (_what, misbehaviour, errorCode, message) => {
    const id = await createConfig()
    provider.misbehaviour = misbehaviour
    expect(await result(id)).toMatchObject({ status: 'ERROR', errorCode, message: expect.stringMatching(message) })
  })

  it('returns an error that explains rejected or missing credentials', async () => {
    const id = await createConfig({ clientSecret: 'wrong' })
    expect(await result(id)).toMatchObject({ status: 'ERROR', errorCode: 'SSO_CLIENT_REFUSED' })
    await put(id, { clientId: '' }).expect(200)
    expect((await result(id)).message).toMatch(/Enter the clientId/)
  })

  it.each([
    ['nothing there', 404, 'no', /No OpenID Connect metadata was found at .*status 404/],
    ['a page instead of metadata', 200, '<html>', /No OpenID Connect metadata was found at .*is not JSON/],
  ])('returns an error that explains %s', async (_what, status, text, message) => {
    const id = await createConfig()
    provider.misbehaviour = {
      answer: (_request, response) => Boolean(response.writeHead(status, { 'content-type': 'text/html' }).end(text)),
    }
    expect((await result(id)).message).toMatch(message)
  })

  it('returns an error that explains an unreachable provider', async () => {
    const gone = await startTestProvider()
    const id = await createConfig({ clientDomain: gone.issuer })
    await gone.stop()
    expect(await result(id)).toMatchObject({
      errorCode: 'SSO_UNREACHABLE',
      message: expect.stringMatching(/Nothing accepts connections/),
    })
  })
})
