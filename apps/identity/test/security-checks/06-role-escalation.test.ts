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

/** What it takes to try every way. */
const manager: Role[] = ['ROLE_MANAGE_USER', 'ROLE_MANAGE_USER_GROUP', 'ROLE_MANAGE_SSO_CLIENT_CONFIG']
const holders = allRoles.map((role): [Role, Role[]] => [role, [...new Set<Role>([role, ...manager])]])

const someone = (caller: Person, granted: readonly Role[]) =>
  service.user({ client: caller.client, roles: granted, ssoAuth: true })
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()
const single = (changes: object) => userBody({ ssoAuth: true, ...changes })

/** Every way in which roles could come to somebody. */
const ways: Record<string, (caller: Person, granted: Role[]) => Promise<{ status: number; body: any }>> = {
  create: async (caller, auths) => caller.post('/users').send(single({ auths })),
  invite: async (caller, auths) => caller.post('/users/invite').send(userBody({ auths })),
  update: async (caller, auths) => {
    const { uid, username } = await someone(caller, [])
    return caller.put(`/users/${uid}`).send(single({ username, auths }))
  },
  copy: async (caller, auths) => {
    const { uid } = await someone(caller, auths)
    return caller.post(`/users/${uid}/copies`).send(single({}))
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
/** What is there already is answered with 200. */
const replaces = ['update', 'the own account']
/** There is no scope for it at all. */
const unnamed: Record<string, Role[]> = { 'the scopes of an application': ['ROLE_SUPER_ADMIN'] }

/** The roles that an answer names. */
const named = (text: string | undefined) => [...new Set(text?.match(/ROLE_\w+/g))].toSorted()

describe.each(holders)('who holds %s and may manage', (_role, held) => {
  const granted = allRoles.filter((role) => hasRole(held, role))
  const lacked = allRoles.filter((role) => !hasRole(held, role))

  it('gives what they hold, and of what they lack is refused each, by every way', async () => {
    const caller = await service.as(held)
    for (const [way, give] of Object.entries(ways)) {
      const wrong = lacked.filter((role) => !unnamed[way]?.includes(role))
      if (wrong.length > 0) {
        const all = await give(caller, [...allRoles])
        expect([way, all.status, named(all.body.detail)]).toEqual([way, 403, wrong.toSorted()])
      }
      const own = await give(caller, way === 'the own account' ? held : granted)
      expect([way, own.status, own.body.detail]).toEqual([way, replaces.includes(way) ? 200 : 201, undefined])
    }
  })

  it('gains nothing by fields that only answers have, and no power over somebody who holds more', async () => {
    const caller = await service.as(held)
    const { uid, username } = await someone(caller, [])
    const sent = single({ username, existingAuths: lacked, preUpdateAuths: undefined })
    await caller.put(`/users/${uid}`).send(sent).expect(200)
    expect((await caller.get(`/users/${uid}`)).body.auths).toEqual([])
    if (lacked.length === 0) return
    const stronger = await service.user({ client: caller.client, roles: [lacked.at(-1)!] })
    const group = await insertUserGroup(service.db, caller.client)
    const tries = [
      caller.put(`/users/${stronger.uid}`).send(userBody({ username: stronger.username })),
      caller.put(`/users/${stronger.uid}/status`).send({ status: 'INACTIVE' }),
      caller.delete(`/users/${stronger.uid}`),
      caller.post(`/users/${stronger.uid}/copies`).send(single({})),
      caller.post(`/users/${stronger.uid}/password-reset`).send({}),
      caller.delete(`/users/${stronger.uid}/second-factor`),
      caller.delete(`/users/${stronger.uid}/sessions`),
      caller.put(`/user-groups/${group}/users/${stronger.uid}`).send({}),
    ]
    for (const [at, answer] of (await Promise.all(tries)).entries()) expect([at, answer.status]).toEqual([at, 403])
  })
})

describe('ROLE_SUPER_ADMIN', () => {
  it('comes from nobody but a super admin, however many other roles they hold', async () => {
    const caller = await service.as(allRoles.filter((role) => role !== 'ROLE_SUPER_ADMIN'))
    for (const [way, give] of Object.entries(ways)) {
      if (unnamed[way]) continue
      const { status, body } = await give(caller, ['ROLE_SUPER_ADMIN'])
      expect([way, status, named(body.detail)]).toEqual([way, 403, ['ROLE_SUPER_ADMIN']])
    }
    const scopes = ['openid', 'ROLE_SUPER_ADMIN'] as never
    await caller.post('/sso-client-configs').send(applicationBody({ scopes })).expect(400)
  })

  it('does not come with acting for another client', async () => {
    const caller = await service.as(['ROLE_MANAGE_CLIENT', 'ROLE_MANAGE_USER'])
    await caller
      .put('/session/client')
      .send({ clientId: await service.client() })
      .expect(403)
    const made = await caller.post('/users').send(single({ client: { id: await service.client() } }))
    expect(made.status).toBe(422)
  })
})
