import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import type { Role, SsoProviderConfigBody } from '@sluice/contracts'
import { userBody, type Service } from './app-under-test.ts'
import { startServiceBesideProviders } from './federated/federated-sign-in-setup.ts'

let service: Service
beforeAll(async () => {
  service = await startServiceBesideProviders()
})
afterAll(() => service.stop())

type Person = Awaited<ReturnType<Service['as']>>
/** Creates the provider config. */
let author: Person
/** Grants roles to users of the provider. */
let granter: Person
let config: string
const body: SsoProviderConfigBody = { provider: 'GENERIC', clientDomain: 'http://127.0.0.1:9', mappingClaim: 'sub' }
/** A role that `author` lacks and `granter` holds. */
const auths: Role[] = ['ROLE_MANAGE_SCHEMA']
beforeEach(async () => {
  author = await service.as(['ROLE_MANAGE_SSO_PROVIDER_CONFIG', 'ROLE_SEE_VIEW'])
  granter = await service.as(['ROLE_SUPER_ADMIN'], author.client)
  config = (await author.post('/sso-provider-configs').send(body).expect(201)).body.id
})

const ssoUserBody = (changes: object = {}) => userBody({ ssoAuth: true, auths, ...changes })
const createUser = (changes: { ssoAuth?: boolean; roles?: Role[] }) =>
  service.user({ client: author.client, ...changes })

/** Every operation that gives a role to a user of the provider, and the property that its error names. */
const grants: Record<string, { pointer: string; grant: () => Promise<{ status: number; body: any }> }> = {
  create: { pointer: '/auths', grant: async () => granter.post('/users').send(ssoUserBody()) },
  invite: { pointer: '/auths', grant: async () => granter.post('/users/invite').send(ssoUserBody()) },
  update: {
    pointer: '/auths',
    async grant() {
      const { uid, username } = await createUser({ ssoAuth: true, roles: ['ROLE_SEE_VIEW'] })
      return granter.put(`/users/${uid}`).send(ssoUserBody({ username }))
    },
  },
  copy: {
    pointer: '/auths',
    async grant() {
      const { uid } = await createUser({ roles: auths })
      return granter.post(`/users/${uid}/copies`).send(ssoUserBody())
    },
  },
  'single sign-on': {
    pointer: '/ssoAuth',
    async grant() {
      const { uid, username } = await createUser({ roles: auths })
      return granter.put(`/users/${uid}`).send(ssoUserBody({ username }))
    },
  },
}

describe.each(Object.entries(grants))('granting a role by %s to users of a provider', (_name, { pointer, grant }) => {
  it('is refused if the author of the provider config lacks the role, until a holder of the role saves the config', async () => {
    const refused = await grant()
    expect([refused.status, refused.body.errors?.[0].pointer]).toEqual([422, pointer])
    expect(refused.body.detail).toContain('ROLE_MANAGE_SCHEMA')
    await granter.put(`/sso-provider-configs/${config}`).send(body).expect(200)
    expect([200, 201]).toContain((await grant()).status)
  })
})

it('grants roles that the author of the provider config holds, and any role to users without single sign-on', async () => {
  await granter
    .post('/users')
    .send(ssoUserBody({ auths: ['ROLE_SEE_VIEW'] }))
    .expect(201)
  await granter.post('/users/invite').send(userBody({ auths })).expect(201)
  const { uid, username } = await createUser({ ssoAuth: true, roles: auths })
  // An update may keep a role that it could not grant.
  await granter
    .put(`/users/${uid}`)
    .send(ssoUserBody({ username, name: 'Renamed' }))
    .expect(200)
})

it.each([
  ['loses the role', () => sql`update users set roles = '{}' where uid = ${author.uid}`.execute(service.db)],
  ['is deactivated', () => sql`update users set status = 'INACTIVE' where uid = ${author.uid}`.execute(service.db)],
  ['is deleted', () => granter.delete(`/users/${author.uid}`).expect(204)],
])('refuses every role when the author of the provider config %s', async (_what, changed) => {
  await changed()
  await granter
    .post('/users')
    .send(ssoUserBody({ auths: ['ROLE_SEE_VIEW'] }))
    .expect(422)
})

it('lets only one of a concurrent provider config and role grant succeed', async () => {
  for (let round = 0; round < 5; round++) {
    const providerManager = await service.as(['ROLE_MANAGE_SSO_PROVIDER_CONFIG'])
    const superAdmin = await service.as(['ROLE_SUPER_ADMIN'], providerManager.client)
    const answers = await Promise.all([
      providerManager.post('/sso-provider-configs').send(body),
      superAdmin.post('/users').send(ssoUserBody()),
    ])
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
  }
})
