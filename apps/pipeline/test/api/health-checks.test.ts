import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { keyRing } from '@sluice/database'
import { until } from '@sluice/testing/wait-until'
import type { Person } from '../join-shared-identity-service.ts'
import { brokenOpenapiRules } from './openapi-rules.ts'
import { schemaBody, startService, type Asking, type Service } from './app-under-test.ts'

let service: Service
let person: Person
let owner: Asking
beforeAll(async () => {
  service = await startService()
  const { id } = await service.identity.client()
  person = await service.identity.person(id, ['ROLE_MANAGE_SCHEMA'])
  owner = service.as(person)
})
afterAll(() => service?.stop())

describe('the health endpoint', () => {
  it('reports the database as DOWN during an outage, and UP after it', async () => {
    const parts = { database: 'UP', queue: 'UP', files: 'UP', secrets: 'UP', warehouse: 'UP', identity: 'UP' }
    await service.http.get('/health/ready').expect(200, { status: 'UP', parts })
    await service.databaseGate.shut()
    const { body, headers } = await service.http.get('/health/ready').expect(503)
    expect(body).toEqual({ status: 'DOWN', parts: { ...parts, database: 'DOWN' } })
    expect(headers['retry-after']).toBe('5')
    await service.http.get('/health/live').expect(200, { status: 'UP' })
    const refused = await owner.get('/schemas').expect(503)
    expect(refused.body).toMatchObject({ code: 'unavailable', detail: expect.stringContaining('database') })
    expect(refused.headers['retry-after']).toBe('5')
    await owner.post('/schemas').send(schemaBody()).expect(503)
    await service.databaseGate.open()
    await until(async () => (await service.http.get('/health/ready')).status === 200)
    await owner.get('/schemas').expect(200)
  })

  it('reports the identity service as DOWN, and stays ready without it', async () => {
    await service.identityGate.shut()
    const { body } = await service.http.get('/health/ready').expect(200)
    expect(body).toMatchObject({ status: 'UP', parts: { identity: 'DOWN' } })
    await service.identityGate.open()
  })
})

describe('a stored secret whose key is not in SECRET_KEYS', () => {
  it('causes 503, a log line with the key id, and health part secrets DOWN in a new instance', async () => {
    const { id: client } = await service.identity.client()
    const other = keyRing(`lost:${Buffer.alloc(32, 9).toString('base64')}`)
    const sealed = (role: string) => other.seal('x', `warehouses.${role}_password:${client}`)
    const passwords = { load_password: sealed('load'), read_password: sealed('read') }
    const row = { client, key: 'k'.repeat(20), ...passwords, provisioned_at: new Date() }
    await service.stack.db.insertInto('warehouses').values(row).execute()
    const asking = service.as(await service.identity.person(client, ['ROLE_MANAGE_SCHEMA']))
    const { id } = (await asking.post('/schemas').send(schemaBody()).expect(201)).body
    const { body } = await asking.get(`/schemas/${id}/tables`).expect(503)
    expect(body).toMatchObject({ code: 'unavailable', detail: expect.stringContaining('SECRET_KEYS') })
    expect(JSON.stringify(body)).not.toContain('lost')
    expect(service.log()).toContain('encrypted with key \\"lost\\"')
    const { http, close } = await service.serve()
    const { body: health } = await http.get('/health/ready').expect(200)
    expect(health).toMatchObject({ status: 'UP', parts: { secrets: 'DOWN', warehouse: 'UP' } })
    await close()
    await service.stack.db.deleteFrom('warehouses').where('client', '=', client).execute()
  })
})

describe('a request id', () => {
  it('is passed from the caller to the identity service, and is in the logs of both services', async () => {
    const { id } = await service.identity.client()
    const newcomer = service.as(await service.identity.person(id, ['ROLE_SEE_SCHEMA']))
    const requestId = 'journey:1.2-3'
    const { headers } = await newcomer.get('/schemas').set('X-Request-Id', requestId).expect(200)
    expect(headers['x-request-id']).toBe(requestId)
    const lines = (log: string) => log.split('\n').filter((line) => line.includes(requestId))
    await until(() => lines(service.identity.log()).length > 0)
    expect(JSON.parse(lines(service.identity.log())[0]!)).toMatchObject({ operation: 'lookups.standing', status: 200 })
    expect(JSON.parse(lines(service.log())[0]!)).toMatchObject({ operation: 'schemas.list', client: id, status: 200 })
  })

  it.each(['a b', 'x'.repeat(101), 'ü', '"quoted"', ''])('is replaced if it is invalid: %j', async (odd) => {
    const { headers } = await service.http.get('/health/live').set('X-Request-Id', encodeURI(odd).replaceAll('%', ' '))
    expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
  })
})

describe('metrics', () => {
  it('count responses by operation and status, without object ids', async () => {
    await owner.get('/schemas/7f3c1a52-9e0b-4d6f-8a11-2b3c4d5e6f70').expect(404)
    const { text, headers } = await service.http.get('/metrics').expect(200)
    expect(headers['content-type']).toMatch('text/plain')
    expect(text).toMatch(/http_request_duration_seconds_count\{[^}]*operation="schemas.read",status="404"[^}]*\} 1/)
    expect(text).toContain('nodejs_eventloop_lag_seconds')
    expect(text).not.toContain('7f3c1a52')
  })
})

describe('the API reference', () => {
  it('is valid OpenAPI 3.1 without unresolved references', async () => {
    const { body } = await service.http.get('/openapi.json').expect(200)
    expect(body.openapi).toBe('3.1.0')
    expect(brokenOpenapiRules(body)).toEqual([])
  })

  it('is rendered without requests to other hosts', async () => {
    const { text, headers } = await service.http.get('/docs').expect(200)
    expect(headers['content-security-policy']).toContain("default-src 'self'")
    const addresses = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => address!)
    expect(addresses).toHaveLength(3)
    for (const address of addresses) {
      expect(address).not.toMatch(/^(\w+:|\/)/)
      const asset = await service.http.get(`/${address}`).buffer(true).expect(200)
      expect(asset.headers['content-type']).toMatch(/javascript|css/)
      expect(asset.text).not.toMatch(/@import|url\((['"]?)https?:/)
    }
    const start = await service.http.get('/docs/start.js').expect(200)
    expect(start.text).toContain("url: 'openapi.json'")
  })
})

describe('a response', () => {
  it('has the security headers, and allows no other origin', async () => {
    const { headers } = await owner.get('/schemas').set('Origin', 'https://evil.example').expect(200)
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'strict-transport-security': expect.stringContaining('max-age=31536000'),
      'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      'cache-control': 'no-store',
    })
    expect(headers).not.toHaveProperty('access-control-allow-origin')
    expect(headers).not.toHaveProperty('x-powered-by')
  })
})
