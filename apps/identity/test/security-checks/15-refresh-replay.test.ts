import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import { sql } from 'kysely'
import type { TokenPair } from '@sluice/contracts'
import { connect } from '@sluice/database'
import type { DB } from '../../src/database.ts'
import { auditOf, goodPassword } from '../app-under-test.ts'
import { sendRequest, startInstallation, type Installation } from '../start-real-processes.ts'

let installation: Installation
let connection: ReturnType<typeof connect<DB>>
beforeAll(async () => {
  installation = await startInstallation({ identities: 2 })
  connection = connect<DB>(installation.identityDatabase, { name: 'identity-test' })
})
afterAll(async () => {
  await connection?.db.destroy()
  await installation?.[Symbol.asyncDispose]()
})

const signIn = async (): Promise<TokenPair> => {
  const body = { username: 'admin', password: goodPassword }
  return (await sendRequest(installation.identity[0]!, 'POST', '/auth/login', { body })).body
}
const refresh = ({ refreshToken }: TokenPair, by = 0) =>
  sendRequest(installation.identity[by]!, 'POST', '/auth/refresh', { body: { refreshToken } })
const outcomesOf = async ({ accessToken }: TokenPair) =>
  (await auditOf(connection.db, decodeJwt(accessToken)['sid'] as string)).map(({ details }) => details['outcome'])

describe('32 parallel uses of a refresh token', () => {
  it.each([1, 2])('succeed exactly once across %i processes and keep the session open', async (processes) => {
    for (let round = 0; round < 3; round++) {
      const tokens = await signIn()
      const answers = await Promise.all(Array.from({ length: 32 }, (_, index) => refresh(tokens, index % processes)))
      const accepted = answers.filter(({ status }) => status === 200)
      expect(accepted).toHaveLength(1)
      expect(answers.filter(({ status }) => status === 401)).toHaveLength(31)
      expect((await refresh(accepted[0]!.body, round % processes)).status).toBe(200)
      const outcomes = (await outcomesOf(tokens)).filter((outcome) => outcome !== 'refreshed')
      expect(outcomes).toEqual(Array.from({ length: 31 }, () => 'retried'))
    }
  })
})

describe('a replay of a refresh token', () => {
  it('returns 401 within the grace period and keeps the session open', async () => {
    const tokens = await signIn()
    const next = await refresh(tokens)
    expect((await refresh(tokens, 1)).status).toBe(401)
    expect((await refresh(next.body, 1)).status).toBe(200)
  })

  it('ends the token family in every process after the grace period and audits the reuse', async () => {
    const tokens = await signIn()
    const next = await refresh(tokens)
    await sql`
      update refresh_tokens set consumed_at = now() - interval '11 seconds' where consumed_at is not null`.execute(
      connection.db,
    )
    expect((await refresh(tokens, 1)).status).toBe(401)
    expect((await refresh(next.body)).status).toBe(401)
    for (const url of installation.identity)
      expect((await sendRequest(url, 'GET', '/users/me', { token: next.body.accessToken })).status).toBe(401)
    expect(await outcomesOf(tokens)).toEqual(['reused', 'ended'])
  })

  it('returns 401 to 32 parallel replays after the grace period and ends the token family', async () => {
    const tokens = await signIn()
    const next = await refresh(tokens)
    await sql`
      update refresh_tokens set consumed_at = now() - interval '11 seconds' where consumed_at is not null`.execute(
      connection.db,
    )
    const answers = await Promise.all(Array.from({ length: 32 }, (_, index) => refresh(tokens, index % 2)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]))
    expect((await refresh(next.body)).status).toBe(401)
  })
})
