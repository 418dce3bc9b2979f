import { describe, expect, it } from '@jest/globals'
import { formatStatement } from '../sql-warehouse/sql-statement.ts'
import { resolveNames } from '../sql-text/resolve-table-names.ts'
import { tsqlAccess } from './tsql-settings.ts'
import { changesOf } from './statements/tsql-statements.ts'
import { namesOf } from './sql-identifiers.ts'
import { assertSingleQuery, splitQuery } from './statements/assert-single-query.ts'
import { tsqlLanguage, tsqlTokens } from './statements/tokens.ts'
import { typeText, tsqlTypes } from './column-types.ts'

const credentials = { key: 'abc', loadPassword: 'password-of-load', readPassword: 'password-of-read' }
const alone = tsqlAccess('mssql://sa:p%40ss@host', credentials)
const shared = tsqlAccess('mssql://sa:p@host:1444/data?encrypt=false&trustServerCertificate=true', credentials)

describe('tsqlAccess', () => {
  it('gives each organisation its own database, or a schema prefix in the database of the URL', () => {
    expect(alone).toMatchObject({ database: 'c_abc', ownDatabase: true, prefix: '', ledger: 'sluice' })
    expect(alone.master).toMatchObject({ host: 'host', port: 1433, user: 'sa', password: 'p@ss', encrypt: true })
    expect(shared).toMatchObject({ database: 'data', ownDatabase: false, prefix: 'c_abc_', ledger: 'c_abc' })
    expect(shared.logins.read).toMatchObject({ user: 'c_abc_read', encrypt: false, trustServerCertificate: true })
    expect(shared.logins.read.password).not.toContain(credentials.readPassword)
  })
})

describe('names in T-SQL', () => {
  const hostile = `a]b"c'd; drop table x --`
  it('are quoted in every statement', () => {
    const names = namesOf(shared)
    expect(names.place({ schema: 'health', name: hostile })).toBe(`[c_abc_health].[a]]b"c'd; drop table x --]`)
    const { rename, createSchema, createTable } = changesOf(shared, () => true)
    const text = (statement: Parameters<typeof formatStatement>[0]) =>
      formatStatement(statement, (number) => `@p${number}`)
    expect(text(rename({ schema: 'health', name: hostile }, hostile))).toBe(
      `exec sp_rename N'[c_abc_health].[a]]b"c''d; drop table x --]', N'a]b"c''d; drop table x --', N'OBJECT'`,
    )
    expect(createSchema(hostile).map(text)).toEqual([
      `if schema_id(N'c_abc_a]b"c''d; drop table x --') is null exec(N'create schema [c_abc_a]]b"c''d; drop table x --]')`,
      `grant select on schema::[c_abc_a]]b"c'd; drop table x --] to [c_abc_load], [c_abc_read]`,
    ])
    expect(
      text(
        createTable({ schema: 's', name: 't' }, [
          { name: hostile, type: 'nvarchar(max)', nullable: true },
          { name: 'id', type: 'int', nullable: false },
        ]),
      ),
    ).toBe(
      `create table [c_abc_s].[t] ([a]]b"c'd; drop table x --] nvarchar(max) collate Latin1_General_100_BIN2 null, [id] int not null)`,
    )
  })

  it('are rejected if SQL Server reserves or changes them', () => {
    const { check } = namesOf(alone)
    for (const [kind, name] of [
      ['table', '#temp'],
      ['column', 'id '],
      ['schema', 'dbo'],
      ['schema', 'SYS'],
      ['schema', 'db_owner'],
      ['schema', 'sluice'],
    ] as const)
      expect(() => check(kind, name)).toThrow(expect.objectContaining({ code: 'INVALID_NAME' }))
    expect(() => namesOf(shared).check('schema', 'dbo')).not.toThrow()
  })

  it('literal() quotes text, and leaves numbers and null unquoted', () => {
    const { literal } = namesOf(alone)
    expect([`x' or 1 = 1 --`, '12', '-1.50', '007', null].map(literal)).toEqual([
      `N'x'' or 1 = 1 --'`,
      '12',
      '-1.50',
      `N'007'`,
      'null',
    ])
  })

  it('are resolved to full addresses of tables, except in strings, comments and common table expressions', () => {
    const found = (sql: string) => tsqlTokens(sql).map(({ text }) => text)
    expect(found(`select [a]]b], "c""d", N'it''s [not]' /* a /* b */ from */ from #t -- from`)).toEqual([
      'select',
      'a]b',
      ',',
      'c"d',
      ',',
      'from',
      '#t',
    ])
    const around = {
      schemas: ['health'],
      relations: [
        { schema: 'health', name: 'cases' },
        { schema: 'other', name: 'cases' },
      ],
      qualifiesAllTables: true,
      language: tsqlLanguage,
      address: ({ schema, name }: { schema: string; name: string }) => `[db].[${schema}].[${name}]`,
    }
    const texts = {
      'select * from cases c cross apply (select 1) x':
        'select * from [db].[health].[cases] c cross apply (select 1) x',
      'update cases set n = 1 from cases join [other].[cases] o on 1 = 1':
        'update [db].[health].[cases] set n = 1 from [db].[health].[cases] join [db].[other].[cases] o on 1 = 1',
      'delete from cases where [from] = 1': 'delete from [db].[health].[cases] where [from] = 1',
      'merge into cases using "other"."cases" as o on 1 = 1 when matched then delete;':
        'merge into [db].[health].[cases] using [db].[other].[cases] as o on 1 = 1 when matched then delete;',
      [`with cases as (select 1 as n) select * from cases`]: `with cases as (select 1 as n) select * from cases`,
      [`select 'from cases' from #cases`]: `select 'from cases' from #cases`,
    }
    for (const [text, expected] of Object.entries(texts)) expect(resolveNames(text, around).text).toBe(expected)
  })
})

