import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { hashingConcurrency } from '../src/sign-in/password/password-hashing.ts'
import { countPasswordAttempt } from '../src/sign-in/throttle/throttle.ts'
import { auditOf, goodPassword, startService, type Service } from './app-under-test.ts'

let service: Service
let client: string
beforeAll(async () => {
  service = await startService()
  client = await service.client()
})
afterAll(() => service.stop())

beforeEach(async () => {
  await sql`delete from sign_in_attempts`.execute(service.db)
})

/** An address of one of four networks. */
const addressOf = (index: number): string => `203.0.${index % 4}.${index}`

const createUsers = (count: number) => Promise.all(Array.from({ length: count }, () => service.user({ client })))

const logIn = (username: string, index: number, password = goodPassword) =>
  service.http
    .post('/api/v1/auth/login')
    .set('x-forwarded-for', addressOf(index))
    .set('user-agent', `browser ${index}`)
    .send({ username, password })

async function sessionsOf(uid: string) {
  const { rows } = await sql<{ uid: string; address: string; user_agent: string; tokens: number }>`
    select s.uid, s.address, s.user_agent,
      (select count(*) from refresh_tokens t where t.session_id = s.id)::integer as tokens
    from sessions s join users u on u.id = s.user_id where u.uid = ${uid}`.execute(service.db)
  return rows
}

/** The counted failures of the throttle keys that start with `prefix`. */
async function readFailures(prefix: string) {
  const { rows } = await sql<{ key: string; failures: number }>`
    select key, failures from sign_in_attempts where key like ${`${prefix}%`}`.execute(service.db)
  return Object.fromEntries(rows.map((row) => [row.key, row.failures]))
}

