import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { hashing } from '../src/sign-in/hashing-queue.ts'
import { sessionOpener } from '../src/sign-in/batched-sign-in.ts'
import { newRefreshToken } from '../src/sign-in/refresh-tokens.ts'
import { admitAttempt } from '../src/sign-in/throttle.ts'
import { goodPassword, startService } from './app-under-test.ts'

interface Account {
  id: number
  username: string
  password_hash: string
}

/** An address of one of four networks. */
export const addressOf = (at: number): string => `203.0.${at % 4}.${at}`

/** A service, people of one of its clients, and what they do in crowds. */
export async function startCrowd() {
  const service = await startService()
  const client = await service.client()
  const people = (count = 30) => Promise.all(Array.from({ length: count }, () => service.user({ client })))
  return {
    ...service,
    client,
    anotherClient: () => service.client(),
    people,
    login: (username: string, at: number, password = goodPassword) =>
      service.http
        .post('/api/v1/auth/login')
        .set('x-forwarded-for', addressOf(at))
        .set('user-agent', `browser ${at}`)
        .send({ username, password }),
    /** Failures by key; `key` is a pattern. */
    async failures(key: string) {
      const { rows } = await sql<{ key: string; failures: number }>`
        select key, failures from sign_in_attempts where key like ${key}`.execute(service.db)
      return Object.fromEntries(rows.map((row) => [row.key, row.failures]))
    },
    /** Does a statement of this name wait for a row? */
    async isWaitedFor(name: string) {
      const { rows } = await sql`
        select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like ${`%prepared ${name}*%`}`.execute(
        service.db,
      )
      return rows.length > 0
    },
    async accounts(count: number): Promise<Account[]> {
      const uids = (await people(count)).map(({ uid }) => uid)
      const { rows } = await sql<Account>`
        select id, username, password_hash from users where uid = any(${uids}) order by id`.execute(service.db)
      return rows
    },
    /** What is left of a sign-in when the password was right. */
    openingOf: async ({ id, username, password_hash }: Account, at: number) => ({
      user: id,
      passwordHash: password_hash,
      attempt: await admitAttempt(service.db, username, addressOf(at)),
      facts: { operation: 'auth.login', requestId: String(at), address: addressOf(at) },
      userAgent: '',
      refreshToken: newRefreshToken(),
    }),
    open: sessionOpener(service.db, service.config),
  }
}
export type Crowd = Awaited<ReturnType<typeof startCrowd>>

/** Keeps the places busy at which passwords are checked, and so many waiting for one, until the work is done. */
export async function whileChecking<T>(waiting: number, work: () => Promise<T>): Promise<T> {
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

/**
 * Makes tries in a crowd: their passwords wait behind others, and none is checked before as many wait as are expected to get
 * that far.
 */
export async function atOnce<T>(tries: (() => PromiseLike<T>)[], checked = tries.length): Promise<T[]> {
  const crowd = 4
  const { answers } = await whileChecking(crowd, async () => {
    const answers = Promise.all(tries.map((begin) => begin()))
    while (hashing.waiting() < crowd + checked) await sleep(5)
    return { answers }
  })
  return answers
}
