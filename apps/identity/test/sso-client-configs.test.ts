import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { allRoles } from '@sluice/contracts'
import { auditOf, startService, type Service } from './app-under-test.ts'
import { applicationBody } from './application-body.ts'

let service: Service
let admin: Awaited<ReturnType<Service['as']>>
beforeAll(async () => {
  service = await startService()
  admin = await service.as(['ROLE_SUPER_ADMIN'])
})
afterAll(() => service.stop())

const pathOf = ({ id, client }: { id: string; client: { id: string } }) =>
  `/clients/${client.id}/sso-client-configs/${id}`
const token = (id: string, secret: string) =>
  service.http.post('/oidc/token').type('form').auth(id, secret).send({ grant_type: 'client_credentials' })

describe('an application config', () => {
  it('is created, read, listed, updated and deleted, and its secret is never returned', async () => {
    const sent = applicationBody()
    const { body: created, headers } = await admin.post('/sso-client-configs').send(sent).expect(201)
    expect(headers['location']).toBe(`/api/v1/sso-client-configs/${created.id}`)
    const { clientSecret, ...rest } = sent
    expect(created).toMatchObject({ ...rest, confidential: true, client: { id: admin.client } })
    const { body: read } = await admin.get(`/sso-client-configs/${created.id}`).expect(200)
    expect(read).toEqual(created)
    const list = await admin.get(`/sso-client-configs?filter=ssoClientId:eq:${sent.ssoClientId}`).expect(200)
    expect([list.body, list.headers['x-total-count']]).toEqual([[created], '1'])
    // The response of GET can be sent with PUT, which keeps the secret.
    const { body: changed } = await admin
      .put(pathOf(created))
      .send({ ...read, clientName: 'Figures' })
      .expect(200)
    expect(changed.clientName).toBe('Figures')
    await token(sent.ssoClientId, clientSecret!).expect(200)
    await admin.delete(`/sso-client-configs/${created.id}`).expect(204)
    await admin.get(`/sso-client-configs/${created.id}`).expect(404)
    const audit = JSON.stringify(await auditOf(service.db, created.id))
    expect(audit).toContain('Figures')
    expect(JSON.stringify([created, read, list.body, changed, audit])).not.toContain(clientSecret)
    expect(service.lines.join('')).not.toContain(clientSecret)
  })

  it('is rejected if its client id equals or resembles another in any organisation, or is malformed', async () => {
    const sent = applicationBody()
    await admin.post('/sso-client-configs').send(sent).expect(201)
    const other = await service.as(['ROLE_SUPER_ADMIN'])
    for (const ssoClientId of [sent.ssoClientId, sent.ssoClientId.toUpperCase()]) {
      const { body } = await other.post('/sso-client-configs').send(applicationBody({ ssoClientId })).expect(409)
      expect(body.errors[0].pointer).toBe('/ssoClientId')
    }
    for (const ssoClientId of ['first-party', 'FIRST-party', ' app', 'app ', 'äpp', 'a', 'a\tb'])
      await other.post('/sso-client-configs').send(applicationBody({ ssoClientId })).expect(400)
    for (const [field, value] of [
      ['ssoClientId', 'a'.repeat(256)],
      ['clientName', 'b'.repeat(256)],
    ] as const) {
      const { body } = await other
        .post('/sso-client-configs')
        .send(applicationBody({ [field]: value }))
        .expect(422)
      expect(body.errors).toEqual([{ pointer: `/${field}`, detail: expect.stringContaining('255') }])
    }
    await other
      .post('/sso-client-configs')
      .send(applicationBody({ clientName: '  ' }))
      .expect(400)
  })

  it('has at most one secret', async () => {
    const sent = applicationBody()
    const { body: created } = await admin.post('/sso-client-configs').send(sent).expect(201)
    await token(sent.ssoClientId, sent.clientSecret!).expect(200)
    const newSecret = 'another-secret-of-more-than-22'
    await admin
      .put(pathOf(created))
      .send({ ...sent, clientSecret: newSecret })
      .expect(200)
    await token(sent.ssoClientId, sent.clientSecret!).expect(401)
    await token(sent.ssoClientId, newSecret).expect(200)
    // The client credentials grant needs a secret.
    const { body: problem } = await admin
      .put(pathOf(created))
      .send({ ...sent, clientSecret: '' })
      .expect(400)
    expect(problem.errors[0].pointer).toBe('/clientSecret')
    const grantTypes = [{ value: 'authorization_code' as const }]
    const scopes = ['openid' as const]
    const kept = await admin
      .put(`/sso-client-configs/${created.id}`)
      .send({ ...sent, grantTypes, scopes, clientSecret: null })
      .expect(200)
    expect(kept.body.confidential).toBe(true)
    const publicBody = { ...sent, grantTypes, scopes, clientSecret: '' }
    const { body: after } = await admin.put(pathOf(created)).send(publicBody).expect(200)
    expect(after.confidential).toBe(false)
    await token(sent.ssoClientId, newSecret).expect(401)
    for (const clientSecret of ['short', 'a'.repeat(21), 'with spaces in it and long enough', 'ü'.repeat(30)])
      await admin
        .put(pathOf(created))
        .send({ ...sent, clientSecret })
        .expect(400)
  })

  it('is limited to settings that follow OAuth best practice', async () => {
    const refused = async (changes: object, pointer: string) => {
      const { body } = await admin
        .post('/sso-client-configs')
        .send({ ...applicationBody(), ...changes })
        .expect(400)
      expect(body.errors.map((error: { pointer: string }) => error.pointer)).toContain(pointer)
    }
    for (const value of ['password', 'implicit', 'urn:ietf:params:oauth:grant-type:device_code'])
      await refused({ grantTypes: [{ value }] }, '/grantTypes/0/value')
    await refused({ grantTypes: [] }, '/grantTypes')
    await refused({ grantTypes: [{ value: 'refresh_token' }, { value: 'client_credentials' }] }, '/grantTypes')
    await refused({ redirectUris: [] }, '/redirectUris')
    await refused({ scopes: ['ROLE_SUPER_ADMIN'] }, '/scopes/0')
    await refused({ scopes: ['everything'] }, '/scopes/0')
    await refused({ scopes: ['ROLE_SEE_VIEW'] }, '/scopes')
    await refused({ scopes: ['openid', 'offline_access'], grantTypes: [{ value: 'authorization_code' }] }, '/scopes')
  })

  it('with only the client credentials grant cannot use any other grant', async () => {
    const sent = applicationBody({
      grantTypes: [{ value: 'client_credentials' }],
      redirectUris: [],
      scopes: ['ROLE_SEE_VIEW'],
    })
    await admin.post('/sso-client-configs').send(sent).expect(201)
    await token(sent.ssoClientId, sent.clientSecret!).expect(200)
    const query = {
      client_id: sent.ssoClientId,
      response_type: 'code',
      redirect_uri: 'https://app.example/',
      scope: 'openid',
    }
    await service.http.get('/oidc/auth').query(query).expect(400)
    for (const grant_type of ['authorization_code', 'refresh_token', 'password', 'implicit']) {
      const answer = await service.http
        .post('/oidc/token')
        .type('form')
        .auth(sent.ssoClientId, sent.clientSecret!)
        .send({
          grant_type,
          code: 'x',
          refresh_token: 'x',
          username: 'x',
          password: 'x',
          redirect_uri: 'x',
          code_verifier: 'x',
        })
      expect(answer.status).toBe(400)
    }
  })
})

