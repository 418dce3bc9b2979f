import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import * as client from 'openid-client'
import { startService, type Service } from '../app-under-test.ts'
import { applicationBody } from '../application-body.ts'
import { insertUserGroup } from '../user-group-fixtures.ts'
import { relyingParty } from './relying-party.ts'

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

const grantTypes = [{ value: 'authorization_code' as const }, { value: 'refresh_token' as const }]

describe('the claims of a user', () => {
  it('contain group codes and the organisation only with the scopes groups and organization', async () => {
    const own = await relyingParty(service, { grantTypes, scopes: ['openid', 'profile', 'groups', 'organization'] })
    const user = await own.user()
    const codes = ['FIELD', 'LAB']
    for (const code of codes) {
      const group = await insertUserGroup(service.db, own.organisation, { code })
      await sql`
        insert into user_group_members (user_group_id, user_id)
        select g.id, u.id from user_groups g, users u where g.uid = ${group} and u.uid = ${user.uid}`.execute(
        service.db,
      )
    }
    const { tokens } = await own.signIn(user.username, { scope: 'openid groups organization' })
    const claims = await client.fetchUserInfo(own.config, tokens.access_token, user.uid)
    expect(claims).toMatchObject({ groups: codes, organization: { id: own.organisation, name: expect.any(String) } })
    expect(tokens.claims()).toMatchObject({ groups: codes, organization: { id: own.organisation } })
    const less = await own.signIn(user.username, { scope: 'openid profile' })
    const fewerClaims = await client.fetchUserInfo(own.config, less.tokens.access_token, user.uid)
    expect([fewerClaims['groups'], fewerClaims['organization']]).toEqual([undefined, undefined])
  })
})

describe('introspection (RFC 7662)', () => {
  const introspect = (by: { ssoClientId: string; clientSecret?: string | null }, token: string) =>
    service.http.post('/oidc/token/introspection').type('form').auth(by.ssoClientId, by.clientSecret!).send({ token })

  it('describes opaque tokens, tokens for the services of Sluice and session tokens to an application of the same organisation', async () => {
    const own = await relyingParty(service, { grantTypes, scopes: ['openid', 'profile', 'ROLE_SEE_VIEW'] })
    const api = applicationBody()
    await own.admin.post('/sso-client-configs').send(api).expect(201)
    const user = await own.user()
    const opaque = (await own.signIn(user.username, { scope: 'openid profile' })).tokens.access_token
    const jwt = (await own.signIn(user.username, { scope: 'openid ROLE_SEE_VIEW' })).tokens.access_token
    const sessionToken = (await service.signIn(user.username)).accessToken
    expect((await introspect(api, opaque).expect(200)).body).toMatchObject({ active: true, sub: user.uid })
    const { ssoClientId } = own.body
    const { body } = await introspect(api, jwt).expect(200)
    expect(body).toMatchObject({
      active: true,
      sub: user.uid,
      client_id: ssoClientId,
      username: user.username,
      scope: expect.stringContaining('ROLE_SEE_VIEW'),
      organization: { id: own.organisation },
    })
    expect((await introspect(api, sessionToken).expect(200)).body).toMatchObject({ active: true, sub: user.uid })

    await sql`update users set status = 'INACTIVE' where uid = ${user.uid}`.execute(service.db)
    for (const token of [jwt, sessionToken])
      expect((await introspect(api, token).expect(200)).body).toEqual({ active: false })
  })

  it('describes no token to an application of another organisation, without a secret or with a wrong secret', async () => {
    const own = await relyingParty(service, { grantTypes, scopes: ['openid', 'ROLE_SEE_VIEW'] })
    const other = await relyingParty(service)
    const user = await own.user()
    const jwt = (await own.signIn(user.username, { scope: 'openid ROLE_SEE_VIEW' })).tokens.access_token
    const opaque = (await own.signIn(user.username, { scope: 'openid' })).tokens.access_token
    for (const token of [jwt, opaque, 'nonsense', 'a.b.c', `${jwt}x`])
      expect((await introspect(other.body, token).expect(200)).body).toEqual({ active: false })
    await introspect({ ...own.body, clientSecret: 'wrong-secret-wrong-secret' }, jwt).expect(401)
    const publicApplication = applicationBody({ clientSecret: undefined, grantTypes, scopes: ['openid'] })
    delete publicApplication.clientSecret
    await own.admin.post('/sso-client-configs').send(publicApplication).expect(201)
    const request = service.http.post('/oidc/token/introspection').type('form')
    const answer = await request.send({ token: jwt, client_id: publicApplication.ssoClientId })
    expect([answer.status === 200 ? answer.body.active : answer.status]).not.toEqual([true])
  })
})
