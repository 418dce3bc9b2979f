import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { ClientBody, Role } from '@sluice/contracts'
import { startService, type Service } from './app-under-test.ts'

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

const off = { managerEnabled: false, routesEnabled: false, pipelinesEnabled: false }

/** The session of somebody with these roles, start page and switches of the client. */
async function session(roles: Role[], startPage: string, switches: Partial<ClientBody> = {}, analytics = false) {
  const client = await service.client(switches)
  const { username } = await service.user({ client, roles, startPage, analytics })
  const { accessToken } = await service.signIn(username)
  const { body } = await service.bearing(accessToken).get('/session').expect(200)
  return body
}

describe('the session', () => {
  it.each([
    ['ROLE_SEE_INSTANCE', { managerEnabled: true }, 'hasManagerAccess', 'SERVICE_MANAGER'],
    ['ROLE_MANAGE_INSTANCE', { managerEnabled: true }, 'hasManagerAccess', 'SERVICE_MANAGER'],
    ['ROLE_SEE_ROUTE', { routesEnabled: true }, 'hasRouteAccess', 'SERVICE_INTEGRATION'],
    ['ROLE_MANAGE_ROUTE', { routesEnabled: true }, 'hasRouteAccess', 'SERVICE_INTEGRATION'],
    ['ROLE_SEE_DATA_PIPELINE', { pipelinesEnabled: true }, 'hasDataPipelineAccess', 'SERVICE_DATA_PIPELINE'],
    ['ROLE_MANAGE_DATA_PIPELINE', { pipelinesEnabled: true }, 'hasDataPipelineAccess', 'SERVICE_DATA_PIPELINE'],
  ] as const)('gives access by %s and the switch %j, and forwards there', async (role, on, access, target) => {
    const withBoth = await session([role], 'DEFAULT', { ...off, ...on })
    expect(withBoth.activeUser[access]).toBe(true)
    expect(withBoth.forwardTo).toBe(target)
    const withoutSwitch = await session([role], 'DEFAULT', off)
    expect(withoutSwitch.activeUser[access]).toBe(false)
    expect(withoutSwitch).not.toHaveProperty('forwardTo')
    expect((await session([], 'DEFAULT')).activeUser[access]).toBe(false)
  })

  it('follows the start page where that is open, else the first that is', async () => {
    const all: Role[] = ['ROLE_SEE_INSTANCE', 'ROLE_SEE_ROUTE', 'ROLE_SEE_DATA_PIPELINE']
    expect((await session(all, 'DATA_PIPELINE')).forwardTo).toBe('SERVICE_DATA_PIPELINE')
    expect((await session(all, 'INTEGRATION')).forwardTo).toBe('SERVICE_INTEGRATION')
    expect((await session(all, 'DEFAULT')).forwardTo).toBe('SERVICE_MANAGER')
    expect((await session(all, 'MANAGER', { managerEnabled: false })).forwardTo).toBe('SERVICE_INTEGRATION')
  })

  it('tells who it is, for which client, and never a password', async () => {
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

  it('introduces the service until the first session has ended', async () => {
    const { username, ...first } = await service.as([])
    const introduced = async (caller: Pick<typeof first, 'get'>) =>
      (await caller.get('/session').expect(200)).body.config.serviceIntro
    expect(await introduced(first)).toBe(true)
    expect(await introduced(service.bearing((await service.signIn(username)).accessToken))).toBe(true)
    await first.post('/auth/logout').expect(204)
    expect(await introduced(service.bearing((await service.signIn(username)).accessToken))).toBe(false)
  })
})
