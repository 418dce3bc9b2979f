import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { ClientBody, Role } from '@sluice/contracts'
import { goodPassword, startService, userBody, type Service } from './app-under-test.ts'

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

const off = { managerEnabled: false, routesEnabled: false, pipelinesEnabled: false }

/** Signs in a new user of a new client, and returns the session. */
async function session(roles: Role[], startPage: string, switches: Partial<ClientBody> = {}, analytics = false) {
  const client = await service.client(switches)
  const { username } = await service.user({ client, roles, startPage, analytics })
  const { accessToken } = await service.signIn(username)
  const { body } = await service.withToken(accessToken).get('/session').expect(200)
  return body
}

describe('GET /session', () => {
  it.each([
    ['ROLE_SEE_INSTANCE', { managerEnabled: true }, 'hasManagerAccess', 'SERVICE_MANAGER'],
    ['ROLE_MANAGE_INSTANCE', { managerEnabled: true }, 'hasManagerAccess', 'SERVICE_MANAGER'],
    ['ROLE_SEE_ROUTE', { routesEnabled: true }, 'hasRouteAccess', 'SERVICE_INTEGRATION'],
    ['ROLE_MANAGE_ROUTE', { routesEnabled: true }, 'hasRouteAccess', 'SERVICE_INTEGRATION'],
    ['ROLE_SEE_DATA_PIPELINE', { pipelinesEnabled: true }, 'hasDataPipelineAccess', 'SERVICE_DATA_PIPELINE'],
    ['ROLE_MANAGE_DATA_PIPELINE', { pipelinesEnabled: true }, 'hasDataPipelineAccess', 'SERVICE_DATA_PIPELINE'],
  ] as const)(
    'grants access with %s and the switch %j, and forwards to that service',
    async (role, on, access, target) => {
      const withBoth = await session([role], 'DEFAULT', { ...off, ...on })
      expect(withBoth.activeUser[access]).toBe(true)
      expect(withBoth.forwardTo).toBe(target)
      const withoutSwitch = await session([role], 'DEFAULT', off)
      expect(withoutSwitch.activeUser[access]).toBe(false)
      expect(withoutSwitch).not.toHaveProperty('forwardTo')
      expect((await session([], 'DEFAULT')).activeUser[access]).toBe(false)
    },
  )

  it('forwards to the start page of the user if accessible, else to the first accessible one', async () => {
    const all: Role[] = ['ROLE_SEE_INSTANCE', 'ROLE_SEE_ROUTE', 'ROLE_SEE_DATA_PIPELINE']
    expect((await session(all, 'DATA_PIPELINE')).forwardTo).toBe('SERVICE_DATA_PIPELINE')
    expect((await session(all, 'INTEGRATION')).forwardTo).toBe('SERVICE_INTEGRATION')
    expect((await session(all, 'DEFAULT')).forwardTo).toBe('SERVICE_MANAGER')
    expect((await session(all, 'MANAGER', { managerEnabled: false })).forwardTo).toBe('SERVICE_INTEGRATION')
  })

  it('returns the user and the organisation without any password', async () => {
    const body = await session(['ROLE_MANAGE_USER', 'ROLE_MANAGE_CLIENT'], 'DEFAULT')
    expect(body.user).toMatchObject({
      id: body.activeUser.id,
      client: body.activeClient.id,
      hasUserAccess: true,
      hasClientAccess: true,
    })
    expect(body.client).toMatchObject({
      id: body.activeClient.id,
      code: body.activeClient.code,
      integrationRoutesEnabled: true,
    })
    expect(body.user).not.toHaveProperty('preUpdateAuths')
    expect(JSON.stringify(body)).not.toContain('password')
    expect(
      (await session(['ROLE_VIEW_DATA_ANALYTICS_PLATFORM'], 'DEFAULT', {}, true)).user.hasAnalyticsPlatformAccess,
    ).toBe(true)
    expect((await session(['ROLE_VIEW_DATA_ANALYTICS_PLATFORM'], 'DEFAULT')).user.hasAnalyticsPlatformAccess).toBe(
      false,
    )
  })

  it('sets serviceIntro until the first session of the user has ended', async () => {
    const { username, ...first } = await service.as([])
    const introduced = async (caller: Pick<typeof first, 'get'>) =>
      (await caller.get('/session').expect(200)).body.config.serviceIntro
    expect(await introduced(first)).toBe(true)
    expect(await introduced(service.withToken((await service.signIn(username)).accessToken))).toBe(true)
    await first.post('/auth/logout').expect(204)
    expect(await introduced(service.withToken((await service.signIn(username)).accessToken))).toBe(false)
  })

  it('returns the roles at the issue of the token until it is refreshed', async () => {
    const admin = await service.as(['ROLE_SUPER_ADMIN'])
    const person = await service.as(['ROLE_SEE_VIEW'])
    const body = userBody({ username: person.username, auths: ['ROLE_SEE_VIEW', 'ROLE_SEE_ROUTE'] })
    await admin.put(`/users/${person.uid}`).send(body).expect(200)
    const changed = (await person.get('/session').expect(200)).body.user
    expect(changed).toMatchObject({ preUpdateAuths: ['ROLE_SEE_VIEW'], auths: body.auths })
    const { refreshToken } = person.tokens
    const { accessToken } = (await service.http.post('/api/v1/auth/refresh').send({ refreshToken }).expect(200)).body
    const refreshed = (await service.withToken(accessToken).get('/session').expect(200)).body.user
    expect(refreshed.auths).toEqual(body.auths)
    expect(refreshed).not.toHaveProperty('preUpdateAuths')
  })

  it('returns only the roles of the token for an API token', async () => {
    const person = await service.as(['ROLE_SEE_VIEW', 'ROLE_SEE_ROUTE', 'ROLE_SEE_INSTANCE'])
    const expires = new Date(Date.now() + 86_400_000).toISOString()
    const created = await person
      .post('/users/me/api-tokens')
      .send({ name: 'Mine', roles: ['ROLE_SEE_ROUTE'], expires, password: goodPassword })
    const { body } = await service.withToken(created.body.token).get('/session').expect(200)
    expect(body).toMatchObject({
      activeUser: { id: person.uid, hasManagerAccess: false, hasRouteAccess: true },
      user: { auths: ['ROLE_SEE_ROUTE'], hasManagerAccess: false, hasIntegrationRouteAccess: true },
      activeClient: { id: person.client },
      forwardTo: 'SERVICE_INTEGRATION',
    })
    expect(body.user).not.toHaveProperty('preUpdateAuths')
    await service.withToken(created.body.token).put('/session/client').send({ clientId: person.client }).expect(403)
  })
})
