import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import { LeaseLost, type Warehouse } from '../src/warehouse.ts'
import { tsqlAccess } from '../src/tsql/tsql-settings.ts'
import { openSqlServerWarehouse } from '../src/tsql/tsql-dialect.ts'
import { columns, loadAll, never, numbered, stage } from './row-fixtures.ts'
import type { Answer } from './tds/responses.ts'
import { remembered, transactions } from './tds/stateful-responses.ts'
import { type StandIn, type Statement, tdsStandIn } from './tds/tds-server-stand-in.ts'

const shape = columns({ id: 'INTEGER', name: 'TEXT' })
const busyTable: Answer = { number: 1222, message: 'Lock request time out period exceeded.' }

describe('a SQL Server warehouse, against a stand-in', () => {
  const memory = remembered()
  let server: StandIn
  let warehouse: Warehouse
  /** Asked first, where a test wants an answer of its own. */
  let instead: (statement: Statement, session: object) => Answer | Promise<Answer> = () => undefined

  beforeAll(async () => {
    server = await tdsStandIn({
      answer: (statement, session) => instead(statement, session) ?? memory.answer(statement, session),
      lost: memory.lost,
    })
    const url = `mssql://sa:secret@127.0.0.1:${server.port}?encrypt=false`
    warehouse = openSqlServerWarehouse(tsqlAccess(url, { key: 'abc', loadPassword: 'l', readPassword: 'r' }))
    await warehouse.catalog.ensureSchema('health')
  })
  afterAll(async () => {
    await warehouse?.[Symbol.asyncDispose]()
    await server?.[Symbol.asyncDispose]()
  })
  const published = () => memory.names().filter((name) => name.startsWith('health.'))

  it('creates the database, logins, users and schemas of the organisation first', () => {
    const texts = server.statements.map(({ text }) => text)
    expect(texts.slice(0, 9)).toEqual([
      `if db_id(N'c_abc') is null exec(N'create database [c_abc]')`,
      expect.stringMatching(/^create login \[c_abc_load\] with password = N'Aa1-[\w-]{43}'$/),
      expect.stringMatching(/^create login \[c_abc_read\] with password = N'Aa1-[\w-]{43}'$/),
      `select cast(serverproperty('babelfish') as int) as value`,
      'create user [c_abc_load] for login [c_abc_load]',
      'create user [c_abc_read] for login [c_abc_read]',
      `if user_id(N'c_abc_views') is null exec(N'create user [c_abc_views] without login')`,
      `if schema_id(N'sluice') is null exec(N'create schema [sluice]')`,
      'select count(*) as n from [sluice].[marks]',
    ])
    expect(texts).toContain('grant select on schema::[health] to [c_abc_load], [c_abc_read]')
  })

  it('replaces a table by two renames and writes the ledger in one transaction', async () => {
    await loadAll(warehouse, { table: 'cases', columns: shape }, numbered(2, 'old'))
    const from = transactions(server).length
    const publication = await loadAll(warehouse, { table: 'cases', columns: shape }, numbered(3, 'new'))
    expect(publication).toMatchObject({ rows: 3, tables: [{ schema: 'health', table: 'cases', rows: 3 }] })
    const [told] = transactions(server).slice(from)
    expect(told?.[1]).toBe('declare @taken')
    expect(told?.filter((text) => text.includes('sp_rename'))).toEqual([
      expect.stringMatching(/^exec sp_rename N'\[health\]\.\[cases\]', N'sluice~old_\w+', N'OBJECT'$/),
      expect.stringMatching(/^exec sp_rename N'\[health\]\.\[sluice~load_\w+\]', N'cases', N'OBJECT'$/),
    ])
    expect(told?.slice(-2)).toEqual([expect.stringMatching(/^(insert into|select run)$/), 'COMMIT'])
    expect(published()).toEqual(['health.cases'])
    expect(server.statements.findLast(({ rows }) => rows)?.rows).toEqual([
      [1, 'new'],
      [2, 'new'],
      [3, 'new'],
    ])
  })

  it('retries a publication while the table is locked by a reader, and publishes once', async () => {
    let busy = 2
    instead = ({ text }) => (text.includes(`N'[health].[cases]', N'sluice~old`) && busy-- > 0 ? busyTable : undefined)
    const from = transactions(server).length
    await loadAll(warehouse, { table: 'cases', columns: shape }, numbered(4))
    expect(
      transactions(server)
        .slice(from)
        .map((texts) => texts.at(-1)),
    ).toEqual(['ROLLBACK', 'ROLLBACK', 'COMMIT'])
    expect(published()).toEqual(['health.cases'])
  })

  it('changes nothing and leaves no staging tables if the lease is lost', async () => {
    const from = transactions(server).length
    {
      await using load = await stage(warehouse, { table: 'cases', columns: shape }, numbered(1))
      expect(published()).toHaveLength(2)
      await expect(warehouse.loader.publish([load], async () => false, never)).rejects.toBeInstanceOf(LeaseLost)
    }
    expect(
      transactions(server)
        .slice(from)
        .map((texts) => texts.at(-1)),
    ).toEqual(['ROLLBACK'])
    expect(published()).toEqual(['health.cases'])
  })

  it('looks up the publication under the lock of publications in fenceRun', async () => {
    const from = transactions(server).length
    expect(await warehouse.loader.fenceRun(randomUUID(), 1)).toBeUndefined()
    expect(transactions(server).slice(from)).toEqual([['BEGIN', 'declare @taken', 'select run', 'COMMIT']])
  })

  it('publishes all or nothing if the connection is lost at any statement, and the next attempt completes it', async () => {
    await loadAll(warehouse, { table: 'cut', columns: shape }, numbered(1, 'old'))
    const from = transactions(server).length
    await loadAll(warehouse, { table: 'cut', columns: shape }, numbered(1))
    const statements = transactions(server)[from]!.length
    expect(statements).toBeGreaterThan(10)
    for (const heard of [false, true])
      for (let cut = 1; cut <= statements; cut += 1) {
        const run = randomUUID()
        let [inside, at] = [false, 0]
        instead = (statement, session) => {
          if (statement.text === 'BEGIN') [inside, at] = [true, 0]
          if (!inside) return undefined
          at += 1
          const last = statement.text === 'COMMIT'
          if (at !== cut) {
            inside = !last
            return undefined
          }
          inside = false
          if (heard) void memory.answer(statement, session)
          return 'CUT'
        }
        await using load = await stage(warehouse, { table: 'cut', columns: shape, run }, numbered(cut + 1))
        const failed = await warehouse.loader.publish([load], async () => true, never).catch((error: unknown) => error)
        expect(failed).toMatchObject({ code: 'WAREHOUSE_UNAVAILABLE', retryable: true })
        instead = () => undefined
        expect(published().filter((name) => name === 'health.cut')).toEqual(['health.cut'])
        const before = await warehouse.loader.findPublication(run)
        const again = await loadAll(warehouse, { table: 'cut', columns: shape, run, attempt: 2 }, numbered(cut + 1))
        expect(again).toMatchObject({ run, attempt: before ? 1 : 2, rows: cut + 1 })
        expect(await warehouse.catalog.findTable('health', 'cut')).toMatchObject({ rowCount: cut + 1 })
      }
    await warehouse.upkeep.sweepStaging(async () => new Set())
    expect(published()).toEqual(['health.cases', 'health.cut'])
  })

  const sweep = async () => {
    await warehouse.upkeep.sweepStaging(async () => new Set())
    return published().filter((name) => name.startsWith('health.sluice~')).length
  }

  it('keeps an unregistered staging table during sweeps until it is ten minutes old', async () => {
    instead = ({ text }) => (text.startsWith('insert into [sluice].[marks]') ? 'CUT' : undefined)
    const target = { schema: 'health', table: 'making', columns: shape, run: randomUUID(), attempt: 1 }
    await expect(warehouse.loader.stage(target, never)).rejects.toMatchObject({ code: 'WAREHOUSE_UNAVAILABLE' })
    instead = () => undefined
    expect([await sweep(), await sweep()]).toEqual([1, 1])
    const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 600_000)
    try {
      expect(await sweep()).toBe(0)
    } finally {
      clock.mockRestore()
    }
  })

  it('keeps a staging table if a sweep cannot drop it in time, and drops it on the next sweep', async () => {
    await stage(warehouse, { table: 'read', columns: shape }, numbered(1))
    jest.useFakeTimers({ doNotFake: ['Date', 'nextTick', 'queueMicrotask', 'setImmediate', 'performance'] })
    try {
      instead = ({ text }) => {
        if (!text.startsWith('drop table')) return undefined
        setImmediate(() => jest.advanceTimersByTime(60_000))
        return new Promise<Answer>(() => {})
      }
      expect(await sweep()).toBe(1)
    } finally {
      jest.useRealTimers()
      instead = () => undefined
    }
    expect(await sweep()).toBe(0)
  })

  it('merges the rows once if the table is locked by a reader twice', async () => {
    const keyed = shape.map((column) => ({ ...column, primaryKey: column.name === 'id' }))
    await loadAll(warehouse, { table: 'merged', columns: keyed }, numbered(2, 'old'))
    let busy = 2
    instead = ({ text }) => {
      if (text.startsWith('select count(*) as n from [health]')) return { columns: [['n', 'int']], rows: [[3]] }
      return text.includes(`N'[health].[merged]', N'sluice~old`) && busy-- > 0 ? busyTable : undefined
    }
    const from = server.statements.length
    await using load = await stage(warehouse, { table: 'merged', columns: keyed }, numbered(3))
    await warehouse.loader.publish([load], async () => true, never, { mode: 'MERGE' })
    instead = () => undefined
    const written = server.statements.slice(from).filter(({ text }) => text.includes('exec sp_executesql'))
    expect([busy, written.length]).toEqual([-1, 1])
    expect(await warehouse.catalog.findTable('health', 'merged')).toMatchObject({ rowCount: 3 })
  })

  it('grants the privileges on a schema again if the connection was lost at the grant', async () => {
    const granting = ({ text }: Statement) => text.startsWith('grant select on schema::[other]')
    instead = (statement) => (granting(statement) ? 'CUT' : undefined)
    await expect(warehouse.catalog.ensureSchema('other')).rejects.toMatchObject({ code: 'WAREHOUSE_UNAVAILABLE' })
    instead = () => undefined
    await warehouse.catalog.ensureSchema('other')
    expect(server.statements.filter(granting)).toHaveLength(2)
  })

  it('rejects names of tables and schemas that are reserved for Sluice', async () => {
    const target = { schema: 'health', table: 'sluice~load_1', columns: shape, run: 'r', attempt: 1 }
    await expect(warehouse.loader.stage(target, never)).rejects.toMatchObject({ code: 'INVALID_NAME' })
    await expect(warehouse.catalog.ensureSchema('sluice-shown')).rejects.toMatchObject({ code: 'INVALID_NAME' })
  })

  it('returns full pages of a query with an offset', async () => {
    const rows = Array.from({ length: 22 }, () => ['x'.repeat(100)])
    instead = ({ text }) => {
      if (text.includes('sp_describe_first_result_set'))
        return {
          columns: [
            ['name', 'text'],
            ['system_type_name', 'text'],
          ],
          rows: [['note', 'nvarchar(200)']],
        }
      return text.startsWith('select [c1] from') ? { columns: [['c1', 'text']], rows } : undefined
    }
    const asked = { text: 'select name from cases', schemas: ['health'], limits: { offset: 3, bytes: 1_100 } }
    const pages = await Array.fromAsync(warehouse.queries.queryPages(asked, 10, never))
    instead = () => undefined
    expect(pages.map((page) => page.rows.length)).toEqual([10, 9])
    expect(server.statements.filter(({ text }) => text.startsWith('select name from'))).toEqual([])
  })

  it('fails with the message of the server if it rejects the columns of a table', async () => {
    instead = ({ text }) =>
      text.startsWith('create table [health]')
        ? { number: 1701, message: 'Creating or altering table failed.' }
        : undefined
    const target = { schema: 'health', table: 'wide', columns: shape, run: 'r', attempt: 1 }
    await expect(warehouse.loader.stage(target, never)).rejects.toMatchObject({
      code: 'WAREHOUSE_REFUSED',
      message: 'The warehouse rejected the operation: Creating or altering table failed.',
    })
    instead = () => undefined
  })
})
