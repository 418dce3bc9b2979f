import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt, SignJWT } from 'jose'
import { sql } from 'kysely'
import * as client from 'openid-client'
import type { SsoClientConfigBody } from '@sluice/contracts'
import { createSigningKeys } from '../../src/sign-in/tokens/signing-keys.ts'
import { applicationBody } from '../application-body.ts'
import { goodPassword, startService, type Service } from '../app-under-test.ts'
import { commandLine, consoleClient, consoleSettings } from '../openid-provider/built-in-clients.ts'
import { relyingParty } from '../openid-provider/relying-party.ts'

let service: Service
let admin: Awaited<ReturnType<Service['as']>>
let registered: Awaited<ReturnType<typeof relyingParty>>
let web: Awaited<ReturnType<typeof consoleClient>>
let cli: Awaited<ReturnType<typeof commandLine>>
beforeAll(async () => {
  service = await startService(consoleSettings)
  admin = await service.as(['ROLE_SUPER_ADMIN'])
  registered = await relyingParty(service)
  web = await consoleClient(service)
  cli = await commandLine(service)
})
afterAll(() => service.stop())

const builtIn = () =>
  sql<object>`select uid, client, sso_client_id, secret_hash, redirect_uris, scopes, version from sso_client_configs
    where client is null order by sso_client_id`.execute(service.db)
/** Whether a token is accepted for an operation that only a user in person may call. */
const inPerson = async (token: string) => (await service.withToken(token).get('/users/me/sessions')).status
const post = (path: string, fields: Record<string, string>) => service.http.post(path).type('form').send(fields)
const exchange = (by: 'console' | 'cli' | 'registered', fields: Record<string, string>) => {
  if (by === 'cli') return post('/oidc/token', { ...fields, client_id: 'cli' })
  const { ssoClientId, clientSecret } = registered.body
  const [id, secret] = by === 'console' ? ['console', consoleSettings.CONSOLE_SECRET] : [ssoClientId, clientSecret!]
  return post('/oidc/token', fields).auth(id, secret)
}

describe('the id of a built-in application', () => {
  const ids = ['console', 'cli', 'Console', 'CLI', 'cLi', 'first-party']

  it.each(ids)('%s cannot be registered, nor given to a registered application', async (ssoClientId) => {
    const before = await builtIn()
    for (const changes of [{}, { scopes: ['openid'], redirectUris: ['http://127.0.0.1/callback'] }]) {
      const body = applicationBody({ ssoClientId, ...(changes as Partial<SsoClientConfigBody>) })
      const { body: problem } = await admin.post('/sso-client-configs').send(body).expect(400)
      expect(problem.errors).toEqual([{ pointer: '/ssoClientId', detail: expect.stringContaining('reserved') }])
    }
    const { body: own } = await admin.post('/sso-client-configs').send(applicationBody()).expect(201)
    for (const path of [`/sso-client-configs/${own.id}`, `/clients/${own.client.id}/sso-client-configs/${own.id}`])
      await admin.put(path).send(applicationBody({ ssoClientId })).expect(400)
    expect((await builtIn()).rows).toEqual(before.rows)
  })

  it('cannot be imitated with letters that look alike', async () => {
    for (const ssoClientId of ['с\u043ensole', 'cl\u0456', 'console\u200b', ' console', 'cli ', '\uff43li'])
      await admin.post('/sso-client-configs').send(applicationBody({ ssoClientId })).expect(400)
  })

  it('belongs to applications that no operation shows or changes', async () => {
    const before = await builtIn()
    expect(before.rows).toHaveLength(2)
    const { body: list } = await admin.get('/sso-client-configs?pageSize=1000').expect(200)
    expect(JSON.stringify(list)).not.toMatch(/"ssoClientId":"(console|cli)"/)
    for (const { uid } of before.rows as { uid: string }[]) {
      await admin.get(`/sso-client-configs/${uid}`).expect(404)
      await admin.put(`/sso-client-configs/${uid}`).send(applicationBody()).expect(404)
      await admin.put(`/clients/${admin.client}/sso-client-configs/${uid}`).send(applicationBody()).expect(404)
      await admin.delete(`/sso-client-configs/${uid}`).expect(404)
      const { body } = await service
        .service()
        .post('/lookups/users')
        .send({ ids: [uid] })
        .expect(200)
      expect(body).toEqual([])
    }
    expect((await builtIn()).rows).toEqual(before.rows)
  })

  it('is kept apart by the database, whatever a statement says', async () => {
    const { id } = registered.application
    for (const change of [
      sql`update sso_client_configs set sso_client_id = 'console' where uid = ${id}`,
      sql`update sso_client_configs set sso_client_id = 'first-party' where uid = ${id}`,
      sql`update sso_client_configs set client = null where uid = ${id}`,
      sql`update sso_client_configs set client = ${admin.client} where sso_client_id = 'console'`,
      sql`insert into sso_client_configs (client, sso_client_id, sso_client_id_skeleton, client_name, redirect_uris, scopes, grant_types)
        values (null, 'third', 'third', 'Third', '{}', '{}', '{}')`,
      sql`insert into sso_client_configs (client, sso_client_id, sso_client_id_skeleton, client_name, redirect_uris, scopes, grant_types)
        values (${admin.client}, 'cli', 'other', 'Third', '{}', '{}', '{}')`,
    ])
      await expect(change.execute(service.db)).rejects.toThrow(/sso_client_configs_(built_in_check|sso_client_id_key)/)
  })
})