describe('the roles of an application', () => {
  const manager = (more: Parameters<Service['as']>[0] = [], client?: string) =>
    service.as(['ROLE_MANAGE_SSO_CLIENT_CONFIG', ...more], client)

  it('can be granted only by users who hold them', async () => {
    const caller = await manager(['ROLE_MANAGE_VIEW'])
    // ROLE_MANAGE_VIEW includes ROLE_SEE_VIEW.
    await caller
      .post('/sso-client-configs')
      .send(applicationBody({ scopes: ['openid', 'ROLE_SEE_VIEW'] }))
      .expect(201)
    for (const role of allRoles.filter(
      (name) =>
        !['ROLE_SUPER_ADMIN', 'ROLE_MANAGE_VIEW', 'ROLE_SEE_VIEW', 'ROLE_MANAGE_SSO_CLIENT_CONFIG'].includes(name),
    ))
      await caller
        .post('/sso-client-configs')
        .send(applicationBody({ scopes: ['openid', role as 'ROLE_MANAGE_USER'] }))
        .expect(403)
  })

  it('are required to change or delete it', async () => {
    const strong = await manager(['ROLE_MANAGE_USER'])
    const weak = await manager([], strong.client)
    const sent = applicationBody({ scopes: ['openid', 'ROLE_MANAGE_USER'] })
    const { body: created } = await strong.post('/sso-client-configs').send(sent).expect(201)
    await weak
      .put(pathOf(created))
      .send({ ...sent, scopes: ['openid'], clientSecret: 'a-secret-that-is-mine-now' })
      .expect(403)
    await weak.delete(`/sso-client-configs/${created.id}`).expect(403)
    await token(sent.ssoClientId, sent.clientSecret!).expect(200)
    await strong.delete(`/sso-client-configs/${created.id}`).expect(204)
  })

  it('cannot cross the boundary of its organisation', async () => {
    const owner = await manager()
    const stranger = await manager()
    const sent = applicationBody({ scopes: ['openid'] })
    const { body: created } = await owner.post('/sso-client-configs').send(sent).expect(201)
    await stranger.get(`/sso-client-configs/${created.id}`).expect(404)
    await stranger.put(pathOf(created)).send(sent).expect(404)
    await stranger.delete(`/sso-client-configs/${created.id}`).expect(404)
    expect((await stranger.get('/sso-client-configs').expect(200)).body).toEqual([])
    await stranger
      .post('/sso-client-configs')
      .send(applicationBody({ scopes: ['openid'], client: { id: owner.client } }))
      .expect(422)
    // The client in the path must be the client of the application, even for super admins.
    await admin.put(`/clients/${admin.client}/sso-client-configs/${created.id}`).send(sent).expect(404)
    await admin.put(`/clients/${randomUUID()}/sso-client-configs/${created.id}`).send(sent).expect(404)
    await admin
      .put(pathOf(created))
      .send({ ...sent, client: { id: admin.client } })
      .expect(422)
    const { body: theirs } = await admin
      .post('/sso-client-configs')
      .send(applicationBody({ client: { id: owner.client } }))
      .expect(201)
    expect(theirs.client.id).toBe(owner.client)
  })
})

it('rejects an update with a stale If-Match', async () => {
  const sent = applicationBody()
  const { body: created, headers } = await admin.post('/sso-client-configs').send(sent).expect(201)
  await admin.put(pathOf(created)).set('if-match', headers['etag']!).send(sent).expect(200)
  await admin.put(pathOf(created)).set('if-match', headers['etag']!).send(sent).expect(412)
  await sql`select 1`.execute(service.db)
})
