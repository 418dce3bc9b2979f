import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { goodPassword, startService, userBody, type Service } from './app-under-test.ts'

let service: Service
let admin: Awaited<ReturnType<Service['as']>>
beforeAll(async () => {
  service = await startService()
  admin = await service.as(['ROLE_SUPER_ADMIN'])
})
afterAll(() => service.stop())

const userOf = async (uid: string) =>
  (
    await sql<{
      id: number
      status: string
      roles: string[]
    }>`select id, status, roles from users where uid = ${uid}`.execute(service.db)
  ).rows[0]!

/** Locks the row of a user, makes the change, and commits once every request of `during` waits for the row. */
async function whileHeld<T>(uid: string, change: string, during: () => Promise<T>[]): Promise<T[]> {
  let sent: Promise<T>[] = []
  await service.db.transaction().execute(async (trx) => {
    await sql`select from users where uid = ${uid} for update`.execute(trx)
    sent = during()
    for (const until = Date.now() + 20_000; Date.now() < until; ) {
      const { rows } = await sql<{ waiting: number }>`
        select count(*)::int as waiting from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`.execute(service.db)
      if (rows[0]!.waiting >= sent.length) break
    }
    await sql.raw(change).execute(trx)
  })
  return Promise.all(sent)
}

describe('a user who loses a role during a request', () => {
  it('cannot restore their own access', async () => {
    const deactivated = await service.as(['ROLE_MANAGE_USER'], admin.client)
    const answers = await whileHeld(
      deactivated.uid,
      `update users set status = 'INACTIVE' where uid = '${deactivated.uid}'`,
      () =>
        Array.from({ length: 5 }, async () =>
          deactivated.put(`/users/${deactivated.uid}/status`).send({ status: 'ACTIVE' }),
        ),
    )
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401])
    expect((await userOf(deactivated.uid)).status).toBe('INACTIVE')
  })

  it('cannot grant the lost roles to themselves or to others', async () => {
    const demoted = await service.as(['ROLE_MANAGE_USER', 'ROLE_SEE_VIEW'], admin.client)
    const other = await service.user({ client: admin.client })
    const auths = ['ROLE_MANAGE_USER', 'ROLE_SEE_VIEW']
    const change = `update users set roles = '{ROLE_MANAGE_USER}' where uid = '${demoted.uid}'`
    const answers = await whileHeld(demoted.uid, change, () => [
      (async () =>
        demoted.put(`/users/${demoted.uid}`).send(userBody({ username: demoted.username, auths } as never)))(),
      (async () => demoted.put(`/users/${other.uid}`).send(userBody({ auths } as never)))(),
      (async () => demoted.post('/users').send(userBody({ auths, password: goodPassword } as never)))(),
    ])
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401])
    expect((await userOf(demoted.uid)).roles).toEqual(['ROLE_MANAGE_USER'])
    expect((await userOf(other.uid)).roles).toEqual([])
  })

  it('cannot create an API token from a session that is ending', async () => {
    const victim = await service.as(['ROLE_SEE_VIEW'], admin.client)
    const { id } = await userOf(victim.uid)
    const change = `update sessions set ended_at = now(), end_reason = 'USER_CHANGED' where user_id = ${id}`
    const body = {
      name: 'for ever',
      roles: ['ROLE_SEE_VIEW'],
      expires: new Date(Date.now() + 86_400_000).toISOString(),
    }
    const answers = await whileHeld(victim.uid, change, () => [
      (async () => victim.post('/users/me/api-tokens').send({ ...body, password: goodPassword }))(),
    ])
    expect(answers[0]!.status).toBe(401)
    const { rows } = await sql`select from api_tokens where user_id = ${id}`.execute(service.db)
    expect(rows).toEqual([])
  })

  it('does not deadlock with another user when both edit each other', async () => {
    const one = await service.as(['ROLE_MANAGE_USER'], admin.client)
    const two = await service.as(['ROLE_MANAGE_USER'], admin.client)
    const rename = (by: typeof one, whom: typeof two) =>
      by.put(`/users/${whom.uid}`).send(userBody({ username: whom.username, auths: ['ROLE_MANAGE_USER'] }))
    for (let round = 0; round < 5; round++) {
      const answers = await Promise.all([rename(one, two), rename(two, one)])
      expect(answers.map(({ status }) => status)).toEqual([200, 200])
    }
  })
})
