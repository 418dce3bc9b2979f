import { randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { unsealSource, sealSourceSecrets } from '../../src/secrets/encrypted-secrets.ts'
import { spawnWorker } from '../worker/worker-process.ts'
import { until } from '@sluice/testing/wait-until'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from './app-under-test.ts'
import { samples, withSecrets } from './pipeline-type-samples.ts'

const token = `token-${randomBytes(9).toString('hex')}`

/** A function that remembers which tokens it was sent. */
async function listening() {
  const seen: unknown[] = []
  const server: Server = createServer((request, response) => {
    seen.push(request.headers['x-functions-key'])
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ rows: [{ id: 1 }] }))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return { server, seen, host: `127.0.0.1:${(server.address() as AddressInfo).port}` }
}

let service: Service
let worker: Awaited<ReturnType<typeof spawnWorker>>
let meant: Awaited<ReturnType<typeof listening>>
let evil: Awaited<ReturnType<typeof listening>>
let owner: Asking
let other: Asking
let schema: string
beforeAll(async () => {
  ;[meant, evil] = [await listening(), await listening()]
  service = await startService()
  worker = await spawnWorker(service.environment)
  const { id } = await service.identity.client()
  const roles = ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE', 'ROLE_MANAGE_VARIABLE'] as const
  owner = service.as(await service.identity.person(id, [...roles]))
  other = service.as(await service.identity.person(id, ['ROLE_MANAGE_VARIABLE']))
  schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body.id
})
afterAll(async () => {
  await worker?.[Symbol.asyncDispose]()
  await service?.stop()
  meant?.server.close()
  evil?.server.close()
})

const newName = () => `HOST_${randomBytes(4).toString('hex')}`
const set = async (name: string, value: string, secured = false) =>
  other.put('/variables').send([{ name, secured, value }]).expect(200)
const functionAt = (name: string, own: object = {}) => ({
  type: 'FUNCTION',
  functionSource: { url: `http://\${${name}}/ok/rows`, headerName: 'x-functions-key', ...own },
})
const save = async (body: object) =>
  (await owner.post('/data-pipelines').send(pipelineBody(schema, body)).expect(201)).body.id
const stored = async (uid: string) =>
  service.stack.db
    .selectFrom('data_pipelines')
    .select(['uid', 'source_secrets'])
    .where('uid', '=', uid)
    .executeTakeFirstOrThrow()

/** Starts a run and returns its result. */
async function ran(uid: string): Promise<{ status: string; errorCode?: string; message?: string }> {
  const before = (await owner.get(`/data-pipelines/${uid}/runs`).expect(200)).body.length
  await owner.post(`/data-pipelines/${uid}/run`).send({}).expect(202)
  return until(async () => {
    const { body } = await owner.get(`/data-pipelines/${uid}/runs`).expect(200)
    return body.length > before && body[0].finished && body[0]
  })
}

