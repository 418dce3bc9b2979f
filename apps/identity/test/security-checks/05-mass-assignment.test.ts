import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { identityOperations, type OperationSignature } from '@sluice/contracts'
import { startService, userBody, type Service } from '../app-under-test.ts'
import { validRequests, type ValidRequests } from '../valid-requests/valid-requests.ts'

interface Body {
  title: string
  properties: Record<string, { readOnly?: boolean }>
}

const writes = Object.values(identityOperations)
  .flatMap((noun): OperationSignature[] => Object.values(noun))
  .filter(({ effect, body }) => effect === 'write' && body)
  .map((signature): [string, OperationSignature, Body] => [signature.id, signature, signature.body as Body])
const propertyNames = ({ properties }: Body, readOnly: boolean) =>
  Object.keys(properties)
    .filter((name) => Boolean(properties[name]!.readOnly) === readOnly)
    .join(' ')

/** The writable properties of each body contract. A new one needs a decision about who may set it. */
const writable: Record<string, string> = {
  ChangePasswordBody: 'currentPassword newPassword',
  ChangeEmailBody: 'email password code',
  OwnPasswordBody: 'password',
  CodeBody: 'code',
  ProofBody: 'password code',
  ApiTokenBody: 'name roles expires password code',
  ClientBody:
    'name translations code billingCode primaryContact technicalContact billingContact disabled domain managerEnabled routesEnabled pipelinesEnabled enterpriseEnabled routeNotificationEmailAddresses timeZone',
  UserBody:
    'lastUpdated name translations username email ssoAuth ssoId auths fileAccessInstances startPage analyticsPlatformEnabled password twoFactorAuth status client userGroups',
  UserStatusBody: 'status',
  UserGroupBody: 'name translations code description client',
  SwitchClientBody: 'clientId',
  SsoProviderConfigBody: 'provider clientDomain mappingClaim client clientId clientSecret',
  SsoClientConfigBody: 'ssoClientId clientName redirectUris scopes grantTypes client clientSecret',
  LookupBody: 'ids',
  LoginBody: 'username password',
  LoginCodeBody: 'ticket code',
  RefreshBody: 'refreshToken',
  AcceptInvitationBody: 'token password',
  ForgotPasswordBody: 'username',
  ResetPasswordBody: 'token password',
}
const recorded = 'id created lastUpdated displayName'
/** Read-only properties that a body may contain, so that a response can be sent back. Their values are ignored. */
const ignored: Record<string, string> = {
  ClientBody: recorded,
  UserBody:
    'id created displayName createdBy lastUpdatedBy hasManagerAccess hasRouteAccess hasDataPipelineAccess hasUserAccess hasClientAccess existingAuths invitationLink',
  UserGroupBody: `${recorded} displayDescription`,
  SsoProviderConfigBody: 'id created lastUpdated',
  SsoClientConfigBody: 'id created lastUpdated confidential',
}

const attack = {
  id: '00000000-0000-4000-8000-000000000666',
  created: '1999-01-01T00:00:00.000Z',
  lastUpdated: '1999-01-01T00:00:00.000Z',
  createdBy: 'attacker',
  lastUpdatedBy: 'attacker',
  createdByLastUpdatedBy: 'attacker',
  displayName: 'attacker',
  twoFactorAuth: true,
  status: 'ACTIVE',
  hasManagerAccess: true,
  hasRouteAccess: true,
  hasDataPipelineAccess: true,
  hasUserAccess: true,
  hasClientAccess: true,
  existingAuths: ['ROLE_SUPER_ADMIN'],
  confidential: false,
  invitationLink: 'attacker',
  displayDescription: 'attacker',
}

/** Unknown properties that an object mapper could write to a column or to an internal property. */
const unknownProperties = [
  'createdByLastUpdatedBy',
  'password_hash',
  'passwordHash',
  'roles',
  'token_valid_after',
  'version',
  'uid',
  'client_id',
  'userId',
  'preUpdateAuths',
  'auths.0',
  'constructor',
  'toString',
  'hasOwnProperty',
  'secret_hash',
  'twoFactor',
]

let service: Service
let good: ValidRequests
let admin: Awaited<ReturnType<Service['as']>>
beforeAll(async () => {
  service = await startService()
  admin = await service.as(['ROLE_SUPER_ADMIN'])
  good = validRequests({ service, admin })
})
afterAll(() => service.stop())

const pathWithIds = ({ path }: OperationSignature, uid = randomUUID() as string, params: Record<string, string> = {}) =>
  path.replaceAll(/:(\w+)/g, (_all, name: string) => (name === 'uid' ? uid : (params[name] ?? randomUUID())))

describe.each(writes)('%s', (id, signature, body) => {
  it('accepts exactly the listed properties, and ignores values for read-only ones', async () => {
    expect(propertyNames(body, false)).toBe(writable[body.title])
    expect(propertyNames(body, true)).toBe(ignored[body.title] ?? '')
    const names = (ignored[body.title] ?? '').split(' ').filter(Boolean)
    if (names.length === 0) return
    const { uid, params, body: sent, by = admin } = await good[id]!()
    // A PUT with the id of another object is refused (user-bodies.test.ts).
    const values = signature.method === 'put' ? { ...attack, id: uid } : attack
    const readOnly = Object.fromEntries(names.map((name) => [name, values[name as keyof typeof attack]]))
    const answer = await by[signature.method](pathWithIds(signature, uid, params)).send({ ...readOnly, ...sent })
    expect([answer.status, answer.body.detail]).toEqual([signature.status, undefined])
    const text = JSON.stringify(answer.body)
    for (const value of [attack.id, attack.created, 'attacker']) expect(text).not.toContain(value)
    expect(text).not.toContain('"twoFactorAuth":true')
  })

  it('rejects a read-only property of the wrong type', async () => {
    const names = (ignored[body.title] ?? '').split(' ').filter(Boolean)
    const { uid, params, body: sent, by = admin } = await good[id]!()
    for (const name of names) {
      const wrong = { ...sent, [name]: { wrong: true } }
      const answer = await by[signature.method](pathWithIds(signature, uid, params)).send(wrong)
      expect([name, answer.status, answer.body.errors?.[0].pointer]).toEqual([name, 400, `/${name}`])
    }
  })

  it('rejects unknown properties', async () => {
    const { uid, params, body: sent, by = admin } = await good[id]!()
    for (const name of unknownProperties.filter((property) => !Object.hasOwn(body.properties, property))) {
      const unknown = { ...sent, [name]: 'attacker' }
      const answer = await by[signature.method](pathWithIds(signature, uid, params)).send(unknown)
      expect([name, answer.status]).toEqual([name, 400])
    }
  })
})

/** Properties of `attack` that user bodies do not have. */
const notInUserBodies = { confidential: undefined, createdByLastUpdatedBy: undefined, displayDescription: undefined }

it('an invitation ignores read-only properties such as status and access flags', async () => {
  const { body } = await admin.post('/users/invite').send({ ...attack, ...notInUserBodies, ...userBody() })
  expect(body).toMatchObject({ status: 'INVITATION', auths: [], hasUserAccess: false, hasClientAccess: false })
})
