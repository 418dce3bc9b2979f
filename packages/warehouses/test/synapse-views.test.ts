import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { writeEntry } from '../src/sql-warehouse/publication-ledger.ts'
import { synapseDialect } from '../src/synapse/synapse-dialect.ts'
import type { ViewDefinition } from '../src/view-store.ts'
import { columns, loadAll, never, numbered } from './row-fixtures.ts'
import { texts } from './tds/response-rules.ts'
import { synapseRefusal } from './tds/synapse-refusals.ts'
import { type SynapseUnderTest, synapseStandIn } from './synapse-stand-in.ts'

const shape = columns({ id: 'INTEGER', name: 'TEXT' })
const wider = columns({ id: 'BIGINT', name: 'TEXT' })
const limits = { seconds: 10 }

describe('views in Synapse, against a stand-in', () => {
  let pool: SynapseUnderTest
  beforeAll(async () => {
    pool = await synapseStandIn()
    await pool.warehouse.catalog.ensureSchema('health')
    await loadAll(pool.warehouse, { table: 'seen', columns: shape }, numbered(1))
  })
  afterAll(async () => {
    await pool?.[Symbol.asyncDispose]()
  })
  let from = 0
  beforeEach(() => {
    from = pool.server.statements.length
    pool.instead = () => undefined
  })
  /** What was done to tables and views since the test began, hidden names without what tells them apart. */
  const done = () =>
    pool.server.statements
      .slice(from)
      .map(({ text }) => text.replaceAll(/(sluice~\w+?)_\w+/g, '$1').replaceAll('c_abc_health', 'health'))
      .filter((text) => /^(rename|create view|alter view|if object_id)/.test(text))
  const view = (definition: Partial<ViewDefinition>) =>
    pool.warehouse.views.define(
      {
        id: 'v',
        schema: 'health',
        name: 'above',
        query: 'select id, name from seen',
        materialized: false,
        ...definition,
      },
      limits,
      never,
    )

  it('are first created under a hidden name, and under their own name after the decision', async () => {
    expect(await view({})).toEqual({ reads: [{ schema: 'health', name: 'seen' }] })
    expect(done()).toEqual([
      'create view [health].[sluice~view] as\nselect id, name from [health].[seen]',
      expect.stringContaining('drop view [health].[sluice~view]'),
      'create view [health].[above] as\nselect id, name from [health].[seen]',
    ])
    expect(await pool.warehouse.views.find('health', 'above')).toMatchObject({ materialized: false })
    expect(await pool.warehouse.views.listReads('health', 'above')).toEqual([{ schema: 'health', name: 'seen' }])
  })

  it('belong to a user without privileges from their creation, also in a schema of an earlier version', async () => {
    pool.memory.takeBack('c_abc_health')
    await view({})
    const said = pool.server.statements.slice(from).map(({ text }) => text)
    const made = said.findIndex((text) => text.startsWith('create view'))
    expect(said[made - 1]).toBe(
      `if exists (select 1 from sys.schemas where name = N'c_abc_health' and principal_id <> isnull(user_id(N'c_abc_views'), 0)) exec(N'alter authorization on schema::[c_abc_health] to [c_abc_views]; grant select on schema::[c_abc_health] to [c_abc_load], [c_abc_read]')`,
    )
    expect(pool.memory.exposed).toEqual([])
  })

  it.each([
    'select * from c_xyz_health.secret',
    'select s.n from seen as s join [c_xyz_health].[secret] as t on 1 = 1',
    'select id from dbo.seen',
  ])('that read tables outside the organisation are rejected before anything is created: %s', async (query) => {
    const tables = pool.memory.names()
    const defining = view({ id: 'w', name: 'beyond', query })
    await expect(defining).rejects.toMatchObject({ code: 'SQL_NOT_ALLOWED' })
    expect([done(), pool.memory.names()]).toEqual([[], tables])
  })

  it('that an earlier version stored as a decision are skipped if they read outside the organisation', async () => {
    const dialect = synapseDialect(pool.access)
    const place = { schema: 'health', name: 'reaching' }
    const steps = [{ kind: 'VIEW' as const, place, query: 'select * from c_xyz_health.secret' }]
    await using session = await dialect.open({ role: 'service' })
    await writeEntry(dialect, session, 'decisions', 'left', { steps, marks: [], forgotten: [] })
    await loadAll(pool.warehouse, { table: 'seen', columns: shape }, numbered(1))
    expect(pool.memory.ledger.has('decisions')).toBe(false)
    expect(pool.memory.find('c_abc_health', 'reaching')).toBeUndefined()
  })

  it('are changed in place with ALTER VIEW', async () => {
    await view({ query: 'select id from seen' })
    expect(done().at(-1)).toBe('alter view [health].[above] as\nselect id from [health].[seen]')
    await view({})
  })

  it('stay unchanged if the columns of their table stay, and are altered if a type widens', async () => {
    await loadAll(pool.warehouse, { table: 'seen', columns: shape }, numbered(2))
    expect(done().filter((text) => text.includes('view'))).toEqual([])
    await loadAll(pool.warehouse, { table: 'seen', columns: wider }, numbered(3))
    expect(done().slice(-6)).toEqual([
      'create view [health].[sluice~view] as\nselect id, name from [health].[sluice~load]',
      expect.stringContaining('drop view [health].[sluice~view]'),
      'rename object [health].[seen] to [sluice~aside]',
      'rename object [health].[sluice~load] to [seen]',
      'alter view [health].[above] as\nselect id, name from [health].[seen]',
      expect.stringContaining('drop table [health].[sluice~aside]'),
    ])
    expect(await pool.warehouse.views.isManaged('v')).toBe(true)
  })

  it('make the load fail and keep the old table if they are invalid over the new one', async () => {
    pool.instead = ({ text }) =>
      /^create view .*\n.*sluice~load/.test(text) ? { number: 207, message: `Invalid column name 'name'.` } : undefined
    const more = [...wider, ...columns({ more: 'TEXT' })]
    const publishing = loadAll(pool.warehouse, { table: 'seen', columns: more }, [[1, 'x', 'y']])
    await expect(publishing).rejects.toMatchObject({
      code: 'VIEWS_DEPEND',
      message: expect.stringContaining('The old data stays.'),
    })
    expect(done().filter((text) => text.startsWith('rename'))).toEqual([])
    expect((await pool.warehouse.catalog.findTable('health', 'seen'))?.columns).toHaveLength(2)
  })

  it('that are materialised are filled in a new table that replaces the old one by renames', async () => {
    const own = {
      id: 'm',
      name: 'kept',
      query: 'with some as (select id from seen) select id from some',
      materialized: true,
    }
    pool.instead = ({ text }) => (text.startsWith('with some as') ? texts(['id'], [[1]]) : undefined)
    await view(own)
    expect(pool.memory.names().filter((name) => name.includes('kept'))).toEqual(['c_abc_health.kept'])
    const said = pool.server.statements.slice(from).map(({ text }) => text)
    expect(said).toContain(
      'create table [#sluice] with (heap, distribution = round_robin) as\nwith some as (select id from [c_abc_health].[seen]) select [id] from (\nselect id from some\n) as user_query([id]) ',
    )
    from = pool.server.statements.length
    await pool.warehouse.views.refresh('health', 'kept', never)
    expect(done().filter((text) => text.startsWith('rename'))).toEqual([
      'rename object [health].[kept] to [sluice~aside]',
      'rename object [health].[sluice~view] to [kept]',
    ])
    expect(await pool.warehouse.views.find('health', 'kept')).toMatchObject({ materialized: true, populated: true })
  })

  it('are completed by the next lookup if the connection is lost after the decision', async () => {
    const defined = async (name: string) => view({ id: name, name })
    await defined('whole')
    const said = pool.server.statements.slice(from).map(({ text }) => text)
    const all = said.slice(said.indexOf('BEGIN'))
    const decided = all.indexOf('COMMIT')
    for (let cut = decided + 2; cut <= all.length; cut += 1) {
      const name = `cut${cut}`
      pool.cutAt(cut, cut % 2 === 0)
      await expect(defined(name)).rejects.toMatchObject({ retryable: true })
      expect(await pool.warehouse.views.isManaged(name)).toBe(true)
      expect(await pool.warehouse.views.find('health', name)).toMatchObject({ managed: { id: name } })
    }
    expect(all.length).toBeGreaterThan(decided + 2)
  })

  it('prevent dropping the table that they read, and can be dropped themselves', async () => {
    await expect(pool.warehouse.catalog.dropTable('health', 'seen')).rejects.toMatchObject({ code: 'VIEWS_DEPEND' })
    await pool.warehouse.views.drop('health', 'kept')
    expect(await pool.warehouse.views.find('health', 'kept')).toBeUndefined()
    expect(pool.memory.exposed).toEqual([])
    expect(pool.memory.refused).toEqual([])
  })
})

describe('the stand-in for a Synapse pool', () => {
  it.each([
    'exec @taken = sp_getapplock @Resource = 1',
    `exec sp_rename N'[a].[b]', N'c', N'OBJECT'`,
    'select * from t order by n offset 0 rows fetch next 5 rows only',
    'insert into [a].[b] ([c]) exec sp_executesql @p1',
    'with a as (select 1 as n) insert into t select n from a',
    'insert into [a].[b] ([c]) with a as (select 1 as n) select n from a',
    'create table t (id int primary key)',
    'drop table if exists [a].[b]',
    'create table t (x nvarchar(max) null)',
    'create table #t as select 1 as n',
    'select name from sys.dm_exec_describe_first_result_set(@p1, null, 0)',
  ])('rejects %s', (text) => {
    expect(synapseRefusal(text, false)).toBeDefined()
  })

  it.each([
    'create table t (x int) with (heap)',
    'rename object [a].[b] to [c]',
    `if object_id(N'a', N'U') is not null drop table [a]`,
  ])('accepts %s only outside a transaction', (text) => {
    expect([synapseRefusal(text, false), synapseRefusal(text, true)?.number]).toEqual([undefined, 111_212])
  })
})
