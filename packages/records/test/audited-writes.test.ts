import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql, type Kysely } from 'kysely'
import { Type } from 'typebox'
import { defineContract, defineSignature } from '@sluice/contracts'
import { connect } from '@sluice/database'
import { anonymousCaller, type Caller, type Operation } from '@sluice/http-server'
import { testDatabase } from '@sluice/testing'
import { auditedWrites, type DatabaseContext } from '../src/index.ts'

let database: Awaited<ReturnType<typeof testDatabase>>
let db: Kysely<any>
let searches: Kysely<any>
beforeAll(async () => {
  database = await testDatabase()
  db = connect(database.url, { name: 'test' }).db
  searches = connect(database.url, { name: 'test-searches', statementTimeout: 200 }).db
  await sql`create table audit (at timestamptz default now(), operation text, actor uuid, client uuid, object text,
    request_id text, address text, details jsonb, actor_name text, object_client uuid)`.execute(db)
  await sql`create table things (id int primary key, touched int default 0)`.execute(db)
  await sql`insert into things values (1), (2)`.execute(db)
})
afterAll(async () => {
  await Promise.all([db?.destroy(), searches?.destroy()])
  await database?.drop()
})

const uid = (n: number) => `00000000-0000-4000-8000-00000000000${n}`
const caller = (client: number): Caller => ({ ...anonymousCaller, kind: 'session', uid: uid(1), client: uid(client) })
const facts = () => {
  const audited: any[] = []
  const audit = (object: string | null, details = {}, by?: never) => void audited.push({ object, details, by })
  return {
    id: 'r',
    address: '',
    locales: [],
    acceptedType: '',
    ifMatch: undefined,
    url: '/',
    stream: null as never,
    audited,
    audit,
  }
}
const operation = (given: object) =>
  ({
    signature: {
      ...defineSignature({ id: 'things.touch', summary: 'Touch', method: 'post', path: '/things', guard: 'anyone' }),
      ...given,
    },
  }) as Operation
const list = operation({ effect: 'read', query: defineContract('ThingQuery', Type.Object({ filter: Type.String() })) })
type Context = DatabaseContext<any>

describe('a search', () => {
  it('returns 422 after the time limit for searches, which does not apply to other reads', async () => {
    const run = auditedWrites(db, { searches })
    const slow = run(list, caller(2), facts(), {}, async (context: Context) =>
      sql`select pg_sleep(2)`.execute(context.db),
    )
    await expect(slow).rejects.toMatchObject({ status: 422, code: 'search-too-costly' })
    const other = operation({ effect: 'read' })
    await run(other, caller(2), facts(), {}, async (context: Context) => sql`select pg_sleep(0.3)`.execute(context.db))
  })

  it('waits only for other searches of the same organisation', async () => {
    const run = auditedWrites(db)
    const gate = Promise.withResolvers<void>()
    const started: number[] = []
    const search = (client: number) =>
      run(list, caller(client), facts(), {}, async () => {
        started.push(client)
        await gate.promise
      })
    const all = [search(2), search(2), search(2), search(3)]
    await new Promise(setImmediate)
    expect(started).toEqual([2, 2, 3])
    gate.resolve()
    await Promise.all(all)
    expect(started).toEqual([2, 2, 3, 2])
  })
})

describe('a write', () => {
  it('checks in its transaction that the caller is unchanged, unless the caller is anonymous', async () => {
    const checksInTransaction: boolean[] = []
    const run = auditedWrites(db, {
      async assertCallerUnchanged(trx) {
        checksInTransaction.push(trx.isTransaction)
        throw new Error('no longer')
      },
    })
    const write = (by: Caller) =>
      run(operation({}), by, facts(), {}, async ({ write }: Context) =>
        write((trx) => sql`update things set touched = touched + 1 where id = 1`.execute(trx)),
      )
    await expect(write(caller(2))).rejects.toThrow('no longer')
    expect(checksInTransaction).toEqual([true])
    const { rows } = await sql<{ touched: number }>`select touched from things where id = 1`.execute(db)
    expect(rows[0]!.touched).toBe(0)
    await write(anonymousCaller)
    expect(checksInTransaction).toHaveLength(1)
  })

  it('is retried after a deadlock and writes exactly one audit row', async () => {
    const run = auditedWrites(db)
    const both = Promise.withResolvers<void>()
    let waiting = 0
    const lock = (first: number, second: number) => {
      const request = facts()
      return run(operation({}), caller(2), request, {}, async ({ write }: Context) =>
        write(async (trx) => {
          await sql`update things set touched = touched + 1 where id = ${first}`.execute(trx)
          if (++waiting === 2) both.resolve()
          await both.promise
          await sql`update things set touched = touched + 1 where id = ${second}`.execute(trx)
          request.audit(null, { first })
        }),
      )
    }
    await sql`truncate audit`.execute(db)
    await sql`update things set touched = 0`.execute(db)
    await Promise.all([lock(1, 2), lock(2, 1)])
    const { rows } = await sql<{ touched: number }>`select touched from things order by id`.execute(db)
    expect(rows.map(({ touched }) => touched)).toEqual([2, 2])
    const { rows: audit } = await sql<{
      first: number
    }>`select (details->>'first')::int as first from audit order by 1`.execute(db)
    expect(audit).toEqual([{ first: 1 }, { first: 2 }])
  })
})
