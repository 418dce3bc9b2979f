import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { readConfig } from '../src/config.ts'
import { goodPassword, startService, type Service } from './app-under-test.ts'

let service: Service
beforeAll(async () => {
  service = await startService({ IDENTITY_PUBLIC_URL: 'https://id.example.org', ALLOWED_HOSTS: ['identity'] })
})
afterAll(() => service.stop())

const statusAt = async (path: string, host: string) => (await service.http.get(path).set('host', host)).status

describe('the Host header of a request', () => {
  it('is accepted if it is the public, a loopback or an allowed host', async () => {
    for (const host of ['id.example.org', 'localhost:3001', 'identity:3001'])
      expect([host, await statusAt('/.well-known/jwks.json', host)]).toEqual([host, 200])
  })

  it('causes a 421 response for any other host on every path', async () => {
    for (const path of ['/openapi.json', '/docs', '/.well-known/jwks.json', '/api/v1/session', '/nothing'])
      expect([path, await statusAt(path, 'rebound.example')]).toEqual([path, 421])
    const user = await service.as([])
    const { body } = await service.http
      .post('/api/v1/auth/login')
      .set('host', 'rebound.example')
      // Any caller can send this header, so it is ignored.
      .set('x-forwarded-host', 'id.example.org')
      .send({ username: user.username, password: goodPassword })
      .expect(421)
      .expect('content-type', /problem\+json/)
    expect(body.code).toBe('misdirected')
  })

  it('is ignored for health probes and metrics scrapers', async () => {
    for (const path of ['/health/live', '/health/ready', '/metrics'])
      expect([path, await statusAt(path, '10.1.2.3:3001')]).toEqual([path, 200])
  })

  it('cannot be allowed with a URL in ALLOWED_HOSTS', () => {
    expect(() => readConfig({ ALLOWED_HOSTS: 'http://identity:3001' })).toThrow('ALLOWED_HOSTS must contain host names')
  })
})
