import { generateKeyPairSync } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { decodeJwt, exportJWK, SignJWT } from 'jose'
import { sql } from 'kysely'
import { startService, type Service } from '../app-under-test.ts'

let service: Service
let token: string
let attacker: Server
let requestCount = 0
beforeAll(async () => {
  service = await startService()
  token = (await service.as(['ROLE_SEE_VIEW'])).tokens.accessToken
  attacker = createServer((_request, response) => {
    requestCount++
    response.end('{"keys":[]}')
  })
  await new Promise<void>((listening) => attacker.listen(0, '127.0.0.1', listening))
})
afterAll(async () => {
  await new Promise((closed) => attacker.close(closed))
  await service.stop()
})

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const signed = (header: Record<string, unknown>) =>
  new SignJWT(decodeJwt(token)).setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', ...header }).sign(privateKey)

it('refuses key ids that are paths, SQL or of the wrong type', async () => {
  const ids = [
    '../../../etc/passwd',
    '/dev/null',
    "x' or '1'='1",
    "'; drop table signing_keys; --",
    'a'.repeat(4000),
    '%00',
    '*',
    {},
    [],
    7,
    null,
    true,
  ]
  for (const kid of ids)
    await service
      .withToken(await signed({ kid }))
      .get('/users/me')
      .expect(401)
  await service.withToken(token).get('/users/me').expect(200)
})

it('refuses keys embedded in the token header and does not fetch the URLs in it', async () => {
  const { port } = attacker.address() as AddressInfo
  const url = `http://127.0.0.1:${port}/keys`
  const jwk = await exportJWK(publicKey)
  for (const header of [
    { jwk },
    { jku: url },
    { x5u: url },
    { jku: url, kid: 'mine' },
    { jwk, kid: 'mine' },
    { x5c: ['MIIB'] },
  ])
    await service
      .withToken(await signed(header))
      .get('/users/me')
      .expect(401)
  expect(requestCount).toBe(0)
})

it('does not query the database for every unknown key id', async () => {
  const scans = async () => {
    await sql`select pg_stat_clear_snapshot()`.execute(service.db)
    const { rows } = await sql<{ scans: number }>`
      select seq_scan + coalesce(idx_scan, 0) as scans from pg_stat_user_tables where relname = 'signing_keys'`.execute(
      service.db,
    )
    return rows[0]!.scans
  }
  const before = await scans()
  for (let index = 0; index < 40; index++)
    await service
      .withToken(await signed({ kid: `made-up-${index}` }))
      .get('/users/me')
      .expect(401)
  await new Promise((resolve) => setTimeout(resolve, 1500))
  expect((await scans()) - before).toBeLessThan(10)
})
