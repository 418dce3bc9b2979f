import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { hashing } from '../src/sign-in/hashing-queue.ts'
import { openingAtOnce, type OpenAtOnce } from '../src/sign-in/open-at-once.ts'
import { newRefreshToken } from '../src/sign-in/refresh-tokens.ts'
import { admitTry } from '../src/sign-in/throttle.ts'
import { auditOf, goodPassword, startService, type Service } from './app-under-test.ts'

/** Sign-ins that come at once, so that several of them are opened by one statement. */

let service: Service
let client: string
beforeAll(async () => {
  service = await startService()
  client = await service.client()
})
afterAll(() => service.stop())

const many = 30
const network = (at: number) => `203.0.${at % 4}.${at}`

const people = (count = many) => Promise.all(Array.from({ length: count }, () => service.user({ client })))
const login = (username: string, at: number, password = goodPassword) =>
  service.http
    .post('/api/v1/auth/login')
    .set('x-forwarded-for', network(at))
    .set('user-agent', `browser ${at}`)
    .send({ username, password })

/** Keeps the places busy at which passwords are checked, and so many waiting for one, until the work is done. */
async function whileChecking<T>(waiting: number, work: () => Promise<T>): Promise<T> {
  const { promise: over, resolve: end } = Promise.withResolvers<void>()
  const held: Promise<void>[] = []
  while (hashing.waiting() < waiting) held.push(hashing(() => over))
  try {
    return await work()
  } finally {
    end()
    await Promise.all(held)
  }
}

/** Makes tries at once: no password is checked before all of them wait for that, so that their sessions are opened together. */
async function atOnce<T>(tries: readonly PromiseLike<T>[]): Promise<T[]> {
  const { answers } = await whileChecking(1, async () => {
    const answers = Promise.all(tries)
    while (hashing.waiting() <= tries.length) await sleep(5)
    return { answers }
  })
  return answers
}

/** What is left of an account in the tables, and the transaction that wrote it. */
async function sessionsOf(uid: string) {
  const { rows } = await sql<{ uid: string; address: string; user_agent: string; tokens: number; written: string }>`
    select s.uid, s.address, s.user_agent, s.xmin::text as written,
      (select count(*) from refresh_tokens t where t.session_id = s.id)::integer as tokens
    from sessions s join users u on u.id = s.user_id where u.uid = ${uid}`.execute(service.db)
  return rows
}
const failures = async (key: string) =>
  (
    await sql<{
      key: string
      failures: number
    }>`select key, failures from sign_in_attempts where key like ${key}`.execute(service.db)
  ).rows

/** Does a statement of this name wait for a row? */
async function isWaitedFor(name = 'open-at-once') {
  const { rows } = await sql`
    select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query like ${`%prepared ${name}*%`}`.execute(
    service.db,
  )
  return rows.length > 0
}