describe('a secret of a source whose address contains a variable', () => {
  it('is not sent by runs, tests or previews after the variable has changed', async () => {
    const name = newName()
    await set(name, meant.host)
    const body = functionAt(name, { authToken: token })
    const uid = await save(body)
    expect(await ran(uid)).toMatchObject({ status: 'OK' })
    expect(meant.seen).toContain(token)

    await set(name, evil.host)
    expect(await ran(uid)).toMatchObject({
      status: 'FAILED',
      errorCode: 'SECRET_FOR_OTHER_ADDRESS',
      message: expect.stringContaining(`\${${name}}`),
    })
    const open = { id: uid, ...functionAt(name) }
    for (const asked of [
      owner.post(`/data-pipelines/${uid}/test-connection`),
      owner.post('/data-pipelines/test-connection').send(open),
      owner.post('/data-pipelines/preview').send(open),
    ])
      expect((await asked.expect(422)).body).toMatchObject({ code: 'secret-for-other-address' })
    expect(evil.seen).toEqual([])
  })

  it('is refused for a changed address until it is sent again', async () => {
    const name = newName()
    await set(name, meant.host, true)
    const uid = await save(functionAt(name, { authToken: token }))
    const put = (own: object) => owner.put(`/data-pipelines/${uid}`).send(pipelineBody(schema, functionAt(name, own)))
    await put({}).expect(200)
    const second = await listening()
    await set(name, second.host, true)
    const { body } = await put({}).expect(422)
    expect(body.errors).toMatchObject([{ pointer: '/functionSource/authToken' }])
    expect((await owner.post(`/data-pipelines/${uid}/test-connection`)).status).toBe(422)
    expect(second.seen).toEqual([])
    await put({ authToken: token }).expect(200)
    await owner.post(`/data-pipelines/${uid}/test-connection`).expect(200)
    expect(second.seen).toContain(token)
    second.server.close()
    // The old value is not the one that it is meant for any more.
    await set(name, meant.host, true)
    await owner.post(`/data-pipelines/${uid}/test-connection`).expect(422)
  })

  it('is not sent if the variable was created after the secret was stored', async () => {
    const name = newName()
    const uid = await save(functionAt(name, { authToken: token }))
    const test = async () => (await owner.post(`/data-pipelines/${uid}/test-connection`).expect(422)).body.code
    expect(await test()).toBe('variable-unknown')
    await set(name, evil.host)
    expect(await test()).toBe('secret-for-other-address')
    expect(evil.seen).toEqual([])
  })

  it('stored by an earlier version is bound to the address at the next save of the pipeline', async () => {
    const name = newName()
    await set(name, meant.host)
    const uid = await save(functionAt(name, { authToken: token }))
    const keys = service.config.SECRET_KEYS
    expect(unsealSource(await stored(uid), keys)).toMatchObject({ secrets: { authToken: token }, secretAddress: {} })
    const source_secrets = sealSourceSecrets(uid, { authToken: token }, keys)
    await service.stack.db.updateTable('data_pipelines').set({ source_secrets }).where('uid', '=', uid).execute()
    await owner.post(`/data-pipelines/${uid}/test-connection`).expect(200)
    await owner
      .put(`/data-pipelines/${uid}`)
      .send(pipelineBody(schema, functionAt(name)))
      .expect(200)
    await set(name, evil.host)
    await owner.post(`/data-pipelines/${uid}/test-connection`).expect(422)
    expect(evil.seen).toEqual([])
  })

  it('is still sent if a variable outside the address changes', async () => {
    const [host, country] = [newName(), newName()]
    await set(host, meant.host)
    await set(country, 'KE')
    const uid = await save({ ...functionAt(host, { authToken: token }), payload: { country: `\${${country}}` } })
    await set(country, 'UG')
    await owner.post(`/data-pipelines/${uid}/test-connection`).expect(200)
  })

  const addresses = {
    objectStoreSource: 'endpoint',
    blobStoreSource: 'endpoint',
    apiSource: 'url',
    functionSource: 'url',
  }
  const withAddress = Object.entries(samples).filter(([, { secrets }]) => secrets && secrets[0] in addresses)
  it.each(withAddress)('is not sent by a pipeline of type %s after the variable has changed', async (type, sample) => {
    const name = newName()
    await set(name, 'data.example.org')
    const field = sample.secrets![0] as keyof typeof addresses
    const source = { ...(sample.own[field] as object), [addresses[field]]: `https://\${${name}}/` }
    const uid = await save({ type, ...withSecrets({ ...sample, own: { ...sample.own, [field]: source } }, 'a value') })
    await set(name, '127.0.0.1')
    const { body } = await owner.post(`/data-pipelines/${uid}/test-connection`).expect(422)
    expect(body).toMatchObject({ code: 'secret-for-other-address', detail: expect.stringContaining(name) })
  })

  it('is not sent to a bucket whose region variable has changed, because the region is part of the host', async () => {
    const name = newName()
    await set(name, 'eu-west-1')
    const bucket = { bucket: 'my-bucket', region: `\${${name}}`, accessKey: 'a value', secretKey: 'a value' }
    const own = { key: 'data/*.csv', delimiter: 'COMMA', objectStoreSource: bucket }
    const uid = await save({ type: 'OBJECT_STORAGE_BUCKET', ...own })
    await set(name, 'evil.example/')
    const { body } = await owner.post(`/data-pipelines/${uid}/test-connection`).expect(422)
    expect(body).toMatchObject({ code: 'secret-for-other-address' })
  })

  it.each(Object.entries(samples).filter(([, { secrets }]) => secrets?.[0] === 'jdbcSource'))(
    'cannot exist for a database of type %s: variables are refused in the hostname',
    async (type, sample) => {
      const own = { ...sample.own, jdbcSource: { ...(sample.own['jdbcSource'] as object), hostname: '${HOST}' } }
      const { body } = await owner
        .post('/data-pipelines')
        .send(pipelineBody(schema, { type, ...own }))
        .expect(400)
      expect(body.errors).toMatchObject([{ pointer: '/jdbcSource/hostname' }])
    },
  )

  it('is not sent by a look-up after the variable has changed', async () => {
    const name = newName()
    await set(name, meant.host)
    const url = `http://\${${name}}`
    const own = { content: 'DATA_VALUES', dataSets: ['BfMAe6Itzgt'], orgUnits: ['ImspTQPwCqd'], periods: ['202601'] }
    const uid = await save({ type: 'SOURCE_SYSTEM_C', apiSource: { url, authToken: token }, ...own })
    await set(name, evil.host)
    for (const asked of [{}, { url }]) {
      const { body } = await owner.post(`/data-pipelines/${uid}/lookups/data-elements`).send(asked).expect(422)
      expect(body).toMatchObject({ code: 'secret-for-other-address' })
    }
    expect(evil.seen).toEqual([])
  })
})
