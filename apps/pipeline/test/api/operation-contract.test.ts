import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  createContractChecker,
  hasRole,
  pipelineOperations,
  allRoles,
  type Role,
  type OperationSignature,
} from '@sluice/contracts'
import { operations } from '../../src/api/operations.ts'
import type { Test } from 'supertest'
import { spawnWorker } from '../worker/worker-process.ts'
import { until } from '@sluice/testing/wait-until'
import type { Person } from '../join-shared-identity-service.ts'
import { startService, type Asking, type Service } from './app-under-test.ts'
import { deletedClient } from './create-deleted-organisation.ts'
import { eventsOf } from './parse-server-sent-events.ts'
import { fresh } from './create-owned-objects.ts'
import { goodConfigurations } from './valid-configuration-requests.ts'
import { goodDataPipelines } from './valid-data-pipeline-requests.ts'
import { goodDestinations } from './valid-destination-requests.ts'
import { goodPublicDatasets, loadedDataset } from './valid-public-dataset-requests.ts'
import { goodQualityChecks } from './valid-quality-check-requests.ts'
import { goodSchemas } from './valid-schema-requests.ts'
import { goodVariables } from './valid-variable-requests.ts'
import { goodWarehouseReaders } from './valid-warehouse-reader-requests.ts'
import { goodViews } from './valid-view-requests.ts'
import { goodWorkflows } from './valid-workflow-requests.ts'
import { wrongBody, wrongQuery } from './wrong-requests.ts'

const signatures = Object.values(pipelineOperations).flatMap((noun): OperationSignature[] => Object.values(noun))
const table = signatures.map((signature): [string, OperationSignature] => [signature.id, signature])
const guarded = table.filter(([, { guard }]) => guard !== 'anyone')
const byRole = guarded.filter(([, { guard }]) => Array.isArray(guard))
const withId = guarded.filter(([, { path }]) => path.includes(':uid'))
const withBody = table.filter(([, { body }]) => body)

let service: Service
let client: string
let owner: Asking
let stranger: Asking
/** A super admin, for what only they may ask. */
let boss: Asking
/** What the owner has loaded. */
let loaded: Awaited<ReturnType<typeof loadOnce>>

const everything = [
  'ROLE_VIEW_DATA_ALL_DATA_PIPELINE',
  'ROLE_MANAGE_SCHEMA',
  'ROLE_MANAGE_DATA_PIPELINE',
  'ROLE_MANAGE_VIEW',
  'ROLE_MANAGE_PUBLIC_DATASET_CATALOG',
  'ROLE_MANAGE_DESTINATION',
  'ROLE_MANAGE_WORKFLOW',
] as const
const ofTheClient = [
  'ROLE_MANAGE_DATA_QUALITY_CHECK',
  'ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP',
  'ROLE_MANAGE_VARIABLE',
  'ROLE_MANAGE_SETTING',
  'ROLE_SEE_AUDIT_LOG',
] as const

beforeAll(async () => {
  service = await startService()
  const { identity } = service
  const [here, there] = await Promise.all([
    identity.client({ domain: 'PUBLIC_DATASET_CATALOG' }),
    identity.client({ domain: 'PUBLIC_DATASET_CATALOG' }),
  ])
  const [one, other] = (await Promise.all(
    [here, there].map(({ id }) => identity.person(id, [...everything, ...ofTheClient])),
  )) as [Person, Person]
  client = here!.id
  owner = service.as(one)
  stranger = service.as(other)
  boss = service.as(await identity.person(here!.id, ['ROLE_SUPER_ADMIN']))
  loaded = await loadOnce()
})
afterAll(() => service?.stop())

async function loadOnce() {
  const worker = await spawnWorker(service.environment)
  try {
    const schema = await make.schema()
    const [pipeline, restorable] = [await make.pipelineIn(schema), await make.pipelineIn(schema)]
    const run = await load(pipeline)
    // Its first rows are kept.
    for (let loads = 0; loads < 2; loads += 1) await load(restorable)
    const { body: read } = await owner.get(`/data-pipelines/${pipeline}`).expect(200)
    const datasets = { kept: await loadedDataset(owner), doomed: await loadedDataset(owner) }
    const table = read.dataWarehouseTargetTableName as string
    return { schema, pipeline, restorable, table, run, datasets }
  } finally {
    await worker[Symbol.asyncDispose]()
  }
}

/** Answers the run. */
async function load(pipeline: string): Promise<string> {
  await owner.post(`/data-pipelines/${pipeline}/file?name=a.csv`).type('text/csv').send('a,b\n1,2\n3\n').expect(200)
  const { body: started } = await owner.post(`/data-pipelines/${pipeline}/run`).expect(202)
  await until(async () => {
    const { body } = await owner.get(`/data-pipelines/${pipeline}/runs`).expect(200)
    return body[0].finished
  })
  return started.data.taskId
}

