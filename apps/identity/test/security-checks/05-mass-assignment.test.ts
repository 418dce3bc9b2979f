import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { identityOperations, type OperationSignature } from '@sluice/contracts'
import { startService, userBody, type Service } from '../app-under-test.ts'
import { goodRequests, type GoodRequests } from '../good-requests/good-requests.ts'

interface Body {
  title: string
  properties: Record<string, { readOnly?: boolean }>
}

const writes = Object.values(identityOperations)
  .flatMap((noun): OperationSignature[] => Object.values(noun))
  .filter(({ effect, body }) => effect === 'write' && body)
  .map((signature): [string, OperationSignature, Body] => [signature.id, signature, signature.body as Body])
const namesOf = ({ properties }: Body, readOnly: boolean) =>
  Object.keys(properties)
    .filter((name) => Boolean(properties[name]!.readOnly) === readOnly)
    .join(' ')

/** What a body may write, of every contract. A field more is a decision about who may set it. */
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
/** What may stand in a body, so that what was read can be sent back, and is not looked at. */
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

/** Names that a mapper of bodies to rows or objects could take for more than a field. */
const unknown = [
  'createdByLastUpdatedBy',
  'password_hash',
  'passwordHash',
  'roles',
  'token_valid_after',
  'version',
  'uid',
  'client_id',
  'userId',
]
const more = ['preUpdateAuths', 'auths.0', 'constructor', 'toString', 'hasOwnProperty', 'secret_hash', 'twoFactor']

let service: Service
let good: GoodRequests
let admin: Awaited<ReturnType<Service['as']>>
beforeAll(async () => {
  service = await startService()
  admin = await service.as(['ROLE_SUPER_ADMIN'])
  good = goodRequests({ service, admin })
})
afterAll(() => service.stop())

const at = ({ path }: OperationSignature, uid = randomUUID() as string, params: Record<string, string> = {}) =>
  path.replaceAll(/:(\w+)/g, (_all, name: string) => (name === 'uid' ? uid : (params[name] ?? randomUUID())))

describe.each(writes)('%s', (id, signature, body) => {
  it('writes what is on the list, and nothing that the service assigns', async () => {
    expect(namesOf(body, false)).toBe(writable[body.title])
    expect(namesOf(body, true)).toBe(ignored[body.title] ?? '')
    const names = (ignored[body.title] ?? '').split(' ').filter(Boolean)
    if (names.length === 0) return
    const { uid, params, body: sent, by = admin } = await good[id]!()
    // A PUT that names another object than its address is refused, which users.test.ts is about.
    const attacked = signature.method === 'put' ? { ...attack, id: uid } : attack
    const bad = Object.fromEntries(names.map((name) => [name, attacked[name as keyof typeof attack]]))
    const answer = await by[signature.method](at(signature, uid, params)).send({ ...bad, ...sent })
    expect([answer.status, answer.body.detail]).toEqual([signature.status, undefined])
    const text = JSON.stringify(answer.body)
    for (const value of [attack.id, attack.created, 'attacker']) expect(text).not.toContain(value)
    expect(text).not.toContain('"twoFactorAuth":true')
  })

  it('refuses what it ignores where it is of another type', async () => {
    const names = (ignored[body.title] ?? '').split(' ').filter(Boolean)
    const { uid, params, body: sent, by = admin } = await good[id]!()
    for (const name of names) {
      const answer = await by[signature.method](at(signature, uid, params)).send({ ...sent, [name]: { wrong: true } })
      expect([name, answer.status, answer.body.errors?.[0].pointer]).toEqual([name, 400, `/${name}`])
    }
  })

  it('refuses names that are not fields', async () => {
    const { uid, params, body: sent, by = admin } = await good[id]!()
    for (const name of [...unknown, ...more].filter((one) => !Object.hasOwn(body.properties, one))) {
      const answer = await by[signature.method](at(signature, uid, params)).send({ ...sent, [name]: 'attacker' })
      expect([name, answer.status]).toEqual([name, 400])
    }
  })
})

const notOfUsers = { confidential: undefined, createdByLastUpdatedBy: undefined, displayDescription: undefined }

it('an invited user becomes nothing more by what is in the invitation', async () => {
  const { body } = await admin.post('/users/invite').send({ ...attack, ...notOfUsers, ...userBody() })
  expect(body).toMatchObject({ status: 'INVITATION', auths: [], hasUserAccess: false, hasClientAccess: false })
})