describe('a query in T-SQL', () => {
  it.each([
    'select 1',
    '(select 1) union (select 2)',
    'select 1 union all select 2 except select 3',
    'with a as (select 1 as n), b as (select n from a) select [update], "drop", \'exec\' from b order by n',
    'select * from a inner merge join b on a.x = b.x option (maxrecursion 0)',
    'select next, [value], predict from a -- predict(\n where openxml_rows = 1',
    'select (select max(n) from b) as n, case when 1 = 1 then 2 end from a offset 0 rows',
  ])('can be %s', (text) => {
    expect(() => assertSingleQuery(text)).not.toThrow()
  })

  it.each([
    'drop table t',
    'select 1 select 2',
    'select 1; select 2',
    'select 1 drop table t',
    'select 1) as q; drop table t; select * from (select 1',
    'select * into t from u',
    "select * from openrowset(bulk '\\\\host\\share', single_blob) as x",
    "select 1 waitfor delay '1:00'",
    'with a as (select 1 as n) delete from a',
    "exec xp_dirtree '\\\\host\\share'",
    'declare @x int select @x',
    'select 1 /* /* */ drop table t -- */ revert',
    "select 1 as a --\r waitfor delay '1:00'",
    "select 1 as a --\r '\n waitfor delay '1:00' --'",
    "select * from openxml(1, '/a')",
    'select * from predict(model = @m, data = t) with (n float)',
    'select * from PREDICT (model = @m, data = t) with (n float)',
    'select next value for s.numbers as n',
    'select @@version',
    'with a as (select 1 as n)',
    '',
  ])('cannot be %s', (text) => {
    expect(() => assertSingleQuery(text)).toThrow(expect.objectContaining({ code: 'SQL_NOT_ALLOWED' }))
  })

  it('is checked again when a view is created from it', () => {
    const { createView } = changesOf(alone, () => true)
    const made = (text: string) => createView({ schema: 'health', name: 'v' }, text).length
    expect(made('select 1 as n union all select 2 order by n;')).toBe(2)
    for (const text of ['select 1 as n; drop table t', 'select 1 as n drop table t'])
      expect(() => made(text)).toThrow(expect.objectContaining({ code: 'SQL_NOT_ALLOWED' }))
  })

  it('is split into WITH, body, order and OPTION', () => {
    expect(splitQuery('with a as (select 1 as n) select n from a order by n option (recompile)')).toEqual({
      withClause: 'with a as (select 1 as n) ',
      body: 'select n from a order by n ',
      orderByStart: 42,
      isOrderEmbeddable: false,
      optionClause: 'option (recompile)',
    })
    expect(splitQuery('select top (5) * from t order by n')).toMatchObject({
      withClause: '',
      isOrderEmbeddable: true,
    })
    expect(splitQuery('select * from t order by n offset 5 rows')).toMatchObject({ isOrderEmbeddable: true })
    expect(splitQuery('select row_number() over (order by n) as n from t')).toMatchObject({
      orderByStart: undefined,
    })
  })
})