/** Somebody of the owner's client who holds every role but those that would do. */
const lacking = (guard: Role[]): Promise<Asking> => {
  const others = allRoles.filter((role) => !guard.some((wanted) => hasRole([role], wanted)))
  const known = refused.get(guard.join()) ?? service.identity.person(client, others).then((one) => service.as(one))
  refused.set(guard.join(), known)
  return known
}
const refused = new Map<string, Promise<Asking>>()

const make = fresh(() => owner)

/** Returns the caller who may send the request: a super admin if only they may, otherwise `otherwise`. */
const rightful = ({ guard }: OperationSignature, otherwise: Asking) =>
  (guard as string[]).includes('ROLE_SUPER_ADMIN') ? boss : otherwise

interface Good {
  uid?: string
  taskId?: string
  key?: string
  query?: string
  body?: object | string
  /** The second id in the path. */
  upload?: string
  headers?: Record<string, string>
}

const given = () => ({ service, client, owner, loaded, fresh: make })
/** A good request of every operation. A new operation has to be added to one of these. */
const good: Record<string, () => Promise<Good>> = {
  ...goodSchemas(given),
  ...goodVariables(given),
  ...goodDataPipelines(given),
  ...goodConfigurations(given),
  ...goodDestinations(given),
  ...goodPublicDatasets(() => loaded),
  ...goodQualityChecks(given),
  ...goodWarehouseReaders(given),
  ...goodViews(given),
  ...goodWorkflows(() => ({ owner, withFile: make.pipelineWithFile })),
  'audit.list': async () => ({ query: '?pageSize=5&filter=operation:like:create&order=at:asc' }),
  'runs.list': async () => ({ query: '?kind=DATA_PIPELINE&status=OK&trigger=MANUAL&since=2026-01-01T00:00:00Z' }),
  'runs.stream': async () => {
    const uid = await make.pipelineWithFile()
    await owner.post(`/data-pipelines/${uid}/run`).expect(202)
    return { query: '?kind=DATA_PIPELINE&status=QUEUED' }
  },
  'schedules.list': async () => ({ query: '?pageSize=5&to=2099-01-01T00:00:00Z&from=2098-12-01T00:00:00Z' }),
  'schedules.preview': async () => ({ body: { cronExpression: '0 6 * * 1-5' } }),
  'deletedClients.list': async () => ({}),
  'deletedClients.erase': async () => ({ uid: await deletedClient(service) }),
}

const parameters = () => ({
  taskId: loaded.run,
  type: 'SQL_DATABASE_D',
  kind: 'tables',
  key: 'THEME',
  name: loaded.table,
  upload: randomUUID(),
})
const at = (
  { path }: OperationSignature,
  { uid = randomUUID(), ...more }: Pick<Good, 'uid' | 'taskId' | 'key' | 'upload'> = {},
) =>
  Object.entries({
    uid,
    ...parameters(),
    ...(/^.destinations/.test(path) && { kind: 'data-elements' }),
    ...more,
  }).reduce((address, [name, value]) => address.replace(`:${name}`, value), path)
const asked = (caller: Asking, signature: OperationSignature, { query = '', body, headers = {}, ...ids }: Good) => {
  const request = caller[signature.method](`${at(signature, ids)}${query}`).set(headers)
  if (!signature.upload) return request.send(body)
  return request.type(`${signature.upload}${signature.form ? '; boundary=x' : ''}`).send(body ?? 'a\n1\n')
}

/** The event whose data fits the contract. */
const eventOf = ({ id }: OperationSignature) => (id === 'runs.stream' ? 'run' : 'log')

/** Reads the answer to a request until it has this event, because a stream of all runs has no end. */
async function readUntilEvent(request: Test, event: string) {
  const { url, header } = request as unknown as { url: string; header: Record<string, string> }
  const response = await fetch(url, { headers: header })
  const kept = { status: response.status, headers: Object.fromEntries(response.headers) }
  let text = ''
  for await (const chunk of response.body!) {
    text += Buffer.from(chunk).toString()
    if (eventsOf(text).some((received) => received.event === event)) break
  }
  return { ...kept, text, body: {} as Record<string, unknown> }
}

describe('the operations', () => {
  it('match the contracts, and each has a valid sample request', () => {
    const ids = signatures.map(({ id }) => id).toSorted()
    expect(operations.map(({ signature }) => signature.id).toSorted()).toEqual(ids)
    expect(Object.keys(good).toSorted()).toEqual(ids)
  })
})

