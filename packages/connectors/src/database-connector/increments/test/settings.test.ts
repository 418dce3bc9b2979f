import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { scratchWarehouseForAll, word } from '@sluice/warehouses/testing/scratch-warehouse'
import type { ReadRequest } from '../../../connector.ts'
import { type ConnectorHarness, never, openHarness } from '../../../../test/connector-harness.ts'
import { databasesHere, type TestDatabase } from '../../test/databases-under-test.ts'

const { start, type } = databasesHere.find(({ name }) => name === 'PostgreSQL')!

describe('incremental settings of a database', () => {
  const scratch = scratchWarehouseForAll()
  let database: TestDatabase
  let harness: ConnectorHarness
  let table: string
  beforeAll(async () => {
    database = await start()
    harness = await openHarness(scratch)
  })
  afterAll(async () => {
    await harness?.[Symbol.asyncDispose]()
    await database?.[Symbol.asyncDispose]()
  })
  beforeEach(async () => {
    table = word('visits_')
    harness.table = word('rows_')
    harness.messages.length = 0
    await database.run(`
      create table ${table} (id integer primary key, note text, share float8, amount numeric, moved timestamptz, gone_at timestamptz);
      insert into ${table} select n, 'note ' || n, n, n, now() - interval '1 hour' + n * interval '1 minute' from generate_series(1, 3) n`)
  })

  const incremental = { cursorColumn: 'moved', key: ['id'] }
  const request = (changes: object = {}, sqlQuery?: string): ReadRequest => {
    const { password, ...jdbcSource } = database.jdbcSource
    const rows = sqlQuery === undefined ? { tables: [{ schema: 'public', name: table }] } : { sqlQuery }
    const settings = { type, jdbcSource, ...rows, incremental: { ...incremental, ...changes } }
    return { type, settings, secrets: { password }, input: {} }
  }
  const notes = async () => (await harness.values('id', 'note')).map(([, note]) => note)
  const increment = async (given = request()) => {
    harness.messages.length = 0
    await harness.load(given, 'INCREMENTAL')
    return harness.messages.filter((message) => message.startsWith('All rows'))
  }

  it('are refused by a connection test, a preview and a load, which keeps the old rows', async () => {
    await harness.load(request())
    const wrong = request({ cursorColumn: 'note' })
    const problem = { code: 'INCREMENTAL_COLUMN_UNSUITABLE' }
    expect(await harness.testConnection(wrong)).toMatchObject(problem)
    await expect(harness.sources.preview(wrong, 5, never)).rejects.toMatchObject(problem)
    await expect(harness.load(wrong, 'INCREMENTAL')).rejects.toMatchObject(problem)
    expect(await notes()).toHaveLength(3)
  })

  it.each([
    [
      'not unique',
      `union all select 3, 'second', 0, 0, now(), null`,
      'DUPLICATE_KEY',
      /because 2 rows of the source have the same key \(id = 3\)\./,
    ],
    ['null', `union all select null, 'none', 0, 0, now(), null`, 'NULL_KEY', /no value/],
  ])('keep the old rows if a key is %s', async (_, more, code, message) => {
    const query = `select * from ${table}`
    await harness.load(request({}, query))
    await database.run(`create view ${table}_all as ${query} ${more}`)
    const given = request({}, `select * from ${table}_all`)
    await expect(harness.load(given)).rejects.toMatchObject({ code, message: expect.stringMatching(message) })
    expect(await notes()).toEqual(['note 1', 'note 2', 'note 3'])
  })

  it('keep the old rows if the largest cursor is not a number', async () => {
    const given = request({ cursorColumn: 'amount' })
    await harness.load(given)
    await database.run(`insert into ${table} values (4, 'nan', 0, 'NaN', now())`)
    await expect(increment(given)).rejects.toMatchObject({
      code: 'INCREMENTAL_COLUMN_UNSUITABLE',
      message: expect.stringContaining('The largest value of the cursor column "amount" is NaN'),
    })
    expect(await notes()).toHaveLength(3)
  })

  it('mark the key in the table, so that the first increment changes it in place, and leave hard deletes to full reads', async () => {
    await harness.load(request({}, `select * from ${table}`))
    const partition = async () =>
      (
        await scratch.superuser.query(
          `select inhrelid from pg_inherits where inhparent = 'health.${harness.table}'::regclass`,
        )
      ).rows
    const before = await partition()
    await database.run(`insert into ${table} values (4, 'new', 0, 0, now()); delete from ${table} where id = 1`)
    expect(await increment(request({}, `select * from ${table}`))).toEqual([])
    expect([await notes(), await partition()]).toEqual([['note 1', 'note 2', 'note 3', 'new'], before])
    expect(harness.messages.join()).toContain('Rows that were deleted in the source stay until the next full run.')
    await harness.load(request({}, `select * from ${table}`))
    expect(await notes()).toEqual(['note 2', 'note 3', 'new'])
  })

  it('lead to a full read if the newest row disappeared, and say why', async () => {
    await harness.load(request())
    await database.run(`delete from ${table} where id in (1, 3); update ${table} set note = 'restored' where id = 2`)
    expect(await increment()).toEqual([
      expect.stringMatching(
        /^All rows are read, because no row has a "moved" of \d{4}-.* or later, .*deleted or restored\.$/,
      ),
    ])
    expect(await notes()).toEqual(['restored'])
    expect(await increment()).toEqual([])
  })

  it('lead to a full read after a change of the columns, which moves no cursor', async () => {
    await harness.load(request())
    await database.run(`alter table ${table} add extra integer default 7`)
    const reason = 'All rows are read, because the columns of the source changed since the last load.'
    expect(await increment()).toEqual([reason])
    expect((await harness.values('id', 'extra')).map(([, extra]) => extra)).toEqual(['7', '7', '7'])
  })

  it('show the key and no deleted rows in a preview, which does not search for the largest cursor', async () => {
    await database.run(
      `update ${table} set gone_at = now() where id = 2; insert into ${table} values (4, 'bad', 0, 'NaN', now())`,
    )
    const given = request({ cursorColumn: 'amount', deletedColumn: 'gone_at' })
    const { columns, rows } = await harness.sources.preview(given, 5, never)
    expect(columns.filter(({ primaryKey }) => primaryKey).map(({ name }) => name)).toEqual(['id'])
    expect(rows.map(([id]) => id)).toEqual([1, 3, 4])
  })

  it('can be chosen from look-ups of columns and keys', async () => {
    const { tables: _, ...connection } = request().settings as Record<string, unknown>
    const unsaved = { ...request(), settings: { ...connection, incremental: undefined } }
    const find = (kind: string, given: ReadRequest, within?: string) =>
      harness.sources.listOptions(kind, { ...given, within }, never)
    expect(await find('keys', unsaved, `public.${table}`)).toEqual([{ id: 'id', code: 'INTEGER', name: 'id' }])
    const columns = await find('columns', unsaved, `public.${table}`)
    expect(columns?.map(({ id, code }) => `${id} ${code}`)).toEqual([
      'id INTEGER',
      'note TEXT',
      'share DOUBLE',
      'amount DECIMAL',
      'moved TIMESTAMPTZ',
      'gone_at TIMESTAMPTZ',
    ])
    // The settings of a saved pipeline may be wrong; the look-up helps to correct them.
    const saved = request({ cursorColumn: 'no' }, 'select 1 as one, now() as "At"')
    expect((await find('columns', saved))?.map(({ id }) => id)).toEqual(['one', 'At'])
    await expect(find('columns', unsaved)).rejects.toMatchObject({ code: 'NOTHING_TO_READ' })
  })

  it('allow a reset of the cursor without a time', async () => {
    expect(await harness.sources.getCursorKind(type, request().settings)).toBe('OPAQUE')
    expect(
      await harness.sources.getCursorKind(type, { ...(request().settings as object), incremental: undefined }),
    ).toBe('NONE')
  })
})