describe('many who sign in at once', () => {
  it('get each their own session, token and row in the audit, written for several at a time', async () => {
    const all = await people()
    const answers = await atOnce(all.map(({ username }, at) => login(username, at).expect(200)))
    const written = new Set<string>()
    for (const [at, { uid }] of all.entries()) {
      const sessions = await sessionsOf(uid)
      expect(sessions).toMatchObject([{ address: network(at), user_agent: `browser ${at}`, tokens: 1 }])
      const [session] = sessions
      const { accessToken, refreshToken } = answers[at]!.body
      expect(JSON.parse(Buffer.from(accessToken.split('.')[1], 'base64url').toString())).toMatchObject({
        sub: uid,
        sid: session!.uid,
      })
      await service.http.post('/api/v1/auth/refresh').send({ refreshToken }).expect(200)
      const [row, ...more] = await auditOf(service.db, uid)
      expect(more).toEqual([])
      expect(row).toEqual({
        operation: 'auth.login',
        actor: uid,
        client,
        details: { outcome: 'signed in', session: session!.uid },
      })
      written.add(session!.written)
    }
    // Otherwise this file shows nothing.
    expect(written.size).toBeLessThan(many / 2)
  })

  it('name the request and the address of each in the audit', async () => {
    const all = await people(12)
    const answers = await atOnce(all.map(({ username }, at) => login(username, at).expect(200)))
    for (const [at, { uid }] of all.entries()) {
      const { rows } = await sql`select request_id, address from audit where actor = ${uid}`.execute(service.db)
      expect(rows).toEqual([{ request_id: answers[at]!.headers['x-request-id'], address: network(at) }])
    }
  })

  it('leave what was counted as it was: of their accounts nothing, of their networks no try of theirs', async () => {
    await sql`delete from sign_in_attempts`.execute(service.db)
    await sql`
      insert into sign_in_attempts (key, failures, last_at, blocked_until)
      values ('network:203.0.1.0/24', 50, now(), '-infinity')`.execute(service.db)
    const all = await people()
    await atOnce(all.map(({ username }, at) => login(username, at).expect(200)))
    expect(await failures('account:%')).toEqual([])
    expect(Object.fromEntries((await failures('network:%')).map((row) => [row.key, row.failures]))).toEqual({
      'network:203.0.0.0/24': 0,
      'network:203.0.1.0/24': 50,
      'network:203.0.2.0/24': 0,
      'network:203.0.3.0/24': 0,
    })
  })

  it('are each told for themselves who may, who needs a code and whose password changed meanwhile', async () => {
    const all = await people()
    const [code, wrong, gone] = [all[3]!, all[11]!, all.at(-1)!]
    await sql`update users set two_factor_auth = true where uid = ${code.uid}`.execute(service.db)
    const { trying } = await service.db.transaction().execute(async (trx) => {
      await sql`update users set status = 'INACTIVE' where uid = ${gone.uid}`.execute(trx)
      const trying = atOnce(
        all.map(({ username }, at) => login(username, at, all[at] === wrong ? 'not-the-right-one' : goodPassword)),
      )
      // Their account was read as it was; the statement that opens sessions waits for what becomes of it.
      while (!(await isWaitedFor())) await sleep(5)
      return { trying }
    })
    const answers = await trying
    for (const [at, one] of all.entries()) {
      const { status, body } = answers[at]!
      if (one === gone || one === wrong) expect(status).toBe(401)
      else if (one === code)
        expect({ status, body }).toMatchObject({ status: 200, body: { secondFactor: expect.anything() } })
      else expect(status).toBe(200)
    }
    expect(await sessionsOf(code.uid)).toEqual([])
    expect(await sessionsOf(gone.uid)).toEqual([])
    expect(await auditOf(service.db, gone.uid)).toMatchObject([{ details: { outcome: 'changed meanwhile' } }])
    expect(await sessionsOf(wrong.uid)).toEqual([])
  })

  it('are not kept out by one of them whose session cannot be written', async () => {
    const all = await people(16)
    const cursed = all[5]!
    await sql`
      create function refuse_one() returns trigger language plpgsql as $$ begin
        if new.user_id = (select id from users where uid = '${sql.raw(cursed.uid)}') then raise 'not this one'; end if;
        return new;
      end $$`.execute(service.db)
    await sql`create trigger refuse_one before insert on sessions for each row execute function refuse_one()`.execute(
      service.db,
    )
    const answers = await atOnce(all.map(({ username }, at) => login(username, at)))
    await sql`drop trigger refuse_one on sessions`.execute(service.db)
    for (const [at, { uid }] of all.entries()) {
      expect(answers[at]!.status).toBe(all[at] === cursed ? 500 : 200)
      expect(await sessionsOf(uid)).toHaveLength(all[at] === cursed ? 0 : 1)
    }
  })

  it('take back their tries exactly, however many statements do so at the same time', async () => {
    const users = await accounts(many)
    for (let round = 0; round < 10; round++) {
      await sql`delete from sign_in_attempts`.execute(service.db)
      const openings = await Promise.all(users.map(openingOf))
      // No password waits to be checked, so each has a statement of its own.
      for (const opened of await Promise.all(openings.map(open))) expect(opened).toBeDefined()
      expect(await failures('account:%')).toEqual([])
      for (const { failures: left } of await failures('network:%')) expect(left).toBe(0)
    }
  })

  it('are let in when something else of them changed meanwhile', async () => {
    const [user] = await accounts(1)
    const opening = await openingOf(user!, 0)
    const { opened } = await service.db.transaction().execute(async (trx) => {
      await sql`update users set name = 'Renamed' where id = ${user!.id}`.execute(trx)
      const opened = open(opening)
      while (!(await isWaitedFor())) await sleep(5)
      return { opened }
    })
    expect(await opened).toMatchObject({ client })
  })

  it('wait in no ring with those who count tries of the same accounts and networks', async () => {
    await sql`delete from sign_in_attempts`.execute(service.db)
    const users = await accounts(8)
    const openings = await Promise.all(users.map(openingOf))
    await whileChecking(8, async () => {
      const { ends } = await service.db.transaction().execute(async (trx) => {
        // The last network that is locked, or the first: what else the group has locked by now is what matters.
        await sql`select from sign_in_attempts where key = 'network:203.0.0.0/24' for update`.execute(trx)
        const opened = openings.map(open)
        while (!(await isWaitedFor())) await sleep(5)
        const counted = admitTry(service.db, users[0]!.username, network(1))
        while (!(await isWaitedFor('admit-try'))) await sleep(5)
        return { ends: Promise.all([...opened, counted]) }
      })
      // Whoever is in a ring with others is let go by the database, with an error.
      expect(await ends).toHaveLength(9)
    })
  })
})

let open: OpenAtOnce
beforeAll(() => {
  open = openingAtOnce(service.db, service.config)
})

interface Account {
  id: number
  username: string
  password_hash: string
}

async function accounts(count: number): Promise<Account[]> {
  const uids = (await people(count)).map(({ uid }) => uid)
  const { rows } = await sql<Account>`
    select id, username, password_hash from users where uid = any(${uids}) order by id`.execute(service.db)
  return rows
}

/** What is left of a sign-in when the password was right. */
const openingOf = async ({ id, username, password_hash }: Account, at: number) => ({
  user: id,
  passwordHash: password_hash,
  attempt: await admitTry(service.db, username, network(at)),
  facts: { operation: 'auth.login', requestId: String(at), address: network(at) },
  userAgent: '',
  refreshToken: newRefreshToken(),
})
