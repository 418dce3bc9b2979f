import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import type { ApiToken, Role } from '@sluice/contracts'
import { runMaintenanceOnce } from '../src/maintenance/maintenance.ts'
import { isApiToken } from '../src/sign-in/tokens/api-tokens.ts'
import { auditOf, goodPassword, startService, type Service } from './app-under-test.ts'
import { totpCode } from './enrol-second-factor.ts'

let service: Service
beforeAll(async () => {
  service = await startService({ ADMIN_SETS_PASSWORDS: true })
})
afterAll(() => service.stop())

type Person = Awaited<ReturnType<Service['as']>>

const own = '/users/me/api-tokens'
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()
async function make(person: Person, roles: Role[] = [], changes: object = {}) {
  const { body } = await person
    .post(own)
    .send({ name: 'Nightly', roles, expires: inDays(30), password: goodPassword, ...changes })
    .expect(201)
  return { id: body.id as string, text: body.token as string, ...service.withToken(body.token) }
}
const listed = async (person: Person): Promise<ApiToken[]> => (await person.get(own).expect(200)).body

describe('API token management', () => {
  it('shows a new token once and stores only its hash', async () => {
    const person = await service.as(['ROLE_MANAGE_USER'])
    const { id, text } = await make(person, ['ROLE_MANAGE_USER'])
    expect(text).toMatch(/^sluice_[\w-]{49}$/)
    const [token] = await listed(person)
    expect(token).toMatchObject({ id, name: 'Nightly', roles: ['ROLE_MANAGE_USER'], usable: true })
    expect(token).not.toHaveProperty('token')
    const { rows } = await sql<{ row: string }>`
      select t::text as row from api_tokens t union all select a::text from audit a`.execute(service.db)
    expect([...rows.map(({ row }) => row), ...service.lines].join('\n')).not.toContain(text)
    expect((await auditOf(service.db, person.uid)).at(-1)!.details).toMatchObject({ apiToken: { id, name: 'Nightly' } })
  })

  it('rejects a mistyped token by its checksum', async () => {
    const { text } = await make(await service.as([]))
    expect(isApiToken(text)).toBe(true)
    const other = text[20] === 'a' ? 'b' : 'a'
    for (const wrong of ['', 'sluice_', `${text}x`, text.slice(0, -1), `${text.slice(0, 20)}${other}${text.slice(21)}`])
      expect(isApiToken(wrong)).toBe(false)
  })

  it('grants a token its own roles, limited to the current roles of its user', async () => {
    const admin = await service.as(['ROLE_SUPER_ADMIN'])
    const person = await service.as(['ROLE_MANAGE_USER', 'ROLE_MANAGE_CLIENT'])
    const [none, users] = [await make(person), await make(person, ['ROLE_MANAGE_USER'])]
    await none.get('/users/me').expect(200)
    await none.get('/users').expect(403)
    await users.get('/users').expect(200)
    await users.get('/clients').expect(403)
    const { body } = await admin.get(`/users/${person.uid}`)
    await admin
      .put(`/users/${person.uid}`)
      .send({ ...body, auths: ['ROLE_MANAGE_CLIENT'] })
      .expect(200)
    await users.get('/users').expect(403)
    await users.get('/users/me').expect(200)
  })

  it('reports which roles of a token are effective now', async () => {
    const client = await service.client({ routesEnabled: true })
    const person = await service.as(['ROLE_MANAGE_USER', 'ROLE_SEE_ROUTE'], client)
    await make(person, ['ROLE_MANAGE_USER', 'ROLE_SEE_ROUTE'])
    const effective = async () => (await person.get(own).expect(200)).body[0].effectiveRoles
    expect(await effective()).toEqual(['ROLE_MANAGE_USER', 'ROLE_SEE_ROUTE'])
    await sql`update clients set routes_enabled = false where uid = ${client}`.execute(service.db)
    expect(await effective()).toEqual(['ROLE_MANAGE_USER'])
    await sql`update users set roles = '{ROLE_SEE_ROUTE}' where uid = ${person.uid}`.execute(service.db)
    expect(await effective()).toEqual([])
  })

  it('rejects a token for operations that must be done in person', async () => {
    const token = await make(await service.as([]))
    for (const path of [own, '/users/me/sessions', '/users/me/second-factor']) await token.get(path).expect(403)
    await token
      .post(own)
      .send({ name: 'More', roles: [], expires: inDays(1), password: goodPassword })
      .expect(403)
    await token.post('/auth/logout').expect(403)
  })

  it('rejects a new token with a role that its user lacks, an expiry out of range or an empty name', async () => {
    const person = await service.as(['ROLE_MANAGE_VIEW'])
    const send = (changes: object) =>
      person.post(own).send({ name: 'Nightly', roles: [], expires: inDays(1), password: goodPassword, ...changes })
    await send({ roles: ['ROLE_SEE_VIEW'] }).expect(201)
    await send({ roles: ['ROLE_SUPER_ADMIN'] }).expect(403)
    await send({ expires: inDays(-1) }).expect(422)
    await send({ expires: inDays(367) }).expect(422)
    await send({ expires: inDays(365) }).expect(201)
    await send({ name: '' }).expect(400)
  })

  it('rejects a token after it expires or is deleted, and after its user is deactivated or deleted, its organisation disabled or its password changed', async () => {
    const admin = await service.as(['ROLE_SUPER_ADMIN'])
    const about = { name: 'X', email: 'x@example.org', ssoAuth: false, startPage: 'DEFAULT' }
    const ends: Record<string, (person: Person, token: { id: string }) => PromiseLike<unknown>> = {
      expiry: (_person, { id }) => sql`update api_tokens set expires_at = now() where uid = ${id}`.execute(service.db),
      status: ({ uid }) => admin.put(`/users/${uid}/status`).send({ status: 'INACTIVE' }).expect(200),
      client: ({ client }) => sql`update clients set disabled = true where uid = ${client}`.execute(service.db),
      user: ({ uid }) => admin.delete(`/users/${uid}`).expect(204),
      own: (person, { id }) => person.delete(`${own}/${id}`).expect(204),
      admin: ({ uid }, { id }) => admin.delete(`/users/${uid}/api-tokens/${id}`).expect(204),
      'own password': (person) =>
        person
          .put('/users/me/password')
          .send({ currentPassword: goodPassword, newPassword: 'another-fine-phrase' })
          .expect(204),
      password: ({ uid, username }) =>
        admin
          .put(`/users/${uid}`)
          .send({ ...about, username, password: 'another-fine-phrase' })
          .expect(200),
    }
    for (const [name, end] of Object.entries(ends)) {
      const person = await service.as([])
      const token = await make(person)
      await token.get('/users/me').expect(200)
      await end(person, token)
      expect([name, (await token.get('/users/me')).status]).toEqual([name, 401])
    }
  })

  it('keeps a token valid after a sign-out, and rejects it after its user was deactivated and activated again', async () => {
    const admin = await service.as(['ROLE_SUPER_ADMIN'])
    const person = await service.as([])
    const token = await make(person)
    await person.delete('/users/me/sessions').expect(204)
    await person.post('/auth/logout').expect(204)
    await token.get('/users/me').expect(200)
    for (const status of ['INACTIVE', 'ACTIVE'])
      await admin.put(`/users/${person.uid}/status`).send({ status }).expect(200)
    await token.get('/users/me').expect(401)
  })

  it('records the last use of a token at most once a minute', async () => {
    const person = await service.as([])
    const token = await make(person)
    expect((await listed(person))[0]).not.toHaveProperty('lastUsed')
    const used = async () => {
      await token.get('/users/me').expect(200)
      return (await listed(person))[0]!.lastUsed
    }
    const first = await used()
    expect(first).toBeDefined()
    expect(await used()).toBe(first)
    await sql`update api_tokens set last_used_at = now() - interval '61 seconds' where uid = ${token.id}`.execute(
      service.db,
    )
    expect(Date.parse((await used())!)).toBeGreaterThanOrEqual(Date.parse(first!))
  })

  it('limits a user to 100 tokens, even with concurrent requests', async () => {
    const person = await service.as([])
    await sql`
      insert into api_tokens (user_id, name, roles, token_hash, expires_at)
      select u.id, 'Old', '{}', sha256(convert_to(u.uid::text || n, 'UTF8')), now() + interval '1 day'
      from users u, generate_series(1, 97) n where u.uid = ${person.uid}`.execute(service.db)
    // Single sign-on users need no password here, whose check takes long.
    await sql`update users set sso_auth = true, password_hash = null where uid = ${person.uid}`.execute(service.db)
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => person.post(own).send({ name: 'One', roles: [], expires: inDays(1) })),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 201, 201, 422, 422, 422, 422, 422])
    expect(await listed(person)).toHaveLength(100)
  })

  it('requires the password or a second-factor code to create a token', async () => {
    const person = await service.as([])
    const send = (proof: object) => person.post(own).send({ name: 'Mine', roles: [], expires: inDays(1), ...proof })
    expect((await send({}).expect(422)).body.errors[0].pointer).toBe('/password')
    expect((await send({ password: 'not-my-password' }).expect(422)).body.errors[0].pointer).toBe('/password')
    await send({ code: '000000' }).expect(422)
    await send({ password: goodPassword }).expect(201)
    const { body: begun } = await person.post('/users/me/second-factor').send({ password: goodPassword }).expect(200)
    await person
      .put('/users/me/second-factor')
      .send({ code: totpCode(begun.secret) })
      .expect(200)
    await send({}).expect(422)
    await send({ code: totpCode(begun.secret, 1) }).expect(201)
    expect(await listed(person)).toHaveLength(2)
    expect(JSON.stringify(await auditOf(service.db, person.uid))).not.toContain(goodPassword)
  })

  it('requires a recent sign-in to create a token for a user without a password or second factor', async () => {
    const person = await service.as([])
    await sql`update users set sso_auth = true, password_hash = null where uid = ${person.uid}`.execute(service.db)
    const send = () => person.post(own).send({ name: 'Mine', roles: [], expires: inDays(1) })
    await send().expect(201)
    await sql`
      update sessions set created_at = now() - interval '16 minutes'
      where user_id = (select id from users where uid = ${person.uid})`.execute(service.db)
    expect((await send().expect(422)).body.errors[0].detail).toContain('Sign in again')
  })

  it('deletes a token a month after it expired', async () => {
    const person = await service.as([])
    const { id } = await make(person)
    await make(person)
    await sql`update api_tokens set expires_at = now() - interval '31 days' where uid = ${id}`.execute(service.db)
    await runMaintenanceOnce(service.db)
    expect((await listed(person)).map((token) => token.id === id)).toEqual([false])
  })
})

describe('an administrator', () => {
  it('lists and deletes tokens only of users whose roles the administrator also holds', async () => {
    const admin = await service.as(['ROLE_MANAGE_USER', 'ROLE_SEE_VIEW'])
    const weaker = await service.as(['ROLE_SEE_VIEW'], admin.client)
    const stronger = await service.as(['ROLE_MANAGE_VIEW'], admin.client)
    const token = await make(weaker)
    const others = await make(stronger)
    expect((await admin.get(`/users/${weaker.uid}/api-tokens`).expect(200)).body).toEqual(await listed(weaker))
    await admin.get(`/users/${stronger.uid}/api-tokens`).expect(403)
    await admin.delete(`/users/${stronger.uid}/api-tokens/${others.id}`).expect(403)
    await admin.delete(`/users/${weaker.uid}/api-tokens/${others.id}`).expect(404)
    await admin.delete(`/users/${weaker.uid}/api-tokens/${token.id}`).expect(204)
    await token.get('/users/me').expect(401)
    await others.get('/users/me').expect(200)
    await weaker.delete(`${own}/${others.id}`).expect(404)
  })
})
