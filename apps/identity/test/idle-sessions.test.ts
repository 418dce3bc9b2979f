import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import { sql } from 'kysely'
import type { TokenPair } from '@sluice/contracts'
import { runMaintenanceOnce } from '../src/maintenance/maintenance.ts'
import { startService, type Service } from './app-under-test.ts'

let service: Service
beforeAll(async () => {
  service = await startService({ SESSION_IDLE_HOURS: 8 })
})
afterAll(() => service.stop())

const sessionOf = ({ accessToken }: TokenPair) => decodeJwt(accessToken)['sid'] as string
const refresh = ({ refreshToken }: TokenPair) => service.http.post('/api/v1/auth/refresh').send({ refreshToken })
const setIdleMinutes = (tokens: TokenPair, minutes: number) =>
  sql`update sessions set last_used_at = now() - make_interval(mins => ${minutes}) where uid = ${sessionOf(tokens)}`.execute(
    service.db,
  )
const endOf = async (tokens: TokenPair) =>
  (await sql`select end_reason from sessions where uid = ${sessionOf(tokens)}`.execute(service.db)).rows[0]

it('a session stays open while it is refreshed in time, and ends otherwise', async () => {
  const { tokens } = await service.as([])
  await setIdleMinutes(tokens, 8 * 60 - 1)
  const { body: next } = await refresh(tokens).expect(200)
  await setIdleMinutes(next, 8 * 60 - 1)
  const { body: last } = await refresh(next).expect(200)
  await setIdleMinutes(last, 8 * 60)
  await refresh(last).expect(401)
  await service.withToken(last.accessToken).get('/users/me').expect(401)
})

it('an idle session is in no session list and cannot be ended again', async () => {
  const person = await service.as([])
  const other = await service.signIn(person.username)
  await setIdleMinutes(other, 8 * 60)
  expect((await person.get('/users/me/sessions').expect(200)).body).toHaveLength(1)
  await person.delete(`/users/me/sessions/${sessionOf(other)}`).expect(404)
})

it('maintenance ends idle sessions only', async () => {
  const person = await service.as([])
  const other = await service.signIn(person.username)
  await setIdleMinutes(other, 8 * 60)
  await runMaintenanceOnce(service.db)
  expect(await endOf(other)).toEqual({ end_reason: 'IDLE' })
  expect(await endOf(person.tokens)).toEqual({ end_reason: null })
  await person.get('/users/me').expect(200)
})

it('a session keeps the idle timeout that was set when it was opened', async () => {
  const { tokens } = await service.as([])
  await sql`update sessions set idle_hours = 1 where uid = ${sessionOf(tokens)}`.execute(service.db)
  await setIdleMinutes(tokens, 61)
  await refresh(tokens).expect(401)
})
