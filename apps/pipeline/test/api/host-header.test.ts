import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { startService, type Service } from './app-under-test.ts'

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service?.stop())

it('returns 421 for a request to another host, except for health and metrics', async () => {
  const statusAt = async (path: string, host: string) => (await service.http.get(path).set('host', host)).status
  expect(await statusAt('/openapi.json', 'localhost:3002')).toBe(200)
  for (const path of ['/openapi.json', '/docs', '/api/v1/schemas'])
    expect([path, await statusAt(path, 'rebound.example')]).toEqual([path, 421])
  expect(await statusAt('/health/live', '10.1.2.3')).toBe(200)
  expect(await statusAt('/metrics', '10.1.2.3')).toBe(200)
})
