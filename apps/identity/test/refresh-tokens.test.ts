import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import type { TokenPair } from '@sluice/contracts'
import { auditOf, startService, type Service } from './app-under-test.ts'

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

const refresh = (refreshToken: string) => service.http.post('/api/v1/auth/refresh').send({ refreshToken })
const graceIsOver = () =>
  sql`update refresh_tokens set consumed_at = consumed_at - interval '11 seconds' where consumed_at is not null`.execute(
    service.db,
  )
const sessionOf = ({ accessToken }: TokenPair): string =>
  JSON.parse(Buffer.from(accessToken.split('.')[1]!, 'base64url').toString()).sid

describe('a refresh token', () => {
  it('can be used repeatedly for new tokens of the same session until the session expires', async () => {
    const { tokens } = await service.as([])
    const second = (await refresh(tokens.refreshToken).expect(200)).body as TokenPair
    const third = (await refresh(second.refreshToken).expect(200)).body as TokenPair
    expect(sessionOf(third)).toBe(sessionOf(tokens))
    expect(third.refreshTokenExpires).toBe(tokens.refreshTokenExpires)
    await service.withToken(third.accessToken).get('/users/me').expect(200)

    await sql`update sessions set expires_at = now() where uid = ${sessionOf(third)}`.execute(service.db)
    await refresh(third.refreshToken).expect(401)
  })

  it('succeeds for exactly one of 16 concurrent uses, and keeps the session open', async () => {
    const { tokens } = await service.as([])
    const answers = await Promise.all(Array.from({ length: 16 }, () => refresh(tokens.refreshToken)))
    const accepted = answers.filter(({ status }) => status === 200)
    expect(accepted).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(15)
    await refresh(accepted[0]!.body.refreshToken).expect(200)
  })

  it('ends the session when it is used again later', async () => {
    const { tokens } = await service.as([])
    const thief = (await refresh(tokens.refreshToken).expect(200)).body as TokenPair
    await graceIsOver()
    await refresh(tokens.refreshToken).expect(401)
    await refresh(thief.refreshToken).expect(401)
    await service.withToken(thief.accessToken).get('/users/me').expect(401)
    const outcomes = (await auditOf(service.db, sessionOf(tokens))).map(({ details }) => details['outcome'])
    expect(outcomes).toEqual(['reused', 'ended'])
  })

  it('returns the same error if it is unknown, reused or belongs to an ended session', async () => {
    const { tokens, ...caller } = await service.as([])
    const unknown = await refresh('slr_never-heard-of-this-one').expect(401)
    await refresh(tokens.refreshToken).expect(200)
    const retried = await refresh(tokens.refreshToken).expect(401)
    await caller.post('/auth/logout').expect(204)
    const ended = await refresh(tokens.refreshToken).expect(401)
    for (const { body } of [retried, ended]) expect(body).toEqual({ ...unknown.body, requestId: expect.any(String) })
  })

  it('writes an audit entry on its first use in an hour, unless the sign-in was in that hour', async () => {
    const { tokens } = await service.as([])
    const { body: second } = await refresh(tokens.refreshToken).expect(200)
    await sql`update sessions set last_used_at = last_used_at - interval '1 hour' where uid = ${sessionOf(tokens)}`.execute(
      service.db,
    )
    const { body: third } = await refresh(second.refreshToken).expect(200)
    await refresh(third.refreshToken).expect(200)
    const rows = await auditOf(service.db, sessionOf(tokens))
    expect(rows).toMatchObject([{ operation: 'auth.refresh', details: { outcome: 'refreshed' } }])
  })

  it('is stored only as a hash', async () => {
    const { tokens } = await service.as([])
    const { rows } = await sql<{ row: string }>`select r::text as row from refresh_tokens r`.execute(service.db)
    expect(rows.map(({ row }) => row).join()).not.toContain(Buffer.from(tokens.refreshToken).toString('hex'))
    expect(rows.map(({ row }) => row).join()).not.toContain(tokens.refreshToken)
  })
})