describe('types of SQL Server', () => {
  it('map data types to SQL types and back without a change', () => {
    const columns = [
      'SMALLINT',
      'INTEGER',
      'BIGINT',
      'FLOAT',
      'DOUBLE',
      'BOOLEAN',
      'DATE',
      'TIMESTAMP',
      'TIMESTAMPTZ',
    ] as const
    for (const dataType of [...columns, 'CHARACTER_11', 'VARCHAR_50', 'VARCHAR_255', 'TEXT', 'DECIMAL'] as const)
      expect(tsqlTypes.describe(tsqlTypes.sqlType({ dataType }))).toEqual({ dataType })
    expect(tsqlTypes.sqlType({ dataType: 'DECIMAL', precision: 30, scale: 4 })).toBe('decimal(30,4)')
    expect(tsqlTypes.sqlType({ dataType: 'DECIMAL', precision: 39, scale: 4 })).toBe('nvarchar(max)')
    expect(tsqlTypes.describe('decimal(30,4)')).toEqual({ dataType: 'DECIMAL', precision: 30, scale: 4 })
    expect(tsqlTypes.sqlType({ dataType: 'JSONB' })).toBe('nvarchar(max)')
  })

  it('widen without loss in both orders', () => {
    const widest = (one: string, other: string) => [tsqlTypes.widest(one, other), tsqlTypes.widest(other, one)]
    expect(widest('int', 'bigint')).toEqual(['bigint', 'bigint'])
    expect(widest('decimal(5,2)', 'bigint')).toEqual(['decimal(21,2)', 'decimal(21,2)'])
    expect(widest('decimal(38,20)', 'bigint')).toEqual(['nvarchar(max)', 'nvarchar(max)'])
    expect(widest('int', 'real')).toEqual(['float', 'float'])
    expect(widest('bigint', 'float')).toEqual(['nvarchar(max)', 'nvarchar(max)'])
    expect(widest('nvarchar(22)', 'nvarchar(510)')).toEqual(['nvarchar(510)', 'nvarchar(510)'])
    expect(widest('nvarchar(100)', 'int')).toEqual(['nvarchar(max)', 'nvarchar(max)'])
    expect(widest('date', 'datetime2(6)')).toEqual(['datetime2(6)', 'datetime2(6)'])
  })

  it('are read from the size, precision and scale of the catalogue', () => {
    const size = { max_length: 0, precision: 0, scale: 0 }
    expect(typeText({ ...size, type: 'nvarchar', max_length: 44 })).toBe('nvarchar(22)')
    expect(typeText({ ...size, type: 'nvarchar', max_length: -1 })).toBe('nvarchar(max)')
    expect(typeText({ ...size, type: 'numeric', precision: 9, scale: 2 })).toBe('decimal(9,2)')
    expect(typeText({ ...size, type: 'datetime2', scale: 6 })).toBe('datetime2(6)')
    expect(typeText({ ...size, type: 'int', precision: 10 })).toBe('int')
  })
})