describe.each(table)('%s', (id, signature) => {
  it('returns a response that matches its contract for a valid request', async () => {
    const request = asked(rightful(signature, owner), signature, await good[id]!())
    const answer = await (signature.events ? readUntilEvent(request, eventOf(signature)) : request)
    expect([answer.status, answer.body.detail]).toEqual([signature.status, undefined])
    if (signature.events) {
      const [first] = eventsOf(answer.text).filter(({ event }) => event === eventOf(signature))
      expect(createContractChecker(signature.response!)(first!.data)).toEqual({ value: first!.data })
    } else if (signature.response)
      expect(createContractChecker(signature.response)(answer.body)).toEqual({ value: answer.body })
    else expect(answer.text).toBe('')
    if (signature.paged) expect(answer.headers).toMatchObject({ 'x-page': '1', 'x-page-size': expect.any(String) })
    const kept = signature.guard === 'anyone' ? 'public, max-age=30' : 'no-store'
    expect(answer.headers).toMatchObject({ 'x-request-id': expect.any(String), 'cache-control': kept })
  })

  it('returns 405 for another method, and lists the allowed methods', async () => {
    const other = signatures.some(({ method, path }) => method === 'patch' && path === signature.path) ? 'put' : 'patch'
    const answer = await owner[other](at(signature)).expect(405)
    expect(answer.body.code).toBe('method-not-allowed')
    expect(answer.headers['allow']).toContain(signature.method.toUpperCase())
  })
})

describe.each(table.filter(([, { response }]) => response))('%s', (_id, signature) => {
  it('returns 406 if the Accept header excludes its content type', async () => {
    const type = signature.events ? 'text/event-stream' : 'application/json'
    const caller = rightful(signature, owner)
    const { fileTypes } = signature
    for (const accept of fileTypes ? ['image/png'] : ['text/csv', `${type};q=0, */*`]) {
      const answer = await asked(caller, signature, {}).set('Accept', accept).expect(406)
      expect(answer.headers['content-type']).toMatch('application/problem+json')
      expect(JSON.parse(answer.text)).toMatchObject({
        code: 'not-acceptable',
        detail: fileTypes
          ? expect.stringContaining(['application/json', ...fileTypes].join(', '))
          : `The response has the type ${type}. Send "Accept: ${type}", or omit the header.`,
      })
    }
  })
})

describe.each(guarded)('%s', (_id, signature) => {
  it('returns 401 without a token, or with a malformed, forged or wrong token', async () => {
    const { body, headers } = await service.http[signature.method](`/api/v1${at(signature)}`).expect(401)
    expect(body).toMatchObject({ code: 'unauthenticated', status: 401, type: 'urn:problem:unauthenticated' })
    expect(headers).toMatchObject({
      'content-type': expect.stringMatching(/problem\+json/),
      'www-authenticate': 'Bearer',
    })
    const { SERVICE_SECRET } = service.config
    const forged = `${Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url')}.e30.`
    for (const token of ['not.a.token', forged, SERVICE_SECRET])
      await asked(service.as({ token }), signature, {}).expect(401)
  })
})

describe.each(byRole)('%s', (_id, signature) => {
  it('returns 403 if the role is missing, before it validates the request', async () => {
    const guard = signature.guard as Role[]
    const sent = signature.upload ? 'a' : { nonsense: true }
    const { body } = await asked(await lacking(guard), signature, { body: sent }).expect(403)
    expect(body).toMatchObject({ code: 'forbidden', detail: `This needs ${guard.join(' or ')}.` })
  })
})

describe.each(withId)('%s', (id, signature) => {
  it('returns the same 404 for an object of another organisation, an unknown id and a malformed id', async () => {
    const { body } = id === 'dataPipelines.upload' ? {} : await good[id]!()
    const uid = id.startsWith('schemas.') ? loaded.schema : loaded.pipeline
    const caller = rightful(signature, stranger)
    const absent = await asked(caller, signature, { body }).expect(404)
    const same = { ...absent.body, requestId: expect.any(String), instance: expect.any(String) }
    for (const other of [uid, '1', "'; drop table runs; --", 'null', '%00', uid.slice(0, -1)])
      expect((await asked(caller, signature, { uid: encodeURIComponent(other), body }).expect(404)).body).toEqual(same)
  })
})

describe.each(withBody)('%s', (id, signature) => {
  it('reports all violations of a body at once', async () => {
    const { uid } = await good[id]!()
    const { body, pointers } = wrongBody(signature.body!)
    const answer = await asked(owner, signature, { uid, body }).expect(400)
    expect(answer.body.code).toBe('malformed')
    expect(answer.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual(
      expect.arrayContaining(pointers),
    )
  })

  it('returns 400 for JSON that is not an object, and 415 for another content type', async () => {
    const { uid } = await good[id]!()
    for (const text of ['[]', '"text"', '7', 'null', 'true']) {
      const sent = owner[signature.method](at(signature, { uid })).type('application/json').send(text)
      expect([text, (await sent).status]).toEqual([text, 400])
    }
    await owner[signature.method](at(signature, { uid })).type('text/plain').send('{}').expect(415)
    await owner[signature.method](at(signature, { uid })).type('form').send('name=a').expect(415)
  })
})

describe.each(table)('%s', (id, signature) => {
  it('reports all violations of a query at once', async () => {
    const { uid, body } = await good[id]!()
    const { query, pointers } = wrongQuery(signature.query ?? {})
    const answer = await asked(rightful(signature, owner), signature, { uid, query, body }).expect(400)
    expect(answer.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual(
      expect.arrayContaining(pointers),
    )
  })
})
