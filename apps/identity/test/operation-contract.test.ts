import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  createContractChecker,
  identityOperations,
  type Role,
  allRoles,
  type OperationSignature,
} from '@sluice/contracts'
import { brokenContractRules, brokenOperationRules } from '@sluice/testing'
import { servedOperations } from '../src/api/operations.ts'
import type { Service } from './app-under-test.ts'
import { startServiceBesideProviders } from './federated/federated-sign-in-setup.ts'
import { validRequests, type ValidRequests } from './valid-requests/valid-requests.ts'

const signatures = Object.values(identityOperations).flatMap((noun): OperationSignature[] => Object.values(noun))
const table = signatures.map((signature): [string, OperationSignature] => [signature.id, signature])
const guarded = table.filter(([, { guard }]) => guard !== 'anyone')
const byRole = table.filter(([, { guard }]) => Array.isArray(guard))
const withId = byRole.filter(([, { path }]) => path.includes(':uid'))
const withBody = table.filter(([, { body }]) => body)
const withoutQuery = table.filter(([, { query }]) => !query)

let service: Service
let admin: Awaited<ReturnType<Service['as']>>
let good: ValidRequests
let foreign: { client: string; user: string }
beforeAll(async () => {
  service = await startServiceBesideProviders()
  admin = await service.as(['ROLE_SUPER_ADMIN'])
  const client = await service.client()
  foreign = { client, user: (await service.user({ client })).uid }
  good = validRequests({ service, admin })
})
afterAll(() => service.stop())

const pathWithIds = ({ path }: OperationSignature, uid = randomUUID() as string, params: Record<string, string> = {}) =>
  path.replaceAll(/:(\w+)/g, (_all, name: string) => (name === 'uid' ? uid : (params[name] ?? randomUUID())))
type Caller = Awaited<ReturnType<Service['as']>>
const callers = new Map<string, Promise<Caller>>()
/** Returns the same signed-in user for the same roles. */
const callerWith = (held: readonly Role[], client?: string): Promise<Caller> => {
  const key = held.join()
  const caller = callers.get(key) ?? service.as(held, client)
  callers.set(key, caller)
  return caller
}

/** Operations that change their caller, end its sessions, or count its attempts. */
const affectsCaller = ({ id, guard }: OperationSignature) => guard === 'in-person' || id.startsWith('session.')
/** A caller who passes the guard of the operation. */
const allowedCaller = async (signature: OperationSignature) => {
  if (signature.guard === 'service') return service.service()
  const held = ['ROLE_SUPER_ADMIN'] as const
  return affectsCaller(signature) ? service.as(held, admin.client) : callerWith(held, admin.client)
}
const goodBody = async ({ id, body }: OperationSignature) => (body ? (await good[id]!()).body : undefined)

describe('the operations of the API', () => {
  it('match the contracts, and each has a valid sample request', () => {
    expect(servedOperations.map(({ signature }) => signature.id).toSorted()).toEqual(
      signatures.map(({ id }) => id).toSorted(),
    )
    expect(Object.keys(good).toSorted()).toEqual(signatures.map(({ id }) => id).toSorted())
  })

  it('follow the operation and contract rules of the project', () => {
    expect(brokenOperationRules(signatures)).toEqual([])
    expect(brokenContractRules(signatures)).toEqual([])
  })
})

describe.each(table)('%s', (id, signature) => {
  it('returns the response of its contract for a valid request', async () => {
    const { uid, params, query = '', body, by } = await good[id]!()
    const caller = by ?? (await allowedCaller(signature))
    const answer = await caller[signature.method](`${pathWithIds(signature, uid, params)}${query}`).send(body)
    expect([answer.status, answer.body.detail]).toEqual([signature.status, undefined])
    if (signature.response)
      expect(createContractChecker(signature.response)(answer.body)).toEqual({ value: answer.body })
    else expect(answer.text).toBe('')
    if (signature.paged) expect(answer.headers).toMatchObject({ 'x-page': '1', 'x-page-size': expect.any(String) })
    expect(answer.headers['x-request-id']).toBeDefined()
    expect('etag' in answer.headers).toBe(Boolean(signature.versioned && signature.response))
  })

  it('returns 405 for another method', async () => {
    const { uid } = await good[id]!()
    const { body } = await service.http.patch(`/api/v1${pathWithIds(signature, uid)}`).expect(405)
    expect(body.code).toBe('method-not-allowed')
  })
})