describe('a registered application', () => {
  it('gets no first-party token by fields, scopes or resources that it sends', async () => {
    for (const field of ['firstParty', 'builtIn', 'built_in', 'tenant', 'inPerson', 'role_scopes'])
      await admin
        .post('/sso-client-configs')
        .send({ ...applicationBody(), [field]: true })
        .expect(400)
    const user = await registered.user(['ROLE_SEE_VIEW', 'ROLE_SUPER_ADMIN'])
    const tries: Record<string, string>[] = [
      { scope: 'openid ROLE_SEE_VIEW' },
      { scope: 'openid ROLE_SEE_VIEW ROLE_SUPER_ADMIN console first-party' },
      { scope: 'openid ROLE_SEE_VIEW', resource: 'urn:sluice:api' },
      { scope: 'openid ROLE_SEE_VIEW', client: 'console', tenant: '', first_party: 'true' },
    ]
    for (const parameters of tries) {
      const { tokens } = await registered.signIn(user.username, parameters)
      expect(decodeJwt(tokens.access_token)).toMatchObject({
        client_id: registered.body.ssoClientId,
        scope: 'ROLE_SEE_VIEW',
      })
      expect(await inPerson(tokens.access_token)).toBe(403)
    }
    const begin = async (parameters: Record<string, string>) => {
      const { url } = await registered.begin(parameters)
      return (await registered.browser().open(url)).url.searchParams.get('error')
    }
    expect(await begin({ scope: 'openid', resource: 'urn:sluice:api' })).toBe('invalid_target')
    expect(await begin({ scope: 'openid', resource: 'console' })).toBe('invalid_target')
    expect(await begin({ scope: 'openid ROLE_SEE_VIEW', resource: 'sluice' })).toBe('invalid_target')
  })

  it('always asks for consent, and signs in only users of its own organisation', async () => {
    const { username } = await service.user({ client: await service.client(), roles: ['ROLE_SEE_VIEW'] })
    const browser = web.browser()
    const { url, finish } = await web.begin({ scope: 'openid' })
    await finish(await browser.submit(await browser.open(url), { username, password: goodPassword }))
    const page = await browser.open((await registered.begin()).url)
    expect(page.html).toContain('name="password"')
    expect((await browser.submit(page, { username, password: goodPassword })).status).toBe(401)

    const own = await registered.user()
    const second = registered.browser()
    const begun = await registered.begin()
    const question = await second.submit(await second.open(begun.url), {
      username: own.username,
      password: goodPassword,
    })
    expect(question.html).toContain('value="allow"')
  })

  it('cannot use the addresses of a built-in application, nor a built-in one those of others', async () => {
    const [consoleAddress = ''] = consoleSettings.CONSOLE_REDIRECT_URIS
    const own = registered.body.redirectUris[0]!
    for (const [party, redirect_uri] of [
      [registered, consoleAddress],
      [registered, 'http://127.0.0.1:4711/callback'],
      [web, own],
      [web, 'http://127.0.0.1:4711/callback'],
      [cli, own],
      [cli, consoleAddress],
      [cli, 'http://localhost:4711/callback'],
      [cli, 'https://127.0.0.1/callback'],
      [cli, 'http://127.0.0.1:4711/other'],
    ] as const) {
      const { url } = await party.begin({ scope: 'openid', redirect_uri })
      expect([redirect_uri, (await party.browser().open(url)).status]).toEqual([redirect_uri, 400])
    }
  })
})

