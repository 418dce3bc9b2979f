import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify, SignJWT, generateKeyPair, type JSONWebKeySet } from 'jose'
import { sql } from 'kysely'
import type { TokenPair } from '@sluice/contracts'
import { auditOf, goodPassword, startService, userBody, type Service } from './app-under-test.ts'

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

const login = (username: string, password: string) =>
  service.http.post('/api/v1/auth/login').send({ username, password })

describe('POST /auth/login', () => {
  it('returns tokens of a new session, for a username in any case and width', async () => {
    const { username, uid } = await service.as([])
    const { body } = await login(username.toUpperCase(), goodPassword).expect(200).expect('cache-control', 'no-store')
    const tokens = body as TokenPair
    expect(tokens).toMatchObject({
      tokenType: 'Bearer',
      expiresIn: 300,
      refreshToken: expect.stringMatching(/^slr_[\w-]{43}$/),
    })
    const session = await service.withToken(tokens.accessToken).get('/session').expect(200)
    expect(session.body.activeUser.id).toBe(uid)
    await login(username.replace('u', 'ｕ'), goodPassword).expect(200)
  })

  it('returns the same 401 for every reason, and audits the reason', async () => {
    const client = await service.client()
    const disabled = await service.client({ disabled: true })
    const refused = {
      'wrong password': await service.user({ client }),
      'status INACTIVE': await service.user({ client, status: 'INACTIVE' }),
      'no password': await service.user({ client, status: 'INVITATION' }),
      'signs in elsewhere': await service.user({ client, ssoAuth: true }),
      'client disabled': await service.user({ client: disabled }),
    }
    const unknown = await login('nobody-of-that-name', goodPassword).expect(401)
    const same = { ...unknown.body, requestId: expect.any(String) }
    for (const [outcome, { username, uid, client }] of Object.entries(refused)) {
      const answer = await login(username, outcome === 'wrong password' ? 'not-the-right-one' : goodPassword).expect(
        401,
      )
      expect(answer.body).toEqual(same)
      const rows = await auditOf(service.db, uid)
      expect(rows).toEqual([{ operation: 'auth.login', actor: uid, client, details: { outcome } }])
    }
  })

  it('lists all violations of the contract, including unknown fields', async () => {
    const { body } = await service.http.post('/api/v1/auth/login').send({ username: '', remember: true }).expect(400)
    expect(body.errors.map(({ pointer }: { pointer: string }) => pointer).toSorted()).toEqual([
      '/password',
      '/remember',
      '/username',
    ])
  })

  it('returns 400 for a NUL character', async () => {
    await login('ada\0', goodPassword).expect(400)
  })

  it('audits the session that it opened', async () => {
    const { uid, tokens, client } = await service.as([])
    const { sid } = JSON.parse(Buffer.from(tokens.accessToken.split('.')[1]!, 'base64url').toString())
    expect(await auditOf(service.db, uid)).toEqual([
      { operation: 'auth.login', actor: uid, client, details: { outcome: 'signed in', session: sid } },
    ])
  })

  it('opens a session whose tokens are refused after the logout', async () => {
    const caller = await service.as([])
    await caller.post('/auth/logout').expect(204)
    await caller.get('/users/me').expect(401)
    await service.http.post('/api/v1/auth/refresh').send({ refreshToken: caller.tokens.refreshToken }).expect(401)
  })
})

describe('an access token', () => {
  it('verifies with the published keys', async () => {
    const { tokens, uid, client } = await service.as([])
    const { body, headers } = await service.http.get('/.well-known/jwks.json').expect(200)
    expect(headers['cache-control']).toBe('public, max-age=300')
    expect(body.keys).toEqual([
      {
        kty: 'EC',
        crv: 'P-256',
        alg: 'ES256',
        use: 'sig',
        kid: expect.any(String),
        x: expect.any(String),
        y: expect.any(String),
      },
    ])
    const { payload } = await jwtVerify(tokens.accessToken, createLocalJWKSet(body as JSONWebKeySet), {
      typ: 'at+jwt',
      algorithms: ['ES256'],
    })
    expect(payload).toMatchObject({
      iss: 'http://localhost:3001',
      aud: 'sluice',
      sub: uid,
      tenant: client,
      client_id: 'first-party',
    })
    expect(payload.exp! - payload.iat!).toBe(300)
  })

  it('is refused if its signature has another key or algorithm', async () => {
    const { tokens } = await service.as([])
    const { kid } = decodeProtectedHeader(tokens.accessToken)
    const claims = JSON.parse(Buffer.from(tokens.accessToken.split('.')[1]!, 'base64url').toString())
    const { privateKey } = await generateKeyPair('ES256')
    const forged = (header: object) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', ...header }).sign(privateKey)
    const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
    const none = `${encode({ alg: 'none', typ: 'at+jwt' })}.${encode(claims)}.`
    for (const token of [await forged({ kid }), await forged({ kid: "' or 1=1" }), await forged({}), none])
      await service.withToken(token).get('/users/me').expect(401)
  })

  it('is refused after its user is deactivated, its organisation disabled or its role removed', async () => {
    const inactive = await service.as([])
    await sql`update users set status = 'INACTIVE' where uid = ${inactive.uid}`.execute(service.db)
    await inactive.get('/users/me').expect(401)

    const orphan = await service.as([])
    await sql`update clients set disabled = true where uid = ${orphan.client}`.execute(service.db)
    await orphan.get('/users/me').expect(401)

    const admin = await service.as(['ROLE_SUPER_ADMIN'])
    const demoted = await service.as(['ROLE_SEE_VIEW', 'ROLE_MANAGE_USER'])
    await admin
      .put(`/users/${demoted.uid}`)
      .send(userBody({ auths: ['ROLE_SEE_VIEW'] }))
      .expect(200)
    await demoted.get('/users/me').expect(401)
    await service.http.post('/api/v1/auth/refresh').send({ refreshToken: demoted.tokens.refreshToken }).expect(401)
  })
})
