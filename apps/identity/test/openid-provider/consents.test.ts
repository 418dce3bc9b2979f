import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { auditOf, startService, type Service } from '../app-under-test.ts'
import { applicationBody } from '../application-body.ts'

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

const own = '/users/me/applications'

/** Creates two applications and two users. Both users have consents, sessions and tokens at both applications. */
async function createConsents() {
  const admin = await service.as(['ROLE_MANAGE_SSO_CLIENT_CONFIG', 'ROLE_SEE_VIEW', 'ROLE_MANAGE_USER_GROUP'])
  const createApplication = async (clientName: string) =>
    (await admin.post('/sso-client-configs').send(applicationBody({ clientName })).expect(201)).body.id as string
  const applications = [await createApplication('Charts'), await createApplication('Wiki')] as const
  const [me, colleague] = [await service.as([], admin.client), await service.as([], admin.client)] as const
  await sql`
    insert into application_consents (user_id, sso_client_config_id, scopes)
    select u.id, a.id, '{openid}' from users u, sso_client_configs a
    where u.uid in (${me.uid}, ${colleague.uid}) and a.uid in (${applications[0]}, ${applications[1]})`.execute(
    service.db,
  )
  await sql`
    insert into oidc_models (model, id_hash, payload, session_id, sso_client_config_id, expires_at)
    select model, sha256(convert_to(model || s.id || '-' || a.id, 'UTF8')), '{}', s.id, a.id, now() + interval '1 hour'
    from sessions s join users u on u.id = s.user_id, sso_client_configs a,
      (values ('Grant'), ('AccessToken'), ('AuthorizationCode'), ('RefreshToken')) m (model)
    where u.uid in (${me.uid}, ${colleague.uid}) and a.uid in (${applications[0]}, ${applications[1]})`.execute(
    service.db,
  )
  return { me, colleague, applications }
}

/** The number of stored codes, tokens and grants of a user, per application. */
const countModels = async ({ uid }: { uid: string }) =>
  (
    await sql<{ application: string; models: number }>`
      select a.client_name as application, count(*)::integer as models
      from oidc_models m join sessions s on s.id = m.session_id join users u on u.id = s.user_id
        join sso_client_configs a on a.id = m.sso_client_config_id
      where u.uid = ${uid} group by 1 order by 1`.execute(service.db)
  ).rows

it('the withdrawal of a consent ends all tokens of that user and application only', async () => {
  const { me, colleague, applications } = await createConsents()
  const { body: list } = await me.get(own).expect(200)
  const shown = { scopes: ['openid'], allowed: expect.any(String), lastUsed: expect.any(String) }
  expect(list).toMatchObject([
    { ...shown, clientName: 'Charts' },
    { ...shown, clientName: 'Wiki' },
  ])

  await me.delete(`${own}/${applications[0]}`).expect(204)
  await me.delete(`${own}/${applications[0]}`).expect(404)
  expect((await me.get(own).expect(200)).body).toMatchObject([{ clientName: 'Wiki' }])
  expect(await countModels(me)).toEqual([{ application: 'Wiki', models: 4 }])
  expect((await colleague.get(own).expect(200)).body).toHaveLength(2)
  expect(await countModels(colleague)).toEqual([
    { application: 'Charts', models: 4 },
    { application: 'Wiki', models: 4 },
  ])
  expect(await auditOf(service.db, applications[0])).toContainEqual(
    expect.objectContaining({
      operation: 'allowedApplications.delete',
      actor: me.uid,
      details: { before: { scopes: ['openid'] } },
    }),
  )
})

it('an application without sessions has no time of last use', async () => {
  const { me } = await createConsents()
  await sql`delete from oidc_models`.execute(service.db)
  const { body } = await me.get(own).expect(200)
  expect(body[0]).not.toHaveProperty('lastUsed')
})
