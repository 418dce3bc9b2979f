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
let chooser: Person
let strong: Person
let config: string
const body: SsoProviderConfigBody = { provider: 'GENERIC', clientDomain: 'http://127.0.0.1:9', mappingClaim: 'sub' }
/** What the chooser of the provider lacks, and whoever grants it holds. */
const auths: Role[] = ['ROLE_MANAGE_SCHEMA']
beforeEach(async () => {
  chooser = await service.as(['ROLE_MANAGE_SSO_PROVIDER_CONFIG', 'ROLE_SEE_VIEW'])
  strong = await service.as(['ROLE_SUPER_ADMIN'], chooser.client)
  config = (await chooser.post('/sso-provider-configs').send(body).expect(201)).body.id
})

const single = (changes: object = {}) => userBody({ ssoAuth: true, auths, ...changes })
const someone = (about: { ssoAuth?: boolean; roles?: Role[] }) => service.user({ client: chooser.client, ...about })

/** Every way in which somebody who signs in at the provider comes to a power, and the field that is at fault. */
const ways: Record<string, { pointer: string; by: () => Promise<{ status: number; body: any }> }> = {
  create: { pointer: '/auths', by: async () => strong.post('/users').send(single()) },
  invite: { pointer: '/auths', by: async () => strong.post('/users/invite').send(single()) },
  update: {
    pointer: '/auths',
    async by() {
      const { uid, username } = await someone({ ssoAuth: true, roles: ['ROLE_SEE_VIEW'] })
      return strong.put(`/users/${uid}`).send(single({ username }))
    },
  },
  copy: {
    pointer: '/auths',
    async by() {
      const { uid } = await someone({ roles: auths })
      return strong.post(`/users/${uid}/copies`).send(single())
    },
  },
  'single sign-on': {
    pointer: '/ssoAuth',
    async by() {
      const { uid, username } = await someone({ roles: auths })
      return strong.put(`/users/${uid}`).send(single({ username }))
    },
  },
}

describe.each(Object.entries(ways))('granting a role by %s to users of a provider', (_way, { pointer, by }) => {
  it('is refused if the author of the provider config lacks the role, until a holder of the role saves the config', async () => {
    const refused = await by()
    expect([refused.status, refused.body.errors?.[0].pointer]).toEqual([422, pointer])
    expect(refused.body.detail).toContain('ROLE_MANAGE_SCHEMA')
    await strong.put(`/sso-provider-configs/${config}`).send(body).expect(200)
    expect([200, 201]).toContain((await by()).status)
  })
})

it('grants roles that the author of the provider config holds, and any role to users without single sign-on', async () => {
  await strong
    .post('/users')
    .send(single({ auths: ['ROLE_SEE_VIEW'] }))
    .expect(201)
  await strong.post('/users/invite').send(userBody({ auths })).expect(201)
  const { uid, username } = await someone({ ssoAuth: true, roles: auths })
  // Kept, not given.
  await strong
    .put(`/users/${uid}`)
    .send(single({ username, name: 'Renamed' }))
    .expect(200)
})

it.each([
  ['loses the role', () => sql`update users set roles = '{}' where uid = ${chooser.uid}`.execute(service.db)],
  ['is shut out', () => sql`update users set status = 'INACTIVE' where uid = ${chooser.uid}`.execute(service.db)],
  ['is deleted', () => strong.delete(`/users/${chooser.uid}`).expect(204)],
])('refuses every role when the author of the provider config %s', async (_what, changed) => {
  await changed()
  await strong
    .post('/users')
    .send(single({ auths: ['ROLE_SEE_VIEW'] }))
    .expect(422)
})

it('lets only one of a concurrent provider config and role grant succeed', async () => {
  for (let each = 0; each < 5; each++) {
    const weak = await service.as(['ROLE_MANAGE_SSO_PROVIDER_CONFIG'])
    const super_ = await service.as(['ROLE_SUPER_ADMIN'], weak.client)
    const made = await Promise.all([
      weak.post('/sso-provider-configs').send(body),
      super_.post('/users').send(single()),
    ])
    expect(made.filter(({ status }) => status === 201)).toHaveLength(1)
  }
})