describe('codes and tokens', () => {
  it('are exchanged by no application but their own', async () => {
    const users = { console: '', cli: '', registered: '' }
    const parties = { console: web, cli, registered }
    for (const [name, party] of Object.entries(parties) as [keyof typeof parties, typeof cli][]) {
      users[name] = (await registered.user()).username
      const browser = party.browser()
      const begun = await party.begin({ scope: name === 'console' ? 'openid' : 'openid ROLE_SEE_VIEW' })
      let page = await browser.submit(await browser.open(begun.url), { username: users[name], password: goodPassword })
      if (page.html.includes('value="allow"')) page = await browser.submit(page, { decision: 'allow' })
      const others = (['console', 'cli', 'registered'] as const).filter((other) => other !== name)
      const code = {
        grant_type: 'authorization_code',
        code: page.url.searchParams.get('code')!,
        code_verifier: begun.verifier,
        redirect_uri: begun.url.searchParams.get('redirect_uri')!,
      }
      for (const other of others) expect((await exchange(other, code)).body.error).toBe('invalid_grant')
      const { refresh_token } = await begun.finish(page)
      const refresh = { grant_type: 'refresh_token', refresh_token: refresh_token! }
      for (const other of others) expect((await exchange(other, refresh)).body.error).toBe('invalid_grant')
      expect((await exchange(name, refresh)).status).toBe(200)
    }
  })

  it('of a device belong to the command line, and only that gets device codes', async () => {
    const device = await client.initiateDeviceAuthorization(cli.config, { scope: 'openid ROLE_SEE_VIEW' })
    const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
    for (const by of ['console', 'registered'] as const) {
      const { status, body } = await exchange(by, { grant_type, device_code: device.device_code })
      expect([by, status, body.error]).toEqual([by, 400, 'invalid_request'])
    }
    expect((await exchange('cli', { grant_type, device_code: device.device_code })).body.error).toBe(
      'authorization_pending',
    )
    const { ssoClientId, clientSecret } = registered.body
    for (const [id, secret] of [
      [ssoClientId, clientSecret!],
      ['console', consoleSettings.CONSOLE_SECRET],
    ] as const) {
      const answer = await post('/oidc/device-authorization', { scope: 'openid' }).auth(id, secret).expect(400)
      expect(answer.body.error).toBe('invalid_request')
    }
    for (const value of [grant_type, 'password'])
      await admin
        .post('/sso-client-configs')
        .send(applicationBody({ grantTypes: [{ value }] as never }))
        .expect(400)
  })

  it('of the console with a scope, a foreign grant or no grant are not first-party', async () => {
    const user = await service.user({ client: registered.organisation, roles: ['ROLE_SEE_VIEW'] })
    const { tokens } = await web.signIn(user.username, { scope: 'openid' })
    const claims = decodeJwt(tokens.access_token)
    const foreign = await web.signIn((await registered.user()).username, { scope: 'openid' })
    const own = await registered.signIn(user.username, { scope: 'openid ROLE_SEE_VIEW' })
    const { kid, key } = await createSigningKeys(service.db, service.config.SECRET_KEYS).current()
    const signed = (changes: object) =>
      new SignJWT({ ...claims, jti: randomUUID(), ...changes })
        .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid })
        .sign(key)
    expect(await inPerson(await signed({}))).toBe(200)
    expect(await inPerson(await signed({ scope: 'ROLE_SEE_VIEW' }))).toBe(403)
    const grants = [
      undefined,
      '',
      'x',
      decodeJwt(foreign.tokens.access_token)['grant'],
      decodeJwt(own.tokens.access_token)['grant'],
    ]
    for (const grant of grants) expect([grant, await inPerson(await signed({ grant }))]).toEqual([grant, 401])
    expect(await inPerson(await signed({ client_id: registered.body.ssoClientId }))).toBe(403)
    expect(await inPerson(await signed({ client_id: 'cli' }))).toBe(403)
    expect(await inPerson(await signed({ sid: randomUUID() }))).toBe(401)
  })

  it('of one organisation or application are not introspected by another', async () => {
    const stranger = await service.user({ client: await service.client(), roles: ['ROLE_SEE_VIEW'] })
    const first = await web.signIn(stranger.username, { scope: 'openid' })
    const opaque = await cli.signIn(stranger.username, { scope: 'openid profile' })
    const { ssoClientId, clientSecret } = registered.body
    const secrets = [[ssoClientId, clientSecret!] as const, ['console', consoleSettings.CONSOLE_SECRET] as const]
    for (const token of [first.tokens.access_token, opaque.tokens.access_token, opaque.tokens.refresh_token!])
      for (const [id, secret] of secrets) {
        const { body } = await post('/oidc/token/introspection', { token }).auth(id, secret).expect(200)
        expect(body).toEqual({ active: false })
      }
  })
})
