import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { auditOf, goodPassword } from './app-under-test.ts'
import { addressOf, atOnce, startCrowd, type Crowd } from './crowd.ts'

/** Sign-ins that come at once, so that several of them are opened by one statement. */

let crowd: Crowd
beforeAll(async () => {
  crowd = await startCrowd()
})
afterAll(() => crowd.stop())

/** What is left of an account in the tables, and the transaction that wrote it. */
async function sessionsOf(uid: string) {
  const { rows } = await sql<{ uid: string; address: string; user_agent: string; tokens: number; written: string }>`
    select s.uid, s.address, s.user_agent, s.xmin::text as written,
      (select count(*) from refresh_tokens t where t.session_id = s.id)::integer as tokens
    from sessions s join users u on u.id = s.user_id where u.uid = ${uid}`.execute(crowd.db)
  return rows
}

describe('many who sign in at once', () => {
  it('get each their own session, token and row in the audit, written for several at a time', async () => {
    const all = await crowd.people()
    const answers = await atOnce(
      all.map(
        ({ username }, at) =>
          () =>
            crowd.login(username, at).expect(200),
      ),
    )
    const written = new Set<string>()
    for (const [at, { uid }] of all.entries()) {
      const sessions = await sessionsOf(uid)
      expect(sessions).toMatchObject([{ address: addressOf(at), user_agent: `browser ${at}`, tokens: 1 }])
      const [session] = sessions
      const { accessToken, refreshToken } = answers[at]!.body
      expect(JSON.parse(Buffer.from(accessToken.split('.')[1], 'base64url').toString())).toMatchObject({
        sub: uid,
        sid: session!.uid,
      })
      await crowd.http.post('/api/v1/auth/refresh').send({ refreshToken }).expect(200)
      const [row, ...more] = await auditOf(crowd.db, uid)
      expect(more).toEqual([])
      expect(row).toEqual({
        operation: 'auth.login',
        actor: uid,
        client: crowd.client,
        details: { outcome: 'signed in', session: session!.uid },
      })
      written.add(session!.written)
    }
    // Otherwise this file shows nothing.
    expect(written.size).toBeLessThan(all.length * 0.8)
  })

  it('name the request and the address of each in the audit', async () => {
    const all = await crowd.people(12)
    const answers = await atOnce(
      all.map(
        ({ username }, at) =>
          () =>
            crowd.login(username, at).expect(200),
      ),
    )
    for (const [at, { uid }] of all.entries()) {
      const { rows } = await sql`select request_id, address from audit where actor = ${uid}`.execute(crowd.db)
      expect(rows).toEqual([{ request_id: answers[at]!.headers['x-request-id'], address: addressOf(at) }])
    }
  })

  it('are each told for themselves who may, who needs a code and whose password changed meanwhile', async () => {
    const all = await crowd.people()
    const [code, wrong, gone] = [all[3]!, all[11]!, all.at(-1)!]
    await sql`update users set two_factor_auth = true where uid = ${code.uid}`.execute(crowd.db)
    const { trying } = await crowd.db.transaction().execute(async (trx) => {
      await sql`update users set status = 'INACTIVE' where uid = ${gone.uid}`.execute(trx)
      const trying = atOnce(
        all.map(
          ({ username }, at) =>
            () =>
              crowd.login(username, at, all[at] === wrong ? 'not-the-right-one' : goodPassword),
        ),
      )
      // Their account was read as it was; the others are let in, and this one waits for what becomes of it.
      while (!(await crowd.isWaitedFor('lock-signing-in-with-password'))) await sleep(5)
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
    expect(await auditOf(crowd.db, gone.uid)).toMatchObject([{ details: { outcome: 'changed meanwhile' } }])
    expect(await sessionsOf(wrong.uid)).toEqual([])
  })

  it('are not kept out by one of them whose session cannot be written', async () => {
    const all = await crowd.people(16)
    const cursed = all[5]!
    await sql`
      create function refuse_one() returns trigger language plpgsql as $$ begin
        if new.user_id = (select id from users where uid = '${sql.raw(cursed.uid)}') then raise 'not this one'; end if;
        return new;
      end $$`.execute(crowd.db)
    await sql`create trigger refuse_one before insert on sessions for each row execute function refuse_one()`.execute(
      crowd.db,
    )
    const answers = await atOnce(
      all.map(
        ({ username }, at) =>
          () =>
            crowd.login(username, at),
      ),
    )
    await sql`drop trigger refuse_one on sessions`.execute(crowd.db)
    for (const [at, { uid }] of all.entries()) {
      expect(answers[at]!.status).toBe(all[at] === cursed ? 500 : 200)
      expect(await sessionsOf(uid)).toHaveLength(all[at] === cursed ? 0 : 1)
    }
  })

  it.each([
    ['whom', (uid: string) => sql`update users set name = 'Renamed' where uid = ${uid}`],
    [
      'whose client',
      (uid: string) => sql`select from clients where uid = (select client from users where uid = ${uid}) for update`,
    ],
  ])('wait for none of them %s somebody is changing, who is let in after that', async (_, changing) => {
    const all = await crowd.people(7)
    all.splice(3, 0, await crowd.user({ client: await crowd.anotherClient() }))
    const uids = all.map(({ uid }) => uid)
    const { trying } = await crowd.db.transaction().execute(async (trx) => {
      await changing(uids[3]!).execute(trx)
      const trying = atOnce(
        all.map(
          ({ username }, at) =>
            () =>
              crowd.login(username, at),
        ),
      )
      const opened = () =>
        sql`
        select from sessions s join users u on u.id = s.user_id where u.uid = any(${uids})`.execute(crowd.db)
      while ((await opened()).rows.length < 7) await sleep(5)
      expect(await crowd.isWaitedFor('open-at-once')).toBe(false)
      return { trying }
    })
    for (const { status } of await trying) expect(status).toBe(200)
    expect(await sessionsOf(uids[3]!)).toHaveLength(1)
  })
})
