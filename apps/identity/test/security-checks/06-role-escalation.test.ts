import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { hasRole, allRoles, type Role } from '@sluice/contracts'
import { applicationBody } from '../application-body.ts'
import { goodPassword, startService, userBody, type Service } from '../app-under-test.ts'
import { insertUserGroup } from '../user-group-fixtures.ts'

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

type Person = Awaited<ReturnType<Service['as']>>

/** The roles that are required to call every operation in `grants`. */
const manager: Role[] = ['ROLE_MANAGE_USER', 'ROLE_MANAGE_USER_GROUP', 'ROLE_MANAGE_SSO_CLIENT_CONFIG']
const holders = allRoles.map((role): [Role, Role[]] => [role, [...new Set<Role>([role, ...manager])]])

const createUser = (caller: Person, granted: readonly Role[]) =>
  service.user({ client: caller.client, roles: granted, ssoAuth: true })
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()
const ssoUserBody = (changes: object) => userBody({ ssoAuth: true, ...changes })

/** Every operation that grants roles. */
const grants: Record<string, (caller: Person, granted: Role[]) => Promise<{ status: number; body: any }>> = {
  create: async (caller, auths) => caller.post('/users').send(ssoUserBody({ auths })),
  invite: async (caller, auths) => caller.post('/users/invite').send(userBody({ auths })),
  update: async (caller, auths) => {
    const { uid, username } = await createUser(caller, [])
    return caller.put(`/users/${uid}`).send(ssoUserBody({ username, auths }))
  },
  copy: async (caller, auths) => {
    const { uid } = await createUser(caller, auths)
    return caller.post(`/users/${uid}/copies`).send(ssoUserBody({}))
  },
  'the own account': async (caller, auths) => {
    const { username, uid } = caller
    return caller.put(`/users/${uid}`).send(userBody({ username, email: 'test@example.org', auths }))
  },
  'an API token': async (caller, granted) =>
    caller
      .post('/users/me/api-tokens')
      .send({ name: 'Mine', roles: granted, expires: inDays(1), password: goodPassword }),
  'the scopes of an application': async (caller, granted) => {
    const scopes = ['openid' as const, ...granted.filter((role) => role !== 'ROLE_SUPER_ADMIN')]
    const grantTypes = [{ value: 'authorization_code' as const }, { value: 'client_credentials' as const }]
    return caller.post('/sso-client-configs').send(applicationBody({ scopes, grantTypes }))
  },
}
/** Operations that return 200, because they update an object. The others create one and return 201. */
const updates = ['update', 'the own account']
/** Roles that an operation has no value for. */
const notGrantable: Record<string, Role[]> = { 'the scopes of an application': ['ROLE_SUPER_ADMIN'] }

const rolesIn = (text: string | undefined) => [...new Set(text?.match(/ROLE_\w+/g))].toSorted()

describe.each(holders)('an administrator who also holds %s', (_role, held) => {
  const granted = allRoles.filter((role) => hasRole(held, role))
  const lacked = allRoles.filter((role) => !hasRole(held, role))

  it('can grant roles that they hold, and gets a 403 that names every role that they lack', async () => {
    const caller = await service.as(held)
    for (const [operation, grant] of Object.entries(grants)) {
      const refused = lacked.filter((role) => !notGrantable[operation]?.includes(role))
      if (refused.length > 0) {
        const all = await grant(caller, [...allRoles])
        expect([operation, all.status, rolesIn(all.body.detail)]).toEqual([operation, 403, refused.toSorted()])
      }
      const own = await grant(caller, operation === 'the own account' ? held : granted)
      const success = updates.includes(operation) ? 200 : 201
      expect([operation, own.status, own.body.detail]).toEqual([operation, success, undefined])
    }
  })

  it('grants nothing with read-only properties, and cannot manage a user who holds a role that they lack', async () => {
    const caller = await service.as(held)
    const { uid, username } = await createUser(caller, [])
    const sent = ssoUserBody({ username, existingAuths: lacked, preUpdateAuths: undefined })
    await caller.put(`/users/${uid}`).send(sent).expect(200)
    expect((await caller.get(`/users/${uid}`)).body.auths).toEqual([])
    if (lacked.length === 0) return
    const stronger = await service.user({ client: caller.client, roles: [lacked.at(-1)!] })
    const group = await insertUserGroup(service.db, caller.client)
    const requests = [
      caller.put(`/users/${stronger.uid}`).send(userBody({ username: stronger.username })),
      caller.put(`/users/${stronger.uid}/status`).send({ status: 'INACTIVE' }),
      caller.delete(`/users/${stronger.uid}`),
      caller.post(`/users/${stronger.uid}/copies`).send(ssoUserBody({})),
      caller.post(`/users/${stronger.uid}/password-reset`).send({}),
      caller.delete(`/users/${stronger.uid}/second-factor`),
      caller.delete(`/users/${stronger.uid}/sessions`),
      caller.put(`/user-groups/${group}/users/${stronger.uid}`).send({}),
    ]
    for (const [index, { status }] of (await Promise.all(requests)).entries())
      expect([index, status]).toEqual([index, 403])
  })
})

describe('ROLE_SUPER_ADMIN', () => {
  it('cannot be granted by a user who holds every other role', async () => {
    const caller = await service.as(allRoles.filter((role) => role !== 'ROLE_SUPER_ADMIN'))
    for (const [operation, grant] of Object.entries(grants)) {
      if (notGrantable[operation]) continue
      const { status, body } = await grant(caller, ['ROLE_SUPER_ADMIN'])
      expect([operation, status, rolesIn(body.detail)]).toEqual([operation, 403, ['ROLE_SUPER_ADMIN']])
    }
    const scopes = ['openid', 'ROLE_SUPER_ADMIN'] as never
    await caller.post('/sso-client-configs').send(applicationBody({ scopes })).expect(400)
  })

  it('is required to switch to another organisation and to create a user there', async () => {
    const caller = await service.as(['ROLE_MANAGE_CLIENT', 'ROLE_MANAGE_USER'])
    await caller
      .put('/session/client')
      .send({ clientId: await service.client() })
      .expect(403)
    const created = await caller.post('/users').send(ssoUserBody({ client: { id: await service.client() } }))
    expect(created.status).toBe(422)
  })
})
