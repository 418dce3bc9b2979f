import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import { identityOperations, allRoles, type ClientBody, type Role, type OperationSignature } from '@sluice/contracts'
import { findClientSwitch } from '../src/effective-roles.ts'
import { startService, userBody, type Service } from './app-under-test.ts'

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

type Person = Awaited<ReturnType<Service['as']>>
async function standingOf({ uid, tokens }: Person) {
  const session = decodeJwt(tokens.accessToken)['sid']
  const { body } = await service
    .service()
    .post('/lookups/standing')
    .send({ kind: 'session', id: uid, session })
    .expect(200)
  return { roles: body.roles as Role[], dormantRoles: body.dormantRoles as Role[] }
}

const always: Role[] = [
  'ROLE_MANAGE_CLIENT',
  'ROLE_SUPER_ADMIN',
  'ROLE_MANAGE_USER',
  'ROLE_MANAGE_USER_GROUP',
  'ROLE_MANAGE_SSO_PROVIDER_CONFIG',
  'ROLE_MANAGE_SSO_CLIENT_CONFIG',
  'ROLE_GET_FILE',
  'ROLE_GET_FILE_INDIVIDUAL',
  'ROLE_SEE_AUDIT_LOG',
  'ROLE_MANAGE_HOSTING_PLAN',
  'ROLE_SEE_FIREWALL_RULE',
  'ROLE_MANAGE_FIREWALL_RULE',
]
const instances: Role[] = ['ROLE_SEE_INSTANCE', 'ROLE_MANAGE_INSTANCE']
const routes: Role[] = ['ROLE_SEE_ROUTE', 'ROLE_MANAGE_ROUTE']
const pipelines = allRoles.filter((role) => ![...always, ...instances, ...routes].includes(role))

describe('the switches of an organisation', () => {
  it.each<[keyof ClientBody, Role[]]>([
    ['managerEnabled', instances],
    ['routesEnabled', routes],
    ['pipelinesEnabled', pipelines],
    ['enterpriseEnabled', []],
  ])('%s makes only its own roles dormant when it is off', async (name, asleep) => {
    const on = { managerEnabled: true, routesEnabled: true, pipelinesEnabled: true, enterpriseEnabled: true }
    const person = await service.as(allRoles, await service.client({ ...on, [name]: false }))
    const standing = await standingOf(person)
    expect(standing.dormantRoles.toSorted()).toEqual(asleep.toSorted())
    expect([...standing.roles, ...standing.dormantRoles].toSorted()).toEqual(allRoles.toSorted())
  })

  it('affect no role that guards an operation of the identity service', () => {
    const guards = Object.values(identityOperations)
      .flatMap((noun): OperationSignature[] => Object.values(noun))
      .flatMap(({ guard }) => (Array.isArray(guard) ? (guard as Role[]) : []))
    expect(guards.filter(findClientSwitch)).toEqual([])
  })

  it('take effect in an open session when they are turned off and on again', async () => {
    const admin = await service.as(['ROLE_SUPER_ADMIN'])
    const person = await service.as(['ROLE_SEE_ROUTE'])
    const { body: client } = await admin.get(`/clients/${person.client}`).expect(200)
    const flip = (routesEnabled: boolean) =>
      admin
        .put(`/clients/${person.client}`)
        .send({ ...client, routesEnabled })
        .expect(200)
    await flip(false)
    expect(await standingOf(person)).toEqual({ roles: [], dormantRoles: ['ROLE_SEE_ROUTE'] })
    const { body } = await person.get('/session').expect(200)
    expect(body.user).toMatchObject({ hasIntegrationRouteAccess: false, auths: ['ROLE_SEE_ROUTE'] })
    expect(body.user).not.toHaveProperty('preUpdateAuths')
    await flip(true)
    expect((await standingOf(person)).roles).toEqual(['ROLE_SEE_ROUTE'])
  })

  it('let an administrator grant a dormant role that they hold, and reject roles that they lack', async () => {
    const client = await service.client({ pipelinesEnabled: false })
    const manager = await service.as(['ROLE_MANAGE_USER', 'ROLE_MANAGE_VIEW'], client)
    const colleague = await service.user({ client, roles: ['ROLE_SEE_VIEW'] })
    const update = (auths: Role[]) =>
      manager.put(`/users/${colleague.uid}`).send(userBody({ username: colleague.username, auths }))
    await update(['ROLE_MANAGE_VIEW']).expect(200)
    await update(['ROLE_MANAGE_VIEW', 'ROLE_SEE_SCHEMA']).expect(403)
    const stronger = await service.user({ client, roles: ['ROLE_SEE_SCHEMA'] })
    await manager.delete(`/users/${stronger.uid}`).expect(403)
  })

  it('can be turned on again by a super admin of the same organisation', async () => {
    const off = { managerEnabled: false, routesEnabled: false, pipelinesEnabled: false }
    const admin = await service.as(['ROLE_SUPER_ADMIN'], await service.client(off))
    const { body: client } = await admin.get(`/clients/${admin.client}`).expect(200)
    await admin
      .put(`/clients/${admin.client}`)
      .send({ ...client, managerEnabled: true })
      .expect(200)
    expect((await admin.get('/session')).body).toMatchObject({ user: { hasManagerAccess: true } })
  })
})