/** Waits until a prepared statement of this name waits for a lock. */
async function untilBlocked(statement: string): Promise<void> {
  for (;;) {
    const { rows } = await sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
        and query like ${`%prepared ${statement}*%`}`.execute(service.db)
    if (rows.length > 0) return
    await sleep(5)
  }
}

/** Occupies all places for password hashing, and the given number of places in its queue, until the work is done. */
async function whileHashing<T>(queued: number, work: () => Promise<T>): Promise<T> {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const held: Promise<void>[] = []
  while (hashingConcurrency.waiting() < queued) held.push(hashingConcurrency(() => released))
  try {
    return await work()
  } finally {
    release()
    await Promise.all(held)
  }
}

describe('concurrent sign-ins', () => {
  it('get their own session, token and audit row, and leave no failures', async () => {
    await sql`
      insert into sign_in_attempts (key, failures, last_at, blocked_until)
      values ('network:203.0.1.0/24', 50, now(), '-infinity')`.execute(service.db)
    const users = await createUsers(30)
    const responses = await Promise.all(users.map(({ username }, index) => logIn(username, index).expect(200)))
    for (const [index, { uid }] of users.entries()) {
      const { body, headers } = responses[index]!
      const sessions = await sessionsOf(uid)
      expect(sessions).toMatchObject([{ address: addressOf(index), user_agent: `browser ${index}`, tokens: 1 }])
      const session = sessions[0]!.uid
      expect(JSON.parse(Buffer.from(body.accessToken.split('.')[1], 'base64url').toString())).toMatchObject({
        sub: uid,
        sid: session,
      })
      const { rows } = await sql`
        select operation, client, object, request_id, address, details from audit where actor = ${uid}`.execute(
        service.db,
      )
      expect(rows).toEqual([
        {
          operation: 'auth.login',
          client,
          object: uid,
          request_id: headers['x-request-id'],
          address: addressOf(index),
          details: { outcome: 'signed in', session },
        },
      ])
    }
    const { refreshToken } = responses[0]!.body
    await service.http.post('/api/v1/auth/refresh').send({ refreshToken }).expect(200)
    expect(await readFailures('account:')).toEqual({})
    expect(await readFailures('network:')).toEqual({
      'network:203.0.0.0/24': 0,
      'network:203.0.1.0/24': 50,
      'network:203.0.2.0/24': 0,
      'network:203.0.3.0/24': 0,
    })
  })

  it('do not exceed the limit of their network', async () => {
    await sql`
      insert into sign_in_attempts (key, failures, last_at, blocked_until)
      values ('network:203.0.0.0/24', 95, now(), '-infinity')`.execute(service.db)
    const users = await createUsers(12)
    const responses = await Promise.all(users.map(({ username }) => logIn(username, 4, 'not-the-right-one')))
    const statuses = responses.map(({ status }) => status)
    expect(statuses.filter((status) => status === 401)).toHaveLength(5)
    expect(statuses.filter((status) => status === 429)).toHaveLength(7)
    expect(Object.values(await readFailures('network:'))).toEqual([100])
    expect(Object.values(await readFailures('account:'))).toEqual([1, 1, 1, 1, 1])
  })

  it('do not exceed the limit of one account from many networks', async () => {
    const [user] = await createUsers(1)
    const responses = await Promise.all(
      Array.from({ length: 12 }, (_, index) => logIn(user!.username, index, 'not-the-right-one')),
    )
    const statuses = responses.map(({ status }) => status)
    expect(statuses.filter((status) => status === 401)).toHaveLength(5)
    expect(statuses.filter((status) => status === 429)).toHaveLength(7)
    expect(Object.values(await readFailures('account:'))).toEqual([5])
  })

  it('count failures from a network of an earlier session separately', async () => {
    const users = await createUsers(8)
    for (const [index, { username }] of users.slice(0, 4).entries()) await logIn(username, index).expect(200)
    await Promise.all(users.map(({ username }, index) => logIn(username, index, 'not-the-right-one').expect(401)))
    const failures = await readFailures('account:')
    expect(Object.values(failures)).toEqual(users.map(() => 1))
    expect(Object.keys(failures).filter((key) => /@203\.0\.[0-3]\.0\/24$/.test(key))).toHaveLength(4)
    expect(Object.values(await readFailures('network:'))).toEqual([2, 2, 2, 2])
  })
})

describe('a sign-in', () => {
  it('is refused if the user is deactivated while the password is checked', async () => {
    const [user] = await createUsers(1)
    const { pending } = await service.db.transaction().execute(async (trx) => {
      await sql`update users set status = 'INACTIVE' where uid = ${user!.uid}`.execute(trx)
      const pending = Promise.resolve(logIn(user!.username, 1))
      await untilBlocked('lock-signing-in-with-password')
      return { pending }
    })
    expect((await pending).status).toBe(401)
    expect(await sessionsOf(user!.uid)).toEqual([])
    expect(await auditOf(service.db, user!.uid)).toMatchObject([{ details: { outcome: 'changed meanwhile' } }])
  })

  it.each([
    ['user', (uid: string) => sql`update users set name = 'Renamed' where uid = ${uid}`],
    [
      'organisation',
      (uid: string) => sql`select from clients where uid = (select client from users where uid = ${uid}) for update`,
    ],
  ])('waits for a transaction that changes its %s, and delays no other sign-in', async (_, change) => {
    const changing = await service.user({ client: await service.client() })
    const [other] = await createUsers(1)
    const { pending } = await service.db.transaction().execute(async (trx) => {
      await change(changing.uid).execute(trx)
      const pending = Promise.resolve(logIn(changing.username, 1).expect(200))
      await logIn(other!.username, 1).expect(200)
      return { pending }
    })
    await pending
    expect(await sessionsOf(changing.uid)).toHaveLength(1)
  })

  it('does not lock its network while it writes', async () => {
    const [slow, other] = await createUsers(2)
    await sql`
      create function hold_up() returns trigger language plpgsql as $$ begin
        perform pg_advisory_xact_lock(7);
        return new;
      end $$`.execute(service.db)
    await sql`create trigger hold_up before insert on audit for each row execute function hold_up()`.execute(service.db)
    const { pending } = await service.db.transaction().execute(async (trx) => {
      await sql`select pg_advisory_xact_lock(7)`.execute(trx)
      const pending = Promise.resolve(logIn(slow!.username, 1).expect(200))
      await untilBlocked('record-audit')
      await countPasswordAttempt(service.db, other!.username, addressOf(1))
      return { pending }
    })
    await pending
    await sql`drop trigger hold_up on audit`.execute(service.db)
  })

  it('returns 503 and counts no failure if the hashing queue is full', async () => {
    const [user] = await createUsers(1)
    const response = await whileHashing(64, () => logIn(user!.username, 1))
    expect([response.status, response.body.code]).toEqual([503, 'busy'])
    expect(Object.values(await readFailures('account:'))).toEqual([0])
    expect(Object.values(await readFailures('network:'))).toEqual([0])
    await logIn(user!.username, 1).expect(200)
  })
})
