import { randomBytes } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { until } from '@sluice/testing/wait-until'
import { spawnWorker } from '../worker/worker-process.ts'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from './app-under-test.ts'

const token = `token-${randomBytes(9).toString('hex')}`
const appKey = `key-${randomBytes(9).toString('hex')}`

let service: Service
let worker: Awaited<ReturnType<typeof spawnWorker>>
let owner: Asking
let schema: { id: string; name: string }
let server: Server
/** Set before the tests run; the cases of refused settings send no request. */
let url = 'https://data.example.org/v1'
let clinics: { id: number; visits: { day: number }[] }[] = []
let requests: { url: string; headers: IncomingHttpHeaders }[] = []

/** An API that repeats the headers of a request in its records, as a careless one does. */
beforeAll(async () => {
  server = createServer((request, response) => {
    requests.push({ url: request.url!, headers: request.headers })
    const { 'x-app-key': key, authorization } = request.headers
    const at = '2026-01-31T12:00:00Z'
    const items = request.url!.includes('/clinics')
      ? clinics
      : [{ id: 1, place: { city: 'Kisumu' }, at, echo: `${key} ${authorization}` }]
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ data: { items, errors: [] } }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  service = await startService()
  worker = await spawnWorker(service.environment)
  const { id } = await service.identity.client()
  const roles = ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE', 'ROLE_MANAGE_VARIABLE'] as const
  owner = service.as(await service.identity.person(id, [...roles]))
  schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body
})
beforeEach(() => {
  requests = []
})
afterAll(async () => {
  await worker?.[Symbol.asyncDispose]()
  await service?.stop()
  server?.close()
})

const restApi = { path: 'visits', records: 'data.items', key: ['id'] }
const source = (changes: object = {}, functionSource: object = {}) => ({
  type: 'FUNCTION',
  functionSource: { url, authToken: token, ...functionSource },
  restApi: { ...restApi, ...changes },
})
const save = async (body: object): Promise<{ id: string; name: string }> =>
  (await owner.post('/data-pipelines').send(pipelineBody(schema.id, body)).expect(201)).body
const setVariable = (name: string, value: string, secured: boolean) =>
  owner.put('/variables').send([{ name, value, secured }]).expect(200)

async function run(uid: string, mode = 'FULL') {
  const before = (await owner.get(`/data-pipelines/${uid}/runs`).expect(200)).body.length
  await owner.post(`/data-pipelines/${uid}/run`).send({ mode }).expect(202)
  return until(async () => {
    const { body } = await owner.get(`/data-pipelines/${uid}/runs`).expect(200)
    return body.length > before && body[0].finished && body[0]
  })
}

describe('a REST API', () => {
  it('is tested, previewed and looked up before it is saved, then loaded', async () => {
    const { body: tested } = await owner.post('/data-pipelines/test-connection').send(source()).expect(200)
    expect(tested).toMatchObject({ status: 'OK' })
    const { body: preview } = await owner.post('/data-pipelines/preview').send(source()).expect(200)
    expect(preview).toMatchObject({ height: 1, complete: true })
    const lookUp = async (kind: string, changes?: object) => {
      const { type: _type, ...body } = source(changes)
      const { body: found } = await owner.post(`/lookups/FUNCTION/${kind}`).send(body).expect(200)
      return found.map(({ id }: { id: string }) => id)
    }
    expect(await lookUp('record-paths', { records: undefined })).toEqual(['data.items', 'data.errors'])
    expect(await lookUp('fields')).toEqual(['id', 'place.city', 'at', 'echo'])

    const { id } = await save(source())
    expect(await run(id)).toMatchObject({ status: 'OK' })
    const { body: fields } = await owner
      .post(`/data-pipelines/${id}/lookups/fields`)
      .send({ query: 'city' })
      .expect(200)
    expect(fields).toEqual([{ id: 'place.city', code: 'place.city', name: 'place.city' }])
    expect(new Set(requests.map((request) => request.url))).toEqual(new Set(['/v1/visits']))
    expect(new Set(requests.map(({ headers }) => headers.authorization))).toEqual(new Set([`Bearer ${token}`]))
  })

  it('sends a secured variable in a header, and shows it nowhere', async () => {
    const name = `APP_KEY_${randomBytes(4).toString('hex')}`
    await setVariable(name, appKey, true)
    const body = source({ headers: { 'X-App-Key': `\${${name}}` } })
    const { id } = await save(body)
    expect(await run(id)).toMatchObject({ status: 'OK' })
    expect(requests[0]!.headers['x-app-key']).toBe(appKey)
    const shown = [
      await owner.post('/data-pipelines/preview').send(body).expect(200),
      await owner.get(`/data-pipelines/${id}`).expect(200),
      await owner.get(`/data-pipelines/${id}/logs`).expect(200),
      await owner.get(`/data-pipelines/${id}/runs`).expect(200),
      await owner.get('/configuration?kinds=dataPipelines').expect(200),
    ]
    for (const { text } of shown) expect(text).not.toContain(appKey)
    for (const { text } of shown.slice(1)) expect(text).not.toContain(token)
    expect(shown.at(-1)!.text).toContain(`\${${name}}`)
  })

  it('percent-encodes variables in its path and query, and is not requested if they leave the path', async () => {
    const name = `PLACE_${randomBytes(4).toString('hex')}`
    const { id } = await save(source({ path: `places/\${${name}}/visits`, query: { q: `\${${name}}` } }))
    const test = async (value: string) => {
      await setVariable(name, value, false)
      return (await owner.post(`/data-pipelines/${id}/test-connection`).expect(200)).body
    }
    expect(await test('a/b?c=d&e#f %2e')).toMatchObject({ status: 'OK' })
    expect(requests.map((request) => request.url)).toEqual([
      '/v1/places/a%2Fb%3Fc%3Dd%26e%23f%20%252e/visits?q=a%2Fb%3Fc%3Dd%26e%23f+%252e',
    ])
    requests = []
    for (const value of ['..', '../admin', '.'])
      expect(await test(value)).toMatchObject({
        status: 'ERROR',
        errorCode: expect.stringMatching(/^ADDRESS_INVALID$/),
      })
    expect(requests).toEqual([])
  })

  it('is read from its cursor in incremental runs, until the cursor is reset', async () => {
    const increment = { cursorField: 'at', parameter: 'since' }
    const { id } = await save(source({ increment }))
    const queries = async () => {
      requests = []
      expect(await run(id, 'INCREMENTAL')).toMatchObject({ status: 'OK' })
      return requests.map((request) => new URL(request.url, url).searchParams.get('since'))
    }
    expect(await queries()).toEqual([null])
    expect(await queries()).toEqual(['2026-01-31T11:55:00Z'])
    await owner.post(`/data-pipelines/${id}/reset-cursor`).send({ from: '2025-01-01T00:00:00Z' }).expect(200)
    expect(await queries()).toEqual(['2024-12-31T23:55:00.000Z'])
    // Without a setting for increments there is nothing to reset.
    const { id: other } = await save(source())
    await owner.post(`/data-pipelines/${other}/reset-cursor`).send({}).expect(422)
    const { id: numbered } = await save(source({ increment: { ...increment, cursorType: 'NUMBER' } }))
    await owner.post(`/data-pipelines/${numbered}/reset-cursor`).send({ from: '2025-01-01T00:00:00Z' }).expect(422)
  })

  it('replaces the groups of merged records, and keeps those of other records', async () => {
    const { id } = await save({ ...source({ path: 'clinics' }), writeMode: 'MERGE', mergeKey: ['id'] })
    const load = async (records: typeof clinics) => {
      clinics = records
      expect(await run(id)).toMatchObject({ status: 'OK' })
      const { body } = await owner.get(`/data-pipelines/${id}/publications`).expect(200)
      return body[0].tables.map((table: { rowsAfter: number }) => table.rowsAfter)
    }
    const visits = [{ day: 1 }, { day: 2 }]
    expect(await load([1, 2, 3].map((number) => ({ id: number, visits })))).toEqual([3, 6])
    expect(
      await load([
        { id: 2, visits: [{ day: 3 }] },
        { id: 3, visits: [] },
        { id: 4, visits },
      ]),
    ).toEqual([4, 5])
    expect(await load([{ id: 1, visits: [] }])).toEqual([4, 3])
  })

  it('is the same after an export and an import of the configuration', async () => {
    const { name } = await save(
      source({
        query: { flag: true, n: 5, list: ['a'] },
        columns: [{ name: 'id', type: 'BIGINT' }],
        paging: { type: 'PAGE', parameter: 'page', firstPage: 0, sizeParameter: 'n', size: 5, total: 'total' },
        increment: { cursorField: 'at', parameter: 'since', sentAs: 'DATE', lookback: 60 },
      }),
    )
    const { body: exported } = await owner.get('/configuration?kinds=dataPipelines').expect(200)
    const mine = exported.dataPipelines.filter((pipeline: { name: string }) => pipeline.name === name)
    expect(mine).toMatchObject([{ restApi: { paging: { firstPage: 0 } }, redacted: ['/functionSource/authToken'] }])
    const { body: plan } = await owner.post('/configuration/plan').send({ dataPipelines: mine }).expect(200)
    expect(plan.message).toBe('No changes.')
  })

  const paging = (changes: object) => source({ paging: changes })
  it.each<[string, object, string]>([
    ['without an address', { ...source(), functionSource: {} }, '/functionSource/url'],
    ['of a function of AWS Lambda', source({}, { functionName: 'visits', authToken: undefined }), '/restApi'],
    ['with a payload', { ...source(), payload: { a: 1 } }, '/payload'],
    [
      'with the token in two places',
      source({}, { headerName: 'x-key', parameterName: 'key' }),
      '/functionSource/parameterName',
    ],
    [
      'with a username and no password',
      source({}, { username: 'me', authToken: undefined }),
      '/functionSource/authToken',
    ],
    ['with a readable secret in a header', source({ headers: { 'X-Api-Key': 'xyzzy' } }), '/restApi/headers/X-Api-Key'],
    [
      'with a readable subscription key',
      source({ headers: { 'Ocp-Apim-Subscription-Key': 'xyzzy' } }),
      '/restApi/headers/Ocp-Apim-Subscription-Key',
    ],
    ['with a readable secret in a parameter', source({ query: { api_key: 'xyzzy' } }), '/restApi/query/api_key'],
    [
      'with a readable secret in its address',
      source({}, { url: 'https://a.example/?key=xyzzy' }),
      '/functionSource/url',
    ],
    [
      'with a readable secret in its body',
      source({ method: 'POST', body: { a: [{ password: 'xyzzy' }] } }),
      '/restApi/body/a/0/password',
    ],
    [
      'with a header that replaces the token',
      source({ headers: { Authorization: 'Token ${KEY}' } }),
      '/restApi/headers/Authorization',
    ],
    ['with a header of the connection', source({ headers: { Host: 'internal' } }), '/restApi/headers/Host'],
    ['with its token in a header of the connection', source({}, { headerName: 'Host' }), '/functionSource/headerName'],
    ['with an invalid name of a header', source({ headers: { 'a/b c': 'x' } }), '/restApi/headers/a~1b c'],
    ['with a header twice', source({ headers: { 'X-A': '1', 'x-a': '2' } }), '/restApi/headers/x-a'],
    [
      'with a header that carries the token',
      source({ headers: { 'x-app': 'a' } }, { headerName: 'X-App' }),
      '/restApi/headers/x-app',
    ],
    ['with a body of a GET request', source({ body: {} }), '/restApi/body'],
    ['with parameters in the body of a GET request', source({ parametersIn: 'BODY' }), '/restApi/parametersIn'],
    ['with NEXT_LINK without a path', paging({ type: 'NEXT_LINK' }), '/restApi/paging/path'],
    ['with CURSOR without a cursor', paging({ type: 'CURSOR', parameter: 'after' }), '/restApi/paging/path'],
    ['with PAGE without a parameter', paging({ type: 'PAGE' }), '/restApi/paging/parameter'],
    ['with a size without its parameter', paging({ type: 'LINK_HEADER', size: 5 }), '/restApi/paging/size'],
    ['with a field of another paging', paging({ type: 'LINK_HEADER', hasMore: 'more' }), '/restApi/paging/hasMore'],
    [
      'with an increment without a key',
      source({ key: undefined, increment: { cursorField: 'at', parameter: 'since' } }),
      '/restApi/key',
    ],
    [
      'with a number that is sent as a time',
      source({ increment: { cursorField: 'n', parameter: 'since', cursorType: 'NUMBER', sentAs: 'DATE' } }),
      '/restApi/increment/sentAs',
    ],
    [
      'that is missing although the token is in a parameter',
      { ...source({}, { parameterName: 'key' }), restApi: undefined },
      '/functionSource/parameterName',
    ],
  ])('is refused %s', async (_name, body, pointer) => {
    const { body: refused } = await owner.post('/data-pipelines').send(pipelineBody(schema.id, body)).expect(422)
    expect(refused.errors).toMatchObject([{ pointer, detail: expect.stringMatching(/\.$/) }])
    expect(JSON.stringify(refused)).not.toContain('xyzzy')
  })

  it('keeps its token only for the same address and place of the token', async () => {
    const { id } = await save(source())
    const put = (changes: object, functionSource: object) => {
      const body = source(changes, { authToken: undefined, ...functionSource })
      return owner.put(`/data-pipelines/${id}`).send(pipelineBody(schema.id, body))
    }
    await put({ path: 'other' }, {}).expect(200)
    await put({}, { parameterName: 'api_key' }).expect(422)
    await put({}, { username: 'reader' }).expect(422)
    await put({}, { url: 'http://127.0.0.1:9/v1' }).expect(422)
  })
})
