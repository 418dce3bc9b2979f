import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { identityOperations, allRoles, type OperationSignature } from '@sluice/contracts'
import { applicationBody } from '../application-body.ts'
import { startService, userBody, type Service } from '../app-under-test.ts'
import { validRequests, type ValidRequest, type ValidRequests } from '../valid-requests/valid-requests.ts'
import { insertUserGroup } from '../user-group-fixtures.ts'

type Person = Awaited<ReturnType<Service['as']>>
const signatures = Object.values(identityOperations).flatMap((noun): OperationSignature[] => Object.values(noun))
const withIds = signatures
  .filter(({ path, guard }) => path.includes(':') && guard !== 'anyone')
  .map((signature): [string, OperationSignature] => [signature.id, signature])
const allButSuper = allRoles.filter((role) => role !== 'ROLE_SUPER_ADMIN')

let service: Service
/** Holds every role except ROLE_SUPER_ADMIN, in another organisation than the victim. */
let stranger: Person
/** A super admin of the organisation that the stranger must not reach. */
let victim: Person
/** Valid requests for objects of the victim's organisation. */
let good: ValidRequests
beforeAll(async () => {
  service = await startService()
  stranger = await service.as(allButSuper)
  victim = await service.as(['ROLE_SUPER_ADMIN'])
  good = validRequests({ service, admin: victim })
})
afterAll(() => service.stop())

const pathWithIds = (path: string, { uid, params = {} }: ValidRequest) =>
  path.replaceAll(/:(\w+)/g, (_all, name: string) => params[name] ?? (name === 'uid' ? uid : undefined) ?? randomUUID())
const pathWithUnknownIds = (path: string) => path.replaceAll(/:\w+/g, () => randomUUID())
const requiresSuperAdmin = ({ guard }: OperationSignature) =>
  Array.isArray(guard) && guard.every((role) => role === 'ROLE_SUPER_ADMIN')

/** A digest of the rows of all organisations, which must not change. */
async function databaseDigest(): Promise<string> {
  const tables = ['clients', 'users', 'user_groups', 'user_group_members', 'api_tokens', 'second_factors']
  const parts = await Promise.all(
    [...tables, 'sso_client_configs', 'sso_provider_configs', 'sessions', 'links'].map((table) => {
      const row = ['sessions', 'api_tokens'].includes(table) ? sql`to_jsonb(t) - 'last_used_at'` : sql`to_jsonb(t)`
      return sql<{ digest: string }>`
        select md5(coalesce(string_agg((${row})::text, '' order by (${row})::text), '')) as digest from ${sql.table(table)} t`.execute(
        service.db,
      )
    }),
  )
  return parts.map(({ rows }) => rows[0]!.digest).join()
}

/** A response without its request id and address. */
const comparable = ({ status, body: { requestId: _id, instance: _at, ...body } }: { status: number; body: any }) => ({
  status,
  body,
})

describe.each(withIds)('%s', (id, signature) => {
  it('returns the same error for an id of another organisation as for an unknown id, and changes nothing with any method', async () => {
    const request = await good[id]!()
    const before = await databaseDigest()
    const send = (path: string) => stranger[signature.method](path).send(request.body)
    const foreign = comparable(await send(pathWithIds(signature.path, request)))
    expect(foreign.status).toBe(requiresSuperAdmin(signature) ? 403 : 404)
    expect(foreign).toEqual(comparable(await send(pathWithUnknownIds(signature.path))))
    for (const method of ['get', 'post', 'put', 'delete'] as const) {
      const { status } = await stranger[method](pathWithIds(signature.path, request)).send(request.body ?? {})
      expect([method, [400, 403, 404, 405].includes(status)]).toEqual([method, true])
    }
    expect(await databaseDigest()).toBe(before)
  })
})

describe('an id of another organisation in a body or in the second part of a path', () => {
  it('is rejected with 422 in a body and 404 in a path, and changes nothing', async () => {
    const group = await insertUserGroup(service.db, stranger.client)
    const foreignGroup = await insertUserGroup(service.db, victim.client)
    const [own, foreign] = [
      await service.user({ client: stranger.client }),
      await service.user({ client: victim.client }),
    ]
    const before = await databaseDigest()
    const refused = [
      stranger.post('/users').send(userBody({ ssoAuth: true, client: { id: victim.client } })),
      stranger.post('/users').send(userBody({ ssoAuth: true, userGroups: [{ id: foreignGroup }] })),
      stranger.post('/users/invite').send(userBody({ client: { id: victim.client } })),
      stranger.put(`/users/${own.uid}`).send(userBody({ username: own.username, client: { id: victim.client } })),
      stranger.put(`/users/${own.uid}`).send(userBody({ username: own.username, userGroups: [{ id: foreignGroup }] })),
      stranger.post('/user-groups').send({ name: 'Odd', code: 'odd', client: { id: victim.client } }),
      stranger.post('/sso-client-configs').send(applicationBody({ client: { id: victim.client } })),
    ]
    for (const [index, { status }] of (await Promise.all(refused)).entries())
      expect([index, status]).toEqual([index, 422])
    const unknown = [
      stranger.put(`/user-groups/${group}/users/${foreign.uid}`).send({}),
      stranger.put(`/user-groups/${foreignGroup}/users/${own.uid}`).send({}),
      stranger.delete(`/user-groups/${group}/users/${foreign.uid}`),
    ]
    for (const [index, { status }] of (await Promise.all(unknown)).entries())
      expect([index, status]).toEqual([index, 404])
    expect(await databaseDigest()).toBe(before)
  })
})

describe('lists, searches and reports', () => {
  const lists = signatures.filter(
    ({ path, guard, paged, id }) => !path.includes(':') && Array.isArray(guard) && (paged || id.startsWith('reports.')),
  )

  it.each(lists.map((signature): [string, OperationSignature] => [signature.id, signature]))(
    '%s returns nothing of another organisation, with and without filters',
    async (id, { method, path, body }) => {
      // Audit rows have no id in responses.
      const name = id === 'reports.audit' ? 'object.id' : 'id'
      const filters = [[], [`${name}:!null`], [`${name}:!null`, `${name}:null`]]
      for (const filter of filters) {
        const junction: Record<string, string> = filter.length > 1 ? { rootJunction: 'OR' } : {}
        const terms = filter.map((one): [string, string] => ['filter', one])
        const query = new URLSearchParams([...terms, ...Object.entries(junction)])
        const request = body
          ? stranger[method](path).send({ filter, ...junction, paging: { pageSize: 1000 } })
          : stranger[method](`${path}?${query}&pageSize=1000`)
        const { text } = await request.expect(200)
        for (const secret of [victim.client, victim.uid, victim.username]) expect(text).not.toContain(secret)
      }
    },
  )
})