describe.each(table.filter(([, { response, mayRedirect }]) => response && !mayRedirect))('%s', (_id, signature) => {
  it('returns 406 without any effect when Accept excludes its media type', async () => {
    const caller = await allowedCaller(signature)
    const answer = await caller[signature.method](pathWithIds(signature)).set('Accept', 'text/csv').expect(406)
    expect(answer.body.code).toBe('not-acceptable')
  })
})

describe.each(withoutQuery)('%s', (id, signature) => {
  it('rejects an unknown query parameter with 400', async () => {
    const { uid, params, body, by } = await good[id]!()
    const caller = by ?? (await allowedCaller(signature))
    const answer = await caller[signature.method](`${pathWithIds(signature, uid, params)}?colour=red`)
      .send(body)
      .expect(400)
    expect(answer.body.errors).toEqual([{ pointer: '/colour', detail: 'is not known here' }])
  })
})

describe.each(guarded)('%s', (_id, signature) => {
  it('rejects a missing, invalid or wrong kind of token', async () => {
    const url = pathWithIds(signature)
    const body = await goodBody(signature)
    await service.http[signature.method](`/api/v1${url}`)
      .send(body)
      .expect(401)
      .expect('content-type', /problem\+json/)
    await service.withToken('not.a.token')[signature.method](url).send(body).expect(401)
    const other = signature.guard === 'service' ? admin : service.service()
    await other[signature.method](url).send(body).expect(401)
  })
})

describe.each(byRole)('%s', (_id, signature) => {
  it('rejects a caller without the required role before any other check', async () => {
    const others = allRoles.filter(
      (role) => role !== 'ROLE_SUPER_ADMIN' && !(signature.guard as string[]).includes(role),
    )
    const caller = await callerWith(others)
    await caller[signature.method](pathWithIds(signature)).send({ nonsense: true }).expect(403)
  })
})

describe.each(withId)('%s', (id, signature) => {
  it('returns 404 for an object of another organisation, an unknown id and a malformed id', async () => {
    const caller = await callerWith(allRoles.filter((role) => role !== 'ROLE_SUPER_ADMIN'))
    const manager = (signature.guard as string[]).includes('ROLE_SUPER_ADMIN') ? admin : caller
    const body = await goodBody(signature)
    const absent = await manager[signature.method](pathWithIds(signature)).send(body).expect(404)
    const same = { ...absent.body, requestId: expect.any(String), instance: expect.any(String) }
    const others = manager === admin ? [] : [id.startsWith('users.') ? foreign.user : foreign.client]
    for (const uid of [...others, '1', "'; drop table users; --", 'null', '%00'])
      expect(
        (
          await manager[signature.method](pathWithIds(signature, encodeURIComponent(uid)))
            .send(body)
            .expect(404)
        ).body,
      ).toEqual(same)
  })
})

describe.each(withBody)('%s', (_id, signature) => {
  const send = async (body: unknown) => {
    const caller = await allowedCaller(signature)
    return caller[signature.method](pathWithIds(signature))
      .set('content-type', 'application/json')
      .send(JSON.stringify(body))
  }

  it('rejects a body that violates its contract, and names unknown fields', async () => {
    const fine = await goodBody(signature)
    const unknown = await send({ ...fine, aFieldOfNobody: 1 })
    expect(unknown.status).toBe(400)
    expect(unknown.body.errors).toEqual([{ pointer: '/aFieldOfNobody', detail: 'is not known here' }])
    for (const bad of [{}, [], 'text', null]) {
      const answer = await send(bad)
      expect([bad, answer.status]).toEqual([bad, 400])
      expect(answer.body.errors.length).toBeGreaterThan(0)
    }
    const proto = await send(JSON.parse('{"__proto__":{"polluted":1}}'))
    expect(proto.status).toBe(400)
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
  })

  it('names every field of the wrong type', async () => {
    const fine = (await goodBody(signature)) as object
    const wrong = Object.fromEntries(Object.keys(fine).map((name) => [name, { wrong: true }]))
    const answer = await send(wrong)
    expect(answer.status).toBe(400)
    const named = new Set(answer.body.errors.map(({ pointer }: { pointer: string }) => pointer.split('/')[1]))
    expect(Object.keys(fine).filter((name) => !named.has(name))).toEqual([])
  })

  it('rejects a NUL character in every text property', async () => {
    const fine = Object.entries((await goodBody(signature)) as object)
    for (const [name, value] of fine.filter(([, value]) => typeof value === 'string')) {
      const withText = (text: string) =>
        send(Object.fromEntries(fine.map(([key, old]) => [key, key === name ? text : old])))
      expect((await withText(`${value}\0`)).body.detail).toContain('NUL')
      expect((await withText(`${value}\\u0000`)).body.detail ?? '').not.toContain('NUL')
    }
  })
})
