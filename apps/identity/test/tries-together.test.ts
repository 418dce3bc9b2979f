import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { admitAttempt } from '../src/sign-in/throttle.ts'
import { addressOf, atOnce, startCrowd, whileChecking, type Crowd } from './crowd.ts'

/** What is counted of tries to sign in that come at once, so that several of them are counted and taken back by one statement. */

let crowd: Crowd
beforeAll(async () => {
  crowd = await startCrowd()
})
afterAll(() => crowd.stop())

beforeEach(async () => {
  await sql`delete from sign_in_attempts`.execute(crowd.db)
})

describe('tries that come at once', () => {
  it('leave what was counted as it was: of their accounts nothing, of their networks no try of theirs', async () => {
    await sql`
      insert into sign_in_attempts (key, failures, last_at, blocked_until)
      values ('network:203.0.1.0/24', 50, now(), '-infinity')`.execute(crowd.db)
    const all = await crowd.people()
    await atOnce(
      all.map(
        ({ username }, at) =>
          () =>
            crowd.login(username, at).expect(200),
      ),
    )
    expect(await crowd.failures('account:%')).toEqual({})
    expect(await crowd.failures('network:%')).toEqual({
      'network:203.0.0.0/24': 0,
      'network:203.0.1.0/24': 50,
      'network:203.0.2.0/24': 0,
      'network:203.0.3.0/24': 0,
    })
  })

  it('are counted by few statements, each for their account and in the networks that are theirs apart', async () => {
    const all = await crowd.people(16)
    for (const [at, { username }] of all.slice(0, 4).entries()) await crowd.login(username, at).expect(200)
    await atOnce(
      all.map(
        ({ username }, at) =>
          () =>
            crowd.login(username, at, 'not-the-right-one').expect(401),
      ),
    )
    const { rows } = await sql<{ key: string; failures: number; written: string }>`
      select key, failures, xmin::text as written from sign_in_attempts where key like 'account:%'`.execute(crowd.db)
    expect(rows).toHaveLength(16)
    expect(rows.filter(({ failures: one }) => one !== 1)).toEqual([])
    expect(rows.filter(({ key }) => /@203\.0\.[0-3]\.0\/24$/.test(key))).toHaveLength(4)
    expect(new Set(rows.map(({ written }) => written)).size).toBeLessThan(rows.length)
    expect(Object.values(await crowd.failures('network:%'))).toEqual([4, 4, 4, 4])
  })

  it('get no further than their network’s limit', async () => {
    await sql`
      insert into sign_in_attempts (key, failures, last_at, blocked_until)
      values ('network:203.0.0.0/24', 95, now(), '-infinity')`.execute(crowd.db)
    const all = await crowd.people(12)
    const answers = await atOnce(
      all.map(
        ({ username }) =>
          () =>
            crowd.login(username, 4, 'not-the-right-one'),
      ),
      5,
    )
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 401)).toHaveLength(5)
    expect(statuses.filter((status) => status === 429)).toHaveLength(7)
    expect(Object.values(await crowd.failures('network:%'))).toEqual([100])
    expect(Object.values(await crowd.failures('account:%'))).toEqual([1, 1, 1, 1, 1])
  })

  it('get no further than the limit of one account that all of them try', async () => {
    const [person] = await crowd.people(1)
    const answers = await atOnce(
      Array.from({ length: 12 }, (_, at) => () => crowd.login(person!.username, at, 'not-the-right-one')),
      5,
    )
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 401)).toHaveLength(5)
    expect(statuses.filter((status) => status === 429)).toHaveLength(7)
    expect(Object.values(await crowd.failures('account:%'))).toEqual([5])
  })

  it('take back their tries exactly, however many statements do so at the same time', async () => {
    const users = await crowd.accounts(30)
    for (let round = 0; round < 10; round++) {
      await sql`delete from sign_in_attempts`.execute(crowd.db)
      const openings = await Promise.all(users.map(crowd.openingOf))
      // No password waits to be checked, so each has a statement of its own.
      for (const opened of await Promise.all(openings.map(crowd.open))) expect(opened).toBeDefined()
      expect(await crowd.failures('account:%')).toEqual({})
      for (const left of Object.values(await crowd.failures('network:%'))) expect(left).toBe(0)
    }
  })

  it('wait for no sign-in of their network that has yet to write what it did', async () => {
    const [slow, other] = await crowd.people(2)
    // Needs a transaction of its own.
    await sql`update users set two_factor_auth = true where uid = ${slow!.uid}`.execute(crowd.db)
    await sql`
      create function hold_up() returns trigger language plpgsql as $$ begin
        perform pg_advisory_xact_lock(7);
        return new;
      end $$`.execute(crowd.db)
    await sql`create trigger hold_up before insert on audit for each row execute function hold_up()`.execute(crowd.db)
    const { trying } = await crowd.db.transaction().execute(async (trx) => {
      await sql`select pg_advisory_xact_lock(7)`.execute(trx)
      const trying = Promise.resolve(crowd.login(slow!.username, 1).expect(200))
      while (!(await crowd.isWaitedFor('record-audit'))) await sleep(5)
      await admitAttempt(crowd.db, other!.username, addressOf(1))
      return { trying }
    })
    await trying
    await sql`drop trigger hold_up on audit`.execute(crowd.db)
  })

  it('wait in no ring with those who count tries of the same accounts and networks', async () => {
    const users = await crowd.accounts(8)
    const openings = await Promise.all(users.map(crowd.openingOf))
    await whileChecking(8, async () => {
      const { ends } = await crowd.db.transaction().execute(async (trx) => {
        // The last network that is locked, or the first: what else the group has locked by now is what matters.
        await sql`select from sign_in_attempts where key = 'network:203.0.0.0/24' for update`.execute(trx)
        const opened = openings.map(crowd.open)
        while (!(await crowd.isWaitedFor('open-at-once'))) await sleep(5)
        const counted = admitAttempt(crowd.db, users[0]!.username, addressOf(1))
        while (!(await crowd.isWaitedFor('admit-try'))) await sleep(5)
        return { ends: Promise.all([...opened, counted]) }
      })
      // Whoever is in a ring with others is let go by the database, with an error.
      expect(await ends).toHaveLength(9)
    })
  })
})
