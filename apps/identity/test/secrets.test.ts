import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { clientBody, startService, userBody, type Service } from './app-under-test.ts'

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

it('no password, hash, token or key is in any answer, the audit or the log', async () => {
  const password = 'a-secret-nobody-should-read'
  const admin = await service.as(['ROLE_SUPER_ADMIN'])
  const texts: string[] = []
  const keep = async (asked: PromiseLike<{ text: string; headers: object }>) => {
    const { text, headers } = await asked
    texts.push(text, JSON.stringify(headers))
  }
  const sent = userBody({ password })
  await keep(admin.post('/users').send(sent))
  const { body } = await admin.get(`/users?filter=username:eq:${sent.username}`)
  await keep(admin.put(`/users/${body[0].id}`).send({ ...sent, password: `${password}-2` }))
  for (const path of ['/users', '/users/me', '/clients', '/session', `/users/${body[0].id}`])
    await keep(admin.get(path))
  await keep(admin.post('/users').send(userBody({ password: `${password}-3`, username: sent.username })))
  await keep(admin.post('/users').send({ ...userBody({ password: `${password}-4` }), surprise: password }))
  await keep(admin.post('/clients').send(clientBody()))
  const login = (word: string) =>
    service.http.post('/api/v1/auth/login').send({ username: sent.username, password: word })
  await keep(login(`${password}-wrong`))
  const { refreshToken, accessToken } = (await login(`${password}-2`).expect(200)).body
  await keep(service.http.post('/api/v1/auth/refresh').send({ refreshToken: 'slr_guessed-guessed-guessed' }))
  await keep(service.bearing(accessToken).get('/users/me'))
  for (const path of ['/openapi.json', '/.well-known/jwks.json', '/metrics', '/health/ready'])
    await keep(service.http.get(path))

  const audit = await sql<{ row: string }>`select a::text as row from audit a`.execute(service.db)
  const seen = [...texts, ...service.lines, ...audit.rows.map(({ row }) => row)].join('\n')
  expect(audit.rows.length).toBeGreaterThan(5)
  for (const secret of [password, '$argon2', refreshToken, accessToken, '"d":', 'PRIVATE KEY'])
    expect(seen).not.toContain(secret)
})

it('private keys are sealed in the database', async () => {
  await service.http.get('/.well-known/jwks.json').expect(200)
  const { rows } = await sql<{
    private_key: string
    public_jwk: object
  }>`select private_key, public_jwk from signing_keys`.execute(service.db)
  expect(rows).toHaveLength(1)
  expect(rows[0]!.private_key).toMatch(/^test\.[\w-]+\.[\w-]+$/)
  expect(rows[0]!.public_jwk).not.toHaveProperty('d')
})
