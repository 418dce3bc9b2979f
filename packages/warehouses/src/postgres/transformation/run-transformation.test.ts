import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { drawCount } from '@sluice/testing/random-case-count'
import fc from 'fast-check'
import { leftovers } from '../../../test/find-leftover-tables.ts'
import { columns, loadAll, never, numbered, stage } from '../../../test/row-fixtures.ts'
import { connectedAs, scratchWarehouseForAll, word } from '../../../test/scratch-warehouse.ts'
import { openPostgresWarehouse } from '../postgres-warehouse.ts'

const two = columns({ id: 'INTEGER', name: 'TEXT' })

describe('a transformation of staged rows in PostgreSQL', () => {
  const scratch = scratchWarehouseForAll()
  let table: string

  beforeEach(async () => {
    table = word('cases_')
    await loadAll(scratch.warehouse, { table, columns: two }, numbered(3, 'old'))
  })

  async function transformed(
    statements: string[],
    { run = word('run'), signal = never, description = 'Tidy up' } = {},
  ) {
    await using load = await stage(scratch.warehouse, { table, columns: two, run }, numbered(4, 'new'))
    await scratch.warehouse.loader.transform(
      [load],
      statements.map((statement) => ({ statement, description })),
      signal,
    )
    return await scratch.warehouse.loader.publish([load], async () => true, signal)
  }
  const rowsOf = async () =>
    (await scratch.warehouse.queries.readTable('health', table, { limit: 100, offset: 0 })).rows
  const found = () => scratch.warehouse.catalog.findTable('health', table)

  it('changes staged rows by the table name alone, and reads published rows by the name with the schema', async () => {
    const { rows } = await transformed([
      `update ${table} set name = upper(name) where id > 1`,
      `delete from ${table} where id = 1`,
      `insert into ${table} select id + 100, name from health.${table} where id = 3`,
    ])
    expect(rows).toBe(4)
    expect(await rowsOf()).toEqual([
      [2, 'NEW'],
      [3, 'NEW'],
      [4, 'NEW'],
      [103, 'old'],
    ])
    expect([(await found())?.rowCount, await leftovers(scratch.superuser)]).toEqual([4, []])
  })

  it.each([
    ['removes', 'deallocate all'],
    [
      'replaces',
      `do $x$ begin execute 'deallocate all'; execute 'prepare sluice_shapes (text[], text[]) as select 1'; end $x$`,
    ],
  ])('may be one that %s the prepared statements of its connection', async (_, statement) => {
    expect((await transformed([statement])).rows).toBe(4)
    expect((await transformed([statement])).rows).toBe(4)
    expect((await rowsOf()).length).toBe(4)
  })

  it('is stopped when it holds too many locks, and readers continue', async () => {
    const grab = `do $x$ declare i int := 0; begin loop i := i + 1;
      begin execute 'create table q_' || i || ' ()'; exception when others then null; end; end loop; end $x$`
    const done = transformed([grab]).catch((error: unknown) => error)
    const looks: number[] = []
    const over = new AbortController()
    void done.then(() => over.abort())
    while (!over.signal.aborted) {
      const begun = performance.now()
      await rowsOf()
      looks.push(performance.now() - begun)
      await sleep(50)
    }
    const error = await done
    expect(error).toMatchObject({
      code: 'TRANSFORMATION_FAILED',
      message: expect.stringMatching(/was stopped because it held .* locks/),
    })
    expect(looks.length).toBeGreaterThan(0)
    expect(await leftovers(scratch.superuser)).toEqual([])
    expect((await rowsOf()).length).toBe(3)
  }, 60_000)

  it('fails if it uses COPY FROM STDIN', async () => {
    await expect(transformed([`copy ${table} from stdin`])).rejects.toMatchObject({
      code: 'TRANSFORMATION_FAILED',
      message: expect.stringContaining('COPY FROM STDIN, which is not available'),
    })
  })

  it('is stopped when the database of the organisation exceeds its size limit', async () => {
    const { rows: sizes } = await scratch.superuser.query(
      'select pg_database_size(current_database())::float8 as bytes',
    )
    await using small = openPostgresWarehouse(scratch.access, { databaseBytes: sizes[0].bytes + 4_000_000 })
    await using load = await stage(small, { table, columns: two, run: word('run') }, numbered(4, 'new'))
    const statement = `insert into ${table} select g, (select string_agg(md5(g::text || i), '') from generate_series(1, 60) i) || pg_sleep(0.001)::text from generate_series(1, 100000) g`
    await expect(small.loader.transform([load], [{ statement }], never)).rejects.toMatchObject({
      code: 'TRANSFORMATION_FAILED',
      message: expect.stringContaining('its limit'),
    })
    await using full = openPostgresWarehouse(scratch.access, { databaseBytes: 1 })
    await expect(stage(full, { table, columns: two }, numbered(1))).rejects.toMatchObject({ code: 'WAREHOUSE_FULL' })
  }, 60_000)

  it('adds, renames and retypes columns with the same statements on every load', async () => {
    const statements = [
      `alter table ${table} add column total integer`,
      `alter table ${table} rename column name to title`,
      `alter table ${table} alter column id type text using 'n' || id`,
    ]
    for (const round of [1, 2, 3]) {
      const { tables } = await transformed(statements)
      if (round > 1) expect(tables[0]!.changes).toEqual([])
      expect((await found())!.columns.map(({ name, dataType }) => `${name} ${dataType}`)).toEqual([
        'id TEXT',
        'title TEXT',
        'total INTEGER',
      ])
      expect((await rowsOf())[0]).toEqual(['n1', 'new', null])
    }
    await transformed([`alter table ${table} drop column name`, `alter table ${table} alter column id type smallint`])
    expect((await found())!.columns.map(({ name, dataType }) => `${name} ${dataType}`)).toEqual(['id SMALLINT'])
  })

  it('can add columns, use helper tables, and recreate the table', async () => {
    const { tables } = await transformed([
      `create table counts as select name, count(*)::int as n from ${table} group by name`,
      `alter table ${table} add column many bigint`,
      `update ${table} set many = n from counts where counts.name = ${table}.name`,
      `create table fresh as select * from ${table} where id < 3`,
      `drop table ${table}`,
      `alter table fresh rename to ${table}`,
      `drop table counts`,
    ])
    expect(tables[0]?.changes).toEqual([{ kind: 'COLUMN_ADDED', column: 'many', to: 'BIGINT' }])
    expect(await rowsOf()).toEqual([
      [1, 'new', '4'],
      [2, 'new', '4'],
    ])
    await transformed([`alter table ${table} add column many bigint`, `update ${table} set many = 1`])
    expect(await rowsOf()).toEqual(numberedWith(4, 'new', '1'))
    expect(await leftovers(scratch.superuser)).toEqual([])
  })
  const numberedWith = (count: number, ...more: unknown[]) =>
    Array.from({ length: count }, (_, index) => [index + 1, ...more])

  it.each([
    ['create table extra as select 1 as one', 'table extra'],
    ['create view seen as select 1 as one', 'view seen'],
    ['create materialized view kept as select 1 as one', 'materialized view kept'],
    ['create sequence numbers', 'sequence numbers'],
    ['create function twice(integer) returns integer language sql as $$ select 2 * $1 $$', 'function twice(integer)'],
    ["create type mood as enum ('ok')", 'type mood'],
    ["create domain code as text check (value <> '')", 'type code'],
  ])('fails if it leaves the object created by %j', async (statement, named) => {
    await expect(transformed([statement])).rejects.toMatchObject({
      code: 'TRANSFORMATION_FAILED',
      message: expect.stringContaining(`created objects that cannot be published: ${named}.`),
    })
    expect([await rowsOf(), await leftovers(scratch.superuser)]).toEqual([numberedWith(3, 'old'), []])
  })

  it('can leave temporary tables and identity columns', async () => {
    for (let round = 1; round <= 2; round++) {
      await transformed([
        `create temporary table helper as select 5 as n`,
        `alter table ${table} add column serial bigint generated always as identity`,
        `update ${table} set name = (select n::text from helper)`,
      ])
      expect((await rowsOf())[3]).toEqual([4, '5', '4'])
    }
  })

  it('keeps indexes, constraints and values of generated columns on every load', async () => {
    for (let round = 1; round <= 3; round++) {
      await transformed([
        `create index on ${table} (name)`,
        `create index by_size on ${table} (length(name))`,
        `alter table ${table} alter column name set not null, add check (id > 0), add primary key (id)`,
        `alter table ${table} add column doubled integer generated always as (id * 2) stored`,
        `alter table ${table} add column big bigserial, add column note text default 'none'`,
      ])
      expect((await rowsOf())[3]).toEqual([4, 'new', 8, '4', 'none'])
      const { rows } = await scratch.superuser.query(
        `select count(*)::int as count from pg_inherits join pg_index on indrelid = inhrelid
         where inhparent = 'health.${table}'::regclass`,
      )
      expect([rows, await leftovers(scratch.superuser)]).toEqual([[{ count: 3 }], []])
    }
  })

  it('produces the same table on every load with random statements', async () => {
    const step = fc.constantFrom<(columns: string[], number: number) => [string[], string[]]>(
      (columns, number) => [
        [`alter table ${table} add column c${number} integer default 7`],
        [...columns, `c${number}`],
      ],
      (columns, number) => [
        [`alter table ${table} rename column ${columns.at(-1)} to r${number}`],
        [...columns.slice(0, -1), `r${number}`],
      ],
      (columns) => [[`alter table ${table} alter column ${columns[0]} type text using ${columns[0]} || 'x'`], columns],
      (columns) =>
        columns.length > 1
          ? [[`alter table ${table} drop column ${columns.at(-1)}`], columns.slice(0, -1)]
          : [[], columns],
      (columns) => [[`create index on ${table} (${columns[0]})`], columns],
      (columns) => [
        [`update ${table} set ${columns.at(-1)} = null where ctid in (select min(ctid) from ${table})`],
        columns,
      ],
      (columns) => [[`delete from ${table} where ctid in (select max(ctid) from ${table})`], columns],
      (columns) => [[`insert into ${table} select * from ${table}`], columns],
      (columns) => [
        [`create table fresh as select * from ${table}`, `drop table ${table}`, `alter table fresh rename to ${table}`],
        columns,
      ],
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 4 }), async (steps) => {
        table = word('same_')
        let names = ['id', 'name']
        const statements = steps.flatMap((one, number) => {
          const [texts, now] = one(names, number)
          names = now
          return texts
        })
        const results: unknown[] = []
        for (let round = 1; round <= 3; round++) {
          const { tables } = await transformed(statements)
          expect(tables[0]!.changes).toEqual([])
          const columns = (await found())!.columns.map(({ name, dataType }) => `${name} ${dataType}`)
          results.push([columns, (await rowsOf()).map((row) => JSON.stringify(row)).toSorted()])
        }
        expect(results[1]).toEqual(results[0])
        expect(results[2]).toEqual(results[0])
      }),
      { numRuns: drawCount({ short: 5, long: 200 }) },
    )
  }, 300_000)

  it('keeps the old rows visible to a reader with an older snapshot during the publication', async () => {
    await using reader = await connectedAs(scratch.access, 'read')
    await reader.query('begin isolation level repeatable read')
    await reader.query('select 1')
    const publishing = transformed([`update ${table} set name = 'x'`])
    await sleep(500)
    const { rows } = await reader.query(`select count(*)::int as count from health.${table}`)
    await reader.query('commit')
    await publishing
    expect(rows).toEqual([{ count: 3 }])
  })

  it.each([
    [
      'select 1 from nowhere',
      /^Statement 2 of the transformation \(“Tidy up”\) failed in line 1: relation "nowhere" does not exist\. The old data stays\.$/,
    ],
    ['select 1;\n select 2', /Statement 2 .* consists of several/],
    ['begin', /Statement 2 .* begins a transaction/],
    ['select\n\n 1/0', /failed: division by zero/],
    ['nonsense', /failed in line 1: syntax error/],
    ["do $$ begin raise exception 'Not yet.'; end $$", /failed: Not yet\. The old data stays\.$/],
    ["copy (select 1) to program 'id'", /permission denied/],
    ['set role postgres', /permission denied|does not exist/],
    ['update sluice.ledger set attempt = 9', /permission denied/],
    [`insert into sluice.ledger (run, attempt) values ('another', 1)`, /permission denied/],
    [`select sluice.enter_run('guessed', 'another', 1)`, /takes entries from Sluice only/],
    ['select * from sluice.ledger_key', /permission denied/],
  ])('fails at %j with the number of the statement and the message of the server', async (statement, sentence) => {
    const run = word('run')
    await expect(
      transformed([`update ${table} set name = 'x'`, statement, `delete from ${table}`], { run }),
    ).rejects.toMatchObject({
      code: 'TRANSFORMATION_FAILED',
      retryable: false,
      message: expect.stringMatching(sentence),
    })
    expect(await rowsOf()).toEqual(numberedWith(3, 'old'))
    expect([await leftovers(scratch.superuser), await scratch.warehouse.loader.findPublication(run)]).toEqual([
      [],
      undefined,
    ])
  })

  it.each([`drop table`, `create or replace view`])('fails if %s removes the table to publish', async (how) => {
    const statements = how.startsWith('drop')
      ? [`drop table ${table}`]
      : [`alter table ${table} rename to hidden`, `create view ${table} as select * from hidden`]
    await expect(transformed(statements)).rejects.toMatchObject({
      code: 'TRANSFORMATION_FAILED',
      message: expect.stringContaining('Keep it as a plain table'),
    })
    expect([await rowsOf(), await leftovers(scratch.superuser)]).toEqual([numberedWith(3, 'old'), []])
  })

  it('tolerates COMMIT, changed settings and a large result', async () => {
    await transformed([
      'commit',
      `set statement_timeout = 1`,
      `set search_path = pg_catalog`,
      `select n from generate_series(1, 300000) n`,
      `update ${table} set name = 'x'`,
    ])
    expect(await rowsOf()).toEqual(numberedWith(4, 'x'))
  })

  describe('in a dry run', () => {
    let history: string
    beforeEach(async () => {
      history = word('history_')
      await scratch.warehouse.catalog.ensureSchema(history)
      await loadAll(scratch.warehouse, { schema: history, table: 'log', columns: two }, numbered(2, 'old'))
    })

    const dry = async (...statements: string[]) => {
      await using load = await stage(scratch.warehouse, { table, columns: two, run: word('run') }, numbered(4, 'new'))
      await scratch.warehouse.loader.transform(
        [load],
        statements.map((statement) => ({ statement })),
        never,
        { dry: true },
      )
      return (await scratch.warehouse.loader.plan([load], never))[0]
    }
    const logged = async () =>
      (await scratch.warehouse.queries.readTable(history, 'log', { limit: 100, offset: 0 })).rows

    const catalogue = async () => {
      const { rows } = await scratch.superuser.query<{ entry: string }>(
        `with outside as (select oid from pg_namespace where nspname !~ '^(pg_|sluice|information_schema$)')
         select concat_ws(' ', nspname, nspacl, obj_description(oid, 'pg_namespace')) as entry from pg_namespace where oid in (table outside)
         union all select concat_ws(' ', proname, pg_get_functiondef(oid)) from pg_proc where pronamespace in (table outside)
         union all select typname from pg_type where typnamespace in (table outside)
         union all select enumlabel from pg_enum
         union all select conname from pg_constraint where connamespace in (table outside)
         union all select collname from pg_collation where collnamespace in (table outside)
         union all select dictname from pg_ts_dict where dictnamespace in (table outside)
         union all select oprname from pg_operator where oprnamespace in (table outside)
         union all select concat_ws(' ', relname, relacl) from pg_class where relnamespace in (table outside)
         union all select defaclacl::text from pg_default_acl
         order by 1`,
      )
      return rows.map(({ entry }) => entry)
    }

    it.each([
      ['an inserted row', (to: string) => `insert into ${to}.log select id, name from ${table}`, 'log'],
      ['deleted rows', (to: string) => `delete from ${to}.log`, 'log'],
      ['a truncated table', (to: string) => `truncate ${to}.log`, 'log'],
      ['a dropped table', (to: string) => `drop table ${to}.log`, 'log'],
      ['a created table', (to: string) => `create table ${to}.fresh as select 1 as n`, 'fresh'],
      ['a created function', (to: string) => `create function ${to}.f() returns int return 1`, 'f'],
      ['a created domain', (to: string) => `create domain ${to}.code as text`, 'code'],
      ['a created enumeration type', (to: string) => `create type ${to}.sex as enum ('f', 'm')`, 'sex'],
      ['a created composite type', (to: string) => `create type ${to}.place as (x int, y int)`, 'place'],
    ])('rejects %s in another schema, and rolls it back', async (_what, statement, name) => {
      await expect(dry(`update ${table} set name = 'x'`, statement(history), 'commit')).rejects.toMatchObject({
        code: 'TRANSFORMATION_FAILED',
        message: expect.stringMatching(new RegExp(`also changes .*${history}\\.${name}.*rolled back`)),
      })
      expect(await logged()).toEqual(numberedWith(2, 'old'))
      const { rows } = await scratch.superuser.query(
        `select from pg_class where relname = 'fresh' and relnamespace = $1::regnamespace
         union all select from pg_proc where proname = 'f' and pronamespace = $1::regnamespace
         union all select from pg_type where typname in ('code', 'sex', 'place') and typnamespace = $1::regnamespace`,
        [history],
      )
      expect([rows, await leftovers(scratch.superuser)]).toEqual([[], []])
    })

    it('commits no change in other schemas, including changes that the check does not detect', async () => {
      const [spare, renamed, type] = [word('spare_'), word('renamed_'), word('type_')]
      await using load = await connectedAs(scratch.access, 'load')
      await load.query(`create schema ${spare}; create schema ${renamed}_old;
        create function ${history}.f() returns int return 1; create function ${history}.g() returns int return 1;
        create type ${history}.${type} as (x int); create type ${history}.sex as enum ('f', 'm');
        create domain ${history}.code as text`)
      const changes = [
        `alter schema ${renamed}_old rename to ${renamed}`,
        `create or replace function ${history}.f() returns int return 2`,
        `drop function ${history}.g()`,
        `drop type ${history}.${type}`,
        `drop schema ${spare}`,
        `alter type ${history}.sex add value 'x'`,
        `alter domain ${history}.code add constraint short check (length(value) < 9)`,
        `create collation ${history}.german (locale = 'C')`,
        `create text search dictionary ${history}.plain (template = simple)`,
        `create operator ${history}.=== (function = int4pl, leftarg = int, rightarg = int)`,
        `grant select on ${history}.log to public`,
        `alter default privileges in schema ${history} grant select on tables to public`,
        `comment on schema ${history} is 'changed'`,
        `create temporary table pg_class as select * from pg_catalog.pg_class limit 0`,
        `do $x$ begin begin comment on schema health is 'changed'; exception when others then null; end; end $x$`,
      ]
      const before = await catalogue()
      expect(await dry(`update ${table} set name = 'x' where id = 1`, ...changes)).toMatchObject({ rowsAfter: 4 })
      expect([await catalogue(), await leftovers(scratch.superuser)]).toEqual([before, []])
    })

    it('keeps the columns, values and labels that the statements set', async () => {
      await using load = await stage(
        scratch.warehouse,
        { table, columns: two, run: word('run') },
        numbered(3_000, 'new'),
      )
      const statements = [
        `alter table ${table} add column wide text not null default repeat('x', 2000)`,
        `alter table ${table} add column at timestamptz default '2026-01-02 03:04:05+00'`,
        `alter table ${table} rename column name to "Full name"`,
        `comment on column ${table}.at is 'Seen at'`,
        `update ${table} set "Full name" = null where id = 2`,
        `delete from ${table} where id > 2000`,
        `alter table ${table} add unique (id) deferrable initially deferred`,
        `create index on ${table} (id)`,
        `update ${table} set id = id + 1`,
        `declare open_cursor cursor for select * from ${table}`,
      ]
      await scratch.warehouse.loader.transform(
        [load],
        statements.map((statement) => ({ statement })),
        never,
        { dry: true },
      )
      const { rows } = await scratch.superuser.query(
        `select count(*)::int as rows, count("Full name")::int as names, min(length(wide)) as wide, max(at) as at,
           (select col_description(attrelid, attnum) from pg_attribute where attrelid = $1::regclass and attname = 'at') as label
         from sluice."${load.stagingTable}"`,
        [`sluice."${load.stagingTable}"`],
      )
      expect(rows).toEqual([
        { rows: 2000, names: 1999, wide: 2000, at: new Date('2026-01-02T03:04:05Z'), label: 'Seen at' },
      ])
      expect(await leftovers(scratch.superuser)).toEqual([load.stagingTable])
    })

    it('copies a row that pauses the connection and is the last one', async () => {
      expect(
        await dry(`update ${table} set name = repeat('x', 3000000)`, `delete from ${table} where id > 1`),
      ).toMatchObject({
        rowsAfter: 1,
      })
      expect(await leftovers(scratch.superuser)).toEqual([])
    })

    it('transforms staged rows as a real run does, and reads other tables', async () => {
      const planned = await dry(
        'commit',
        `create temporary table kept as select id from ${history}.log`,
        `delete from ${table} where id in (select id from kept)`,
        `create table fresh as select * from ${table}`,
        `drop table ${table}`,
        `alter table fresh rename to ${table}`,
        `create index on ${table} (id)`,
      )
      expect(planned).toMatchObject({ table, rowsBefore: 3, rowsAfter: 2 })
      expect([await rowsOf(), await leftovers(scratch.superuser)]).toEqual([numberedWith(3, 'old'), []])
    })
  })

  it('cannot break later loads by changing role settings or creating functions', async () => {
    await transformed([
      'alter role current_user set default_transaction_read_only = on',
      'alter role current_user set search_path = health',
      `alter role current_user set transaction_timeout = '1ms'`,
      `alter role current_user set statement_timeout = '1ms'`,
      'alter role current_user set exit_on_error = on',
      `create function sluice.prune_ledger(text) returns bigint language sql as 'select 9 / 0'`,
      `create function sluice.enter_run(text, text, text) returns timestamptz language sql as 'select now()'`,
      `create function health.pg_has_role(oid, text) returns boolean language sql as 'select false'`,
    ])
    await using fresh = openPostgresWarehouse(scratch.access)
    await loadAll(fresh, { table, columns: two }, numbered(2))
    expect(await rowsOf()).toHaveLength(2)
    expect(await fresh.upkeep.pruneLedger(30)).toBe(0)
    await expect(fresh.upkeep.check()).rejects.toMatchObject({ code: 'WAREHOUSE_OUTDATED' })
    await scratch.superuser.query(`drop function health.pg_has_role, sluice.prune_ledger(text), sluice.enter_run(text, text, text);
      alter role ${scratch.access.load.user} reset all`)
  })

  it('ends on the server when it is cancelled, and keeps the old rows', async () => {
    const cancel = new AbortController()
    const running = transformed(['select pg_sleep(600)'], { signal: cancel.signal })
    const refused = expect(running).rejects.toThrow('by hand')
    await sleep(700)
    const start = performance.now()
    cancel.abort(new Error('by hand'))
    await refused
    expect(performance.now() - start).toBeLessThan(30_000)
    const { rows } = await scratch.superuser.query(
      `select from pg_stat_activity where query like '%pg_sleep(600)%' and state = 'active' and pid <> pg_backend_pid()`,
    )
    expect([rows, await leftovers(scratch.superuser), await rowsOf()]).toEqual([[], [], numberedWith(3, 'old')])
  })

  it('is removed by sweepStaging with its rows after its run ended', async () => {
    const run = word('run')
    const load = await stage(scratch.warehouse, { table, columns: two, run }, numbered(4))
    await using user = await connectedAs(scratch.access, 'load')
    const schema = `sluice_${load.stagingTable}`.slice(0, 63)
    await user.query(`create schema "${schema}"; comment on schema "${schema}" is '{"run":"${run}"}';
      alter table sluice."${load.stagingTable}" set schema "${schema}"`)
    expect(await scratch.warehouse.upkeep.sweepStaging(async () => new Set([run]))).toBe(0)
    expect(await scratch.warehouse.upkeep.sweepStaging(async () => new Set())).toBe(1)
    expect(await leftovers(scratch.superuser)).toEqual([])
  })

  it.each(['{"run":oops', '{"run":{}}', '{"run":"mine"'])(
    'cannot make sweepStaging drop a table with the comment %j',
    async (comment) => {
      const mine = word('mine_')
      await transformed([`create table sluice.${mine} ()`, `comment on table sluice.${mine} is '${comment}'`])
      expect(await scratch.warehouse.upkeep.sweepStaging(async () => new Set())).toBe(0)
      await scratch.superuser.query(`drop table sluice.${mine}`)
    },
  )

  it('can use all staging tables of a run', async () => {
    const run = word('run')
    const other = `${table}_other`
    await using first = await stage(scratch.warehouse, { table, columns: two, run }, numbered(2, 'a'))
    await using second = await stage(scratch.warehouse, { table: other, columns: two, run }, numbered(1, 'b'))
    await scratch.warehouse.loader.transform(
      [first, second],
      [{ statement: `insert into ${other} select id + 10, name from ${table}` }],
      never,
    )
    const { tables } = await scratch.warehouse.loader.publish([first, second], async () => true, never)
    expect(tables.map(({ rows }) => rows)).toEqual([2, 3])
  })
})
