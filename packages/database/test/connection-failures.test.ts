import { setTimeout } from 'node:timers/promises'
import { describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { brokenConstraint, connect, isUnavailable, transaction } from '../src/index.ts'

const server = process.env['TEST_DATABASE_URL']
if (!server) throw new Error('This test needs PostgreSQL: run it with npm test.')

const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  )

describe('a connection', () => {
  it('reads bigint as numbers, and cancels statements after the statement timeout', async () => {
    await using connection = connect<unknown>(server, { name: 'test', statementTimeout: 50 })
    const { rows } = await sql<{ big: number }>`select 9007199254740991::bigint as big`.execute(connection.db)
    expect(rows).toEqual([{ big: Number.MAX_SAFE_INTEGER }])
    expect(await failureOf(sql`select pg_sleep(5)`.execute(connection.db))).toMatchObject({ code: '57014' })
  })

  it('disables JIT', async () => {
    await using connection = connect<unknown>(server, { name: 'test' })
    expect((await sql`show jit`.execute(connection.db)).rows).toEqual([{ jit: 'off' }])
  })

  it('fails the second statement if it breaks between two, and later queries succeed', async () => {
    await using connection = connect<unknown>(server, { name: 'test' })
    await using other = connect<unknown>(server, { name: 'test' })
    const failure = await failureOf(
      connection.db.transaction().execute(async (trx) => {
        const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(trx)
        const { pid } = rows[0]!
        await sql`select pg_terminate_backend(${pid})`.execute(other.db)
        const gone = sql`select from pg_stat_activity where pid = ${pid}`
        while ((await gone.execute(other.db)).rows.length > 0);
        // Waits until this process has received the end of the socket.
        await setTimeout(100)
        await sql`select 1`.execute(trx)
      }),
    )
    expect(isUnavailable(failure)).toBe(true)
    expect((await sql`select 1 as one`.execute(connection.db)).rows).toEqual([{ one: 1 }])
  })

  it('distinguishes an unavailable server from other errors', async () => {
    const closed = Object.assign(new URL(server), { port: '1' }).href
    await using nobody = connect<unknown>(closed, { name: 'test' })
    expect(isUnavailable(await failureOf(sql`select 1`.execute(nobody.db)))).toBe(true)

    const broken: Error[] = []
    await using connection = connect<unknown>(server, { name: 'killed', onError: (error) => broken.push(error) })
    await using other = connect<unknown>(server, { name: 'test' })
    const sleeping = failureOf(sql`select pg_sleep(5)`.execute(connection.db))
    const kill = sql<{ pid: number }>`
      select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'killed' and query like '%pg_sleep(5)%' and state = 'active'`
    while ((await kill.execute(other.db)).rows.length === 0);
    expect(isUnavailable(await sleeping)).toBe(true)

    expect(isUnavailable(await failureOf(sql`select nonsense`.execute(other.db)))).toBe(false)
    expect(isUnavailable(new Error('a bug'))).toBe(false)
    expect(isUnavailable(undefined)).toBe(false)
  })
})

describe('brokenConstraint', () => {
  it('returns the kind and the name of the violated constraint', async () => {
    await using connection = connect<any>(server, { name: 'test', max: 1 })
    const { db } = connection
    await sql`create temp table t (id int constraint t_pk primary key, n int not null constraint n_check check (n > 0))`.execute(
      db,
    )
    await sql`create temp table u (t int constraint u_t_fkey references t (id))`.execute(db)
    await sql`insert into t values (1, 1)`.execute(db)
    const kindOf = async (statement: string) => brokenConstraint(await failureOf(sql.raw(statement).execute(db)))
    expect(await kindOf('insert into t values (1, 1)')).toEqual({ kind: 'unique', constraint: 't_pk' })
    expect(await kindOf('insert into t values (2, 0)')).toEqual({ kind: 'check', constraint: 'n_check' })
    expect(await kindOf('insert into t values (3, null)')).toEqual({ kind: 'not-null', constraint: 'n' })
    expect(await kindOf('insert into u values (7)')).toEqual({ kind: 'foreign-key', constraint: 'u_t_fkey' })
    expect(await kindOf('select 1/0')).toBeUndefined()
  })
})

describe('a transaction', () => {
  it('rolls back the writes of a nested transaction if the outer one fails', async () => {
    await using connection = connect<any>(server, { name: 'test', max: 1 })
    const { db } = connection
    const work = transaction(db, async (outer) => {
      await sql`create temp table half (id int) on commit preserve rows`.execute(outer)
      await transaction(outer, (inner) => sql`insert into half values (1)`.execute(inner))
      throw new Error('no')
    })
    await expect(work).rejects.toThrow('no')
    expect(await failureOf(sql`select from half`.execute(db))).toMatchObject({ code: '42P01' })
  })
})
