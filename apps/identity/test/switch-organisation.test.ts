import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import { sql } from 'kysely'
import { auditOf, clientBody, startService, userBody, type Service } from './app-under-test.ts'

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

type Person = Awaited<ReturnType<Service['as']>>
const enter = (by: Pick<Person, 'put'>, clientId: string) => by.put('/session/client').send({ clientId })
const sessionOf = ({ tokens }: Person) => decodeJwt(tokens.accessToken)['sid'] as string

describe('a super admin who switches the organisation', () => {
  it('acts for that organisation from the next request on, with existing and new tokens', async () => {
    const admin = await service.as(['ROLE_SUPER_ADMIN'])
    const other = await service.client({ pipelinesEnabled: false, routesEnabled: false })
    const { body } = await enter(admin, other).expect(200)
    expect(body.user).toMatchObject({ id: admin.uid, client: admin.client, hasManagerAccess: true })
    expect(body).toMatchObject({
      activeClient: { id: other },
      client: { id: other, integrationRoutesEnabled: false },
      // Access to services follows the active client. The client of the user stays the same.
      activeUser: { client: { id: admin.client }, hasManagerAccess: true, hasRouteAccess: false },
      user: { pipelinesEnabled: false, hasIntegrationRouteAccess: false, auths: ['ROLE_SUPER_ADMIN'] },
      forwardTo: 'SERVICE_MANAGER',
    })
    expect(body.user).not.toHaveProperty('preUpdateAuths')
    expect((await admin.get('/session').expect(200)).body).toEqual(body)
    const created = await admin.post('/users').send(userBody()).expect(201)
    expect(created.body.client.id).toBe(other)

    const { refreshToken } = admin.tokens
    const refreshed = await service.http.post('/api/v1/auth/refresh').send({ refreshToken }).expect(200)
    expect(decodeJwt(refreshed.body.accessToken)['tenant']).toBe(other)
    const standing = { kind: 'session', id: admin.uid, session: sessionOf(admin) }
    expect((await service.service().post('/lookups/standing').send(standing)).body.client.id).toBe(other)

    expect((await enter(admin, admin.client.toUpperCase()).expect(200)).body.activeClient.id).toBe(admin.client)
    const switches = (await auditOf(service.db, sessionOf(admin))).filter(
      ({ operation }) => operation !== 'auth.refresh',
    )
    expect(switches).toMatchObject([
      {
        actor: admin.uid,
        client: admin.client,
        details: { before: { client: admin.client }, after: { client: other } },
      },
      { actor: admin.uid, client: other, details: { before: { client: other }, after: { client: admin.client } } },
    ])
  })

  it('stays in their own organisation in an application of the session', async () => {
    const admin = await service.as(['ROLE_SUPER_ADMIN'])
    await enter(admin, await service.client()).expect(200)
    const application = `a${randomUUID()}`
    await sql`
      with a as (
        insert into sso_client_configs (client, sso_client_id, sso_client_id_skeleton, client_name, redirect_uris, scopes, grant_types)
        values (${admin.client}, ${application}, ${application}, 'Reports', '{https://reports.example.org/}',
          '{ROLE_SEE_SCHEMA}', '{authorization_code}')
        returning id)
      insert into application_consents (user_id, sso_client_config_id, scopes)
      select u.id, a.id, '{ROLE_SEE_SCHEMA}' from users u, a where u.uid = ${admin.uid}`.execute(service.db)
    const grant = randomBytes(32)
    await sql`
      insert into oidc_models (model, id_hash, payload, session_id, sso_client_config_id, expires_at)
      select 'Grant', ${grant}, '{}', s.id, a.id, now() + interval '1 hour' from sessions s, sso_client_configs a
      where s.uid = ${sessionOf(admin)} and a.sso_client_id = ${application}`.execute(service.db)
    const session = { kind: 'session', id: admin.uid, session: sessionOf(admin), application }
    const standing = { ...session, grant: grant.toString('base64url') }
    const { body } = await service.service().post('/lookups/standing').send(standing).expect(200)
    expect(body).toMatchObject({ open: true, roles: ['ROLE_SEE_SCHEMA'], client: { id: admin.client } })
  })

  it('stays in their own organisation in every other session', async () => {
    const admin = await service.as(['ROLE_SUPER_ADMIN'])
    await enter(admin, await service.client()).expect(200)
    const second = service.withToken((await service.signIn(admin.username)).accessToken)
    expect((await second.get('/session')).body.activeClient.id).toBe(admin.client)
  })

  it('gets 422 for a disabled or unknown organisation', async () => {
    const admin = await service.as(['ROLE_SUPER_ADMIN'])
    for (const client of [await service.client({ disabled: true }), randomUUID()]) {
      const { body } = await enter(admin, client).expect(422)
      expect(body.errors).toMatchObject([{ pointer: '/clientId' }])
    }
    await admin.get('/session').expect(200)
  })

  it('is signed out when that organisation is disabled, and cannot return after losing the role', async () => {
    const [guest, demoted, admin] = await Promise.all([1, 2, 3].map(() => service.as(['ROLE_SUPER_ADMIN'])))
    const body = clientBody()
    const { body: client } = await admin!.post('/clients').send(body).expect(201)
    await enter(guest!, client.id).expect(200)
    await enter(demoted!, client.id).expect(200)
    await admin!
      .put(`/clients/${client.id}`)
      .send({ ...client, disabled: true })
      .expect(200)
    await guest!.get('/session').expect(401)
    const again = await service.signIn(demoted!.username)
    const back = service.withToken(again.accessToken)
    await admin!
      .put(`/users/${demoted!.uid}`)
      .send(userBody({ username: demoted!.username, password: undefined }))
      .expect(200)
    await enter(back, admin!.client).expect(401)
  })

  it('is never left in an organisation that is disabled concurrently', async () => {
    const admin = await service.as(['ROLE_SUPER_ADMIN'])
    for (let round = 0; round < 5; round += 1) {
      const guest = await service.as(['ROLE_SUPER_ADMIN'])
      const { body: client } = await admin.post('/clients').send(clientBody()).expect(201)
      await Promise.all([
        enter(guest, client.id),
        admin
          .put(`/clients/${client.id}`)
          .send({ ...client, disabled: true })
          .expect(200),
      ])
      const { status, body } = await guest.get('/session')
      expect([401, 200]).toContain(status)
      if (status === 200) expect(body.activeClient.id).toBe(guest.client)
    }
  })
})
