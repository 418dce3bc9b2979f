import { beforeAll, describe, expect, it } from '@jest/globals'
import { until } from '@sluice/testing/wait-until'
import { columns, loadAll, never, numbered } from '../../test/row-fixtures.ts'
import { scratchWarehouseForAll } from '../../test/scratch-warehouse.ts'
import type { QueryRows, UserQuery } from '../warehouse.ts'

describe('queries of users in a PostgreSQL warehouse', () => {
  const scratch = scratchWarehouseForAll()
  beforeAll(async () => {
    const two = columns({ id: 'INTEGER', name: 'VARCHAR_50' })
    await loadAll(scratch.warehouse, { table: 'numbers', columns: two }, numbered(2_500))
  })

  const ask = (text: string, more: Partial<UserQuery> = {}, signal?: AbortSignal) =>
    scratch.warehouse.queries.query({ text, schemas: ['health'], ...more }, signal)
  const problemOf = async (text: string, more?: Partial<UserQuery>) => {
    const answer: unknown = await ask(text, more).catch((error: unknown) => error)
    const { code, message } = answer as { code: string; message: string }
    return [code, message]
  }

  it.each([
    'select 1 as n',
    ' with x as (select 1 as n) select * from x;',
    'values (1)',
    '(table one)',
    '-- why\nselect 1',
  ])('runs %s', async (text) => {
    await scratch.superuser.query('create or replace view health.one as select 1')
    await scratch.superuser.query(`grant select on health.one to ${scratch.access.read.user}`)
    expect((await ask(text)).rows).toEqual([[1]])
  })

  it('compares numeric values as numbers, and rejects a comparison of a text column with a number', async () => {
    const rowsOf = async (text: string, ...values: string[]) => (await ask(text, { values })).rows
    expect(await rowsOf('select id from numbers where id > $1 order by id limit $2', '2498', '5')).toEqual([
      [2499],
      [2500],
    ])
    expect(await rowsOf(`select smallint '9' > $1, 1.5 > $2, date '2026-01-31' + $3`, '100000', '1.25', '1')).toEqual([
      [false, true, '2026-02-01'],
    ])
    expect(await rowsOf(`select '007' = $1, date '2026-01-31' > $2, 'x' < $3`, '007', '2026-01-01', 'y')).toEqual([
      [true, true, true],
    ])
    const [code, message] = await problemOf('select id from numbers where name > $1', { values: ['500'] })
    expect([code, message]).toEqual(['QUERY_FAILED', expect.stringContaining('character varying > integer')])
  })

  it('returns the columns with their types and with unique names', async () => {
    const { columns, rows } = await ask(
      `select 1::smallint as a, 2 as a, 3::bigint as a_2, 1.5::numeric(5,2), 'x'::varchar(60), 'y'::char(11), 'z',
         true, '{"a":1}'::jsonb, date '2026-01-01', timestamptz '2026-01-01 12:00+02', 'NaN'::float8, uuid_nil, null
       from (select '00000000-0000-0000-0000-000000000000'::uuid as uuid_nil) x`,
    )
    expect(columns.map(({ name, dataType }) => [name, dataType])).toEqual([
      ['a', 'SMALLINT'],
      ['a_3', 'INTEGER'],
      ['a_2', 'BIGINT'],
      ['numeric', 'DECIMAL'],
      ['varchar', 'VARCHAR_255'],
      ['bpchar', 'CHARACTER_11'],
      ['?column?', 'TEXT'],
      ['?column?_2', 'BOOLEAN'],
      ['jsonb', 'JSONB'],
      ['date', 'DATE'],
      ['timestamptz', 'TIMESTAMPTZ'],
      ['float8', 'DOUBLE'],
      ['uuid_nil', 'TEXT'],
      ['?column?_3', 'TEXT'],
    ])
    expect(columns[1]).toMatchObject({ label: 'a' })
    expect(columns[3]).toMatchObject({ precision: 5, scale: 2 })
    expect(rows).toEqual([
      [1, 2, '3', '1.50', 'x', 'y'.padEnd(11), 'z', true, { a: 1 }, '2026-01-01', '2026-01-01 10:00:00+00', 'NaN']
        .concat(['00000000-0000-0000-0000-000000000000'] as never)
        .concat([null] as never),
    ])
  })

  it('returns the columns of a result without rows', async () => {
    const { columns, rows, more } = await ask('select id, name from numbers where false')
    expect(columns.map(({ dataType }) => dataType)).toEqual(['INTEGER', 'VARCHAR_50'])
    expect({ rows, more }).toEqual({ rows: [], more: false })
  })

  it('binds values as parameters, not as SQL', async () => {
    const { rows } = await ask('select $1 as a, count(*)::int from numbers where id < $2 or $3::text is not null', {
      values: [`'; drop table numbers; --`, '11', null],
    })
    expect(rows).toEqual([[`'; drop table numbers; --`, 10]])
  })

  it('skips the rows before the offset, and returns whether there are more rows', async () => {
    const { rows, more, truncated } = await ask('select id from numbers order by id', {
      limits: { rows: 2, offset: 3 },
    })
    expect({ rows, more, truncated }).toEqual({ rows: [[4], [5]], more: true, truncated: false })
    expect((await ask('select id from numbers', { limits: { rows: 2_500 } })).more).toBe(false)
  })

  it('truncates the result at the limit of bytes, and rejects a single larger row', async () => {
    const limits = { bytes: 3 * 1024 * 1024 }
    const page = await ask(`select repeat('m', 1048576) from generate_series(1, 5)`, { limits })
    expect(page).toMatchObject({ truncated: true, more: true })
    expect(page.rows.length).toBeLessThan(4)
    expect(await problemOf(`select repeat('m', 5242880)`, { limits })).toEqual([
      'ROW_TOO_LARGE',
      'One row of the result is larger than the limit of 3 MB. Select fewer columns, or shorten its values.',
    ])
  })

  it.each([
    ['selct 1', 'SQL_NOT_ALLOWED', 'Enter a single query that begins with SELECT, WITH, VALUES or TABLE.'],
    ['select 1; select 2', 'SQL_NOT_ALLOWED', 'Enter a single query that begins with SELECT, WITH, VALUES or TABLE.'],
    ['', 'SQL_NOT_ALLOWED', 'Enter a single query that begins with SELECT, WITH, VALUES or TABLE.'],
    [
      'select 1\nfrom  numbrs',
      'QUERY_FAILED',
      'The query failed in line 2, column 7: relation "numbrs" does not exist. It was deleted or not created yet. Load the table, create the view, or correct the query.',
    ],
    [
      'select n.number from numbers',
      'QUERY_FAILED',
      'The query failed in line 1, column 8: missing FROM-clause entry for table "n".',
    ],
    [
      'select *\n  form numbers',
      'QUERY_FAILED',
      'The query failed in line 2, column 3: syntax error at or near "form".',
    ],
    ['select 1/0', 'QUERY_FAILED', 'The query failed: division by zero.'],
    ['select ${x}', 'QUERY_FAILED', 'The query failed in line 1, column 8: syntax error at or near "$".'],
    [
      'select $1::int + 1',
      'QUERY_FAILED',
      'The query uses a parameter such as $1. Write ${name} for a variable instead.',
    ],
    ['select \0', 'QUERY_FAILED', 'The query contains a NUL character. Remove it.'],
  ])('explains the error of %j', async (text, code, message) => {
    expect(await problemOf(text)).toEqual([code, message])
  })

  it('does not include the value of a variable in an error message', async () => {
    for (const text of ['select $1::int', 'select $1::date', 'select $1::regclass', 'select $1::regrole']) {
      const [code, message] = await problemOf(text, { values: ['Hush.Now-4711'] })
      expect([code, message]).toEqual(['QUERY_FAILED', expect.not.stringMatching(/hush|4711/i)])
    }
  })

  it('formats dates and timestamps independently of the settings of the role in each page', async () => {
    const { database, read } = scratch.access
    await scratch.superuser.query(`alter role ${read.user} in database ${database} set timezone = 'Asia/Tokyo'`)
    await scratch.superuser.query(`alter role ${read.user} in database ${database} set datestyle = 'SQL, DMY'`)
    const pages: QueryRows[] = []
    const text = `select timestamptz '2026-01-31 12:00Z', date '2026-01-31' from generate_series(1, 3)`
    for await (const page of scratch.warehouse.queries.queryPages({ text }, 2, never)) pages.push(page)
    const right = ['2026-01-31 12:00:00+00', '2026-01-31']
    expect(pages.flatMap(({ rows }) => rows)).toEqual([right, right, right])
    await scratch.superuser.query(`alter role ${read.user} in database ${database} reset all`)
  })

  it('reads a large result in pages from one snapshot while a load replaces the table', async () => {
    const pages: QueryRows[] = []
    const text = 'select id, name from numbers order by id'
    for await (const page of scratch.warehouse.queries.queryPages({ text, schemas: ['health'] }, 1_000, never)) {
      pages.push(page)
      // Nothing of the result changes, and the load is not kept waiting.
      if (pages.length === 1)
        await loadAll(
          scratch.warehouse,
          { table: 'numbers', columns: columns({ id: 'INTEGER', name: 'VARCHAR_50' }) },
          numbered(2_500),
        )
    }
    expect(pages.map(({ rows }) => rows.length)).toEqual([1_000, 1_000, 500])
    expect(pages.flatMap(({ rows }) => rows.map(([id]) => id))).toEqual(Array.from({ length: 2_500 }, (_, i) => i + 1))
    expect(pages[0]?.columns.map(({ name }) => name)).toEqual(['id', 'name'])
    for await (const page of scratch.warehouse.queries.queryPages({ text: 'select 1 where false' }, 10, never))
      pages.push(page)
    expect(pages).toHaveLength(3)
  })

  it('ends its session after the caller stops reading, the signal aborts or the row limit is reached', async () => {
    const text = 'select n from generate_series(1, 100000) n'
    const readers = async () =>
      (await scratch.superuser.query('select from pg_stat_activity where usename = $1', [scratch.access.read.user]))
        .rowCount
    for await (const { rows, more } of scratch.warehouse.queries.queryPages(
      { text, limits: { offset: 10 } },
      2,
      never,
    )) {
      expect({ rows, more }).toEqual({ rows: [[11], [12]], more: true })
      break
    }
    const enough = new AbortController()
    const pages = async () => {
      for await (const _ of scratch.warehouse.queries.queryPages({ text }, 100, enough.signal))
        enough.abort(new Error('enough'))
    }
    await expect(pages()).rejects.toThrow('enough')
    const limited: QueryRows[] = []
    for await (const page of scratch.warehouse.queries.queryPages({ text, limits: { rows: 250 } }, 100, never))
      limited.push(page)
    expect(limited.map(({ rows }) => rows.length)).toEqual([100, 100, 50])
    await until(async () => (await readers()) === 0)
  })

  it('listSchemas returns the schemas of the organisation', async () => {
    await scratch.warehouse.catalog.ensureSchema('Another one')
    expect(await scratch.warehouse.catalog.listSchemas()).toEqual(['Another one', 'health'])
  })
})
