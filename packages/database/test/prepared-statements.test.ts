import { describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { connect, prepared } from '../src/index.ts'

const server = process.env['TEST_DATABASE_URL']
if (!server) throw new Error('This test needs PostgreSQL: run it with npm test.')

const preparedStatements = sql<{ name: string }>`select name from pg_prepared_statements`

describe('a prepared statement', () => {
  it('is kept once per connection for all values, and other statements are not kept', async () => {
    await using connection = connect<unknown>(server, { name: 'test', max: 1 })
    const { db } = connection
    for (const value of [1, 2, 3]) {
      const { rows } = await sql`
        ${prepared('echo')}
        select ${value}::int as value`.execute(db)
      expect(rows).toEqual([{ value }])
      await sql`select ${value}::int`.execute(db)
    }
    expect((await preparedStatements.execute(db)).rows).toEqual([{ name: 'echo' }])
  })

  it('can run in a transaction again after a failed transaction', async () => {
    await using connection = connect<unknown>(server, { name: 'test', max: 1 })
    const divided = (by: number) => sql<{ is: number }>`${prepared('divided')} select 6 / ${by}::int as is`
    const { db } = connection
    await expect(db.transaction().execute((trx) => divided(0).execute(trx))).rejects.toThrow(/division by zero/)
    const { rows } = await db.transaction().execute((trx) => divided(2).execute(trx))
    expect(rows).toEqual([{ is: 3 }])
  })

  it('still works after a column is added if it selects rows as JSON', async () => {
    await using connection = connect<any>(server, { name: 'test', max: 1 })
    const { db } = connection
    await sql`create temp table t (a int)`.execute(db)
    await sql`insert into t values (1)`.execute(db)
    const read = sql<{ row: object }>`${prepared('read')} select to_jsonb(t) as row from t`
    expect((await read.execute(db)).rows).toEqual([{ row: { a: 1 } }])
    await sql`alter table t add column b int not null default 2`.execute(db)
    expect((await read.execute(db)).rows).toEqual([{ row: { a: 1, b: 2 } }])
  })

  it('is rejected if its name is already used for another text', async () => {
    await using connection = connect<unknown>(server, { name: 'test', max: 1 })
    await sql`${prepared('one')} select 1`.execute(connection.db)
    await expect(sql`${prepared('one')} select 2`.execute(connection.db)).rejects.toThrow(/must be unique/)
  })
})
