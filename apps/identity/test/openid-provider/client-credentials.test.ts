import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { startService, type Service } from '../app-under-test.ts'
import { applicationBody } from '../application-body.ts'

let service: Service
let admin: Awaited<ReturnType<Service['as']>>
beforeAll(async () => {
  service = await startService()
  admin = await service.as(['ROLE_SUPER_ADMIN'])
})
afterAll(() => service.stop())

const requestToken = (id: string, secret: string, more: Record<string, string> = {}) =>
  service.http
    .post('/oidc/token')
    .type('form')
    .auth(id, secret)
    .send({ grant_type: 'client_credentials', ...more })

describe('an application with the client credentials grant', () => {
  it('gets a token with its secret, and has the roles of its scopes', async () => {
    const body = applicationBody()
    const { body: config } = await admin.post('/sso-client-configs').send(body).expect(201)
    const { body: tokens } = await requestToken(body.ssoClientId, body.clientSecret!).expect(200)
    expect(decodeProtectedHeader(tokens.access_token)).toMatchObject({ typ: 'at+jwt', alg: 'ES256' })
    expect(decodeJwt(tokens.access_token)).toMatchObject({
      iss: 'http://localhost:3001',
      aud: 'sluice',
      sub: body.ssoClientId,
      client_id: body.ssoClientId,
      tenant: admin.client,
    })
    expect(tokens.scope.split(' ').toSorted()).toEqual(['ROLE_MANAGE_USER_GROUP', 'ROLE_SEE_VIEW'])
    const application = service.withToken(tokens.access_token)
    const group = { name: 'Made by a program', code: 'made' }
    const { body: created } = await application.post('/user-groups').send(group).expect(201)
    expect(created.client.id).toBe(admin.client)
    await application.get('/users').expect(403)
    await application.get('/users/me').expect(403)
    const lookup = await service
      .service()
      .post('/lookups/users')
      .send({ ids: [config.id] })
      .expect(200)
    expect(lookup.body).toEqual([
      { id: config.id, client: admin.client, username: body.ssoClientId, name: 'Reports', status: 'ACTIVE' },
    ])
  })

  it('gets an error for a scope that it is not registered for', async () => {
    const body = applicationBody({ scopes: ['openid', 'ROLE_SEE_VIEW'] })
    await admin.post('/sso-client-configs').send(body).expect(201)
    for (const scope of [
      'ROLE_MANAGE_USER',
      'ROLE_SEE_VIEW ROLE_MANAGE_USER',
      'ROLE_SUPER_ADMIN',
      'openid',
      'nonsense',
    ]) {
      const answer = await requestToken(body.ssoClientId, body.clientSecret!, { scope })
      expect([scope, answer.status, answer.body.error]).toEqual([scope, 400, 'invalid_scope'])
    }
    const { body: tokens } = await requestToken(body.ssoClientId, body.clientSecret!, {
      scope: 'ROLE_SEE_VIEW',
    }).expect(200)
    expect(tokens.scope).toBe('ROLE_SEE_VIEW')
  })
})
