import { afterAll, describe, expect, it } from '@jest/globals'
import { plainSql, sql } from '../src/sql-warehouse/sql-statement.ts'
import { tsqlAccess } from '../src/tsql/tsql-settings.ts'
import { sqlServerDialect } from '../src/tsql/tsql-dialect.ts'
import { tsqlTypes } from '../src/tsql/column-types.ts'
import type { RowContent } from '../src/warehouse.ts'
import { columns, given, never } from './row-fixtures.ts'
import { type StandIn, type Statement, tdsStandIn } from './tds/tds-server-stand-in.ts'
import type { Answer } from './tds/responses.ts'
import { binary, numberedTuples, tuple } from './copy-tuples.ts'

const place = { schema: 'health', name: 'sluice~load_1' }

describe('the SQL Server driver, against a TDS stand-in', () => {
  const servers: StandIn[] = []
  afterAll(async () => {
    for (const server of servers) await server[Symbol.asyncDispose]()
  })

  async function dialectOn(answer: (statement: Statement) => Answer | Promise<Answer>, refuse = {}) {
    const server = await tdsStandIn({ answer, ...refuse })
    servers.push(server)
    const url = `mssql://sa:secret@127.0.0.1:${server.port}?encrypt=false`
    const dialect = sqlServerDialect(tsqlAccess(url, { key: 'abc', loadPassword: 'l', readPassword: 'r' }))
    return { server, dialect }
  }

  const filling = (types: Record<string, string>) => ({
    place,
    run: 'r',
    attempt: 1,
    quotedPlace: '"health"."cases"',
    columns: columns(types).map((column) => ({
      name: column.name,
      label: column.label,
      type: tsqlTypes.sqlType(column),
      nullable: true,
      stored: column,
    })),
  })

  const bulk = (server: StandIn) => server.statements.find(({ rows }) => rows)!

  it('sends values of every type exactly', async () => {
    const { server, dialect } = await dialectOn(() => undefined)
    const types = {
      small: 'SMALLINT',
      whole: 'INTEGER',
      big: 'BIGINT',
      money: 'DECIMAL(30,4)',
      any: 'DECIMAL',
      cents: 'DECIMAL(5,2)',
      rough: 'FLOAT',
      double: 'DOUBLE',
      yes: 'BOOLEAN',
      uid: 'CHARACTER_11',
      short: 'VARCHAR_50',
      note: 'TEXT',
      day: 'DATE',
      at: 'TIMESTAMP',
      moment: 'TIMESTAMPTZ',
      more: 'JSONB',
    }
    const row = [
      '-32768',
      '2147483647',
      '-9223372036854775808',
      '-12345678901234567890123456.7891',
      '1e-20',
      '-0.05',
      '1.5',
      '0.1',
      't',
      'abcdefghijk',
      'é😀',
      `a\tb\n${'ü'.repeat(40)}😀`,
      '0001-01-01',
      '1969-12-31 23:59:59.123456',
      '2026-01-01 12:00:00+02',
      '{"a": [1, null]}',
    ]
    const poured = await dialect.copyRows(filling(types), given([row, row.map(() => null)]), never)
    expect(poured.rows).toBe(2)
    expect(bulk(server).rows).toEqual([
      [
        -32768,
        2147483647,
        '-9223372036854775808',
        '-12345678901234567890123456.7891',
        '0.00000000000000000001',
        '-0.05',
        1.5,
        0.1,
        true,
        'abcdefghijk',
        'é😀',
        `a\tb\n${'ü'.repeat(40)}😀`,
        '0001-01-01',
        '1969-12-31 23:59:59.123456',
        '2026-01-01 10:00:00.000000 +0',
        '{"a": [1, null]}',
      ],
      row.map(() => null),
    ])
    expect(bulk(server).text).toContain('insert bulk [health].[sluice~load_1]([small] smallint')
    expect(bulk(server).text).toContain('WITH (KEEP_NULLS,TABLOCK)')
  })

  it('sends many rows in chunks whose memory is overwritten when they are released', async () => {
    const { server, dialect } = await dialectOn(() => undefined)
    const content = binary(() => numberedTuples(60_000, 'some text'))
    expect(await dialect.copyRows(filling({ id: 'INTEGER', name: 'TEXT' }), content, never)).toMatchObject({
      rows: 60_000,
    })
    const rows = bulk(server).rows!
    expect([rows.length, rows[0], rows[59_999]]).toEqual([60_000, [1, 'some text'], [60_000, 'some text']])
  })

  it('quotes column names', async () => {
    const { server, dialect } = await dialectOn(() => undefined)
    await dialect.copyRows(filling({ 'a] int) drop table x --': 'INTEGER' }), given([[1]]), never)
    expect(bulk(server).text).toContain('[a]] int) drop table x --] int')
  })

  it('rejects values that SQL Server cannot store, with the column name', async () => {
    const { server, dialect } = await dialectOn(() => undefined)
    const pour = (type: string, value: string) => dialect.copyRows(filling({ x: type }), given([[value]]), never)
    await expect(pour('DOUBLE', 'NaN')).rejects.toMatchObject({
      code: 'BAD_VALUE',
      message: expect.stringContaining('column "x": SQL Server cannot store the number NaN'),
    })
    await expect(pour('DECIMAL', '1234567890123456789')).rejects.toMatchObject({
      message: expect.stringContaining('more than 18 digits before the decimal point'),
    })
    expect(server.statements.filter(({ rows }) => rows && rows.length > 0)).toEqual([])
  })

  it('rejects with the error of the source or the reason of the abort, unchanged', async () => {
    const { dialect } = await dialectOn(() => undefined)
    const failure = new Error('the remote hung up')
    async function* truncateAfter() {
      yield { bytes: tuple([1]) }
      throw failure
    }
    const shape = filling({ id: 'INTEGER' })
    await expect(dialect.copyRows(shape, binary(truncateAfter), never)).rejects.toBe(failure)
    const stop = new AbortController()
    const reason = new Error('cancelled')
    const endless: RowContent = binary(async function* () {
      for (;;) {
        yield { bytes: tuple([1]) }
        stop.abort(reason)
        await new Promise((resolve) => setImmediate(resolve))
      }
    })
    await expect(dialect.copyRows(shape, endless, stop.signal)).rejects.toBe(reason)
  })

  it('binds values as parameters, and returns bigint values as numbers only if they are exact', async () => {
    const { server, dialect } = await dialectOn(() => ({
      columns: [
        ['n', 'bigint'],
        ['big', 'bigint'],
        ['text', 'text'],
        ['yes', 'bit'],
      ],
      rows: [['12', '9007199254740993', '12', true]],
    }))
    await using session = await dialect.open({ role: 'service' })
    const rows = await session.rows(sql`select * from t where a = ${`x' or 1 = 1`} and b = ${7} and c = ${null}`)
    expect(rows).toEqual([{ n: 12, big: '9007199254740993', text: '12', yes: true }])
    expect(server.statements.at(-1)).toEqual({
      text: 'select * from t where a = @p1 and b = @p2 and c = @p3',
      values: [`x' or 1 = 1`, '7', null],
    })
  })

  it('begins, commits and rolls back transactions', async () => {
    const { server, dialect } = await dialectOn(({ text }) =>
      text.includes('fails') ? { number: 1222, message: 'Lock request time out period exceeded.' } : undefined,
    )
    await using session = await dialect.open({ role: 'service' })
    await session.transaction(() => session.execute(plainSql('select 1')))
    const failing = session.transaction(() => session.execute(plainSql('this fails')))
    const error = await failing.catch((thrown: unknown) => thrown)
    expect(dialect.explain(error)).toMatchObject({ code: 'WAREHOUSE_BUSY', retryable: true })
    const told = server.statements.map(({ text }) => text).filter((text) => !/^set /i.test(text))
    expect(told).toEqual(['BEGIN', 'select 1', 'COMMIT', 'BEGIN', 'this fails', 'ROLLBACK'])
  })

  it('reads decimals as text if the driver would lose digits', async () => {
    const { server, dialect } = await dialectOn(({ text }) =>
      text.includes('sp_describe_first_result_set')
        ? {
            columns: [
              ['is_hidden', 'bit'],
              ['column_ordinal', 'int'],
              ['name', 'text'],
              ['system_type_name', 'text'],
            ],
            rows: [
              [false, 1, 'id', 'int'],
              [false, 2, 'sum', 'numeric(38,4)'],
              [true, 3, 'hidden', 'int'],
            ],
          }
        : {
            columns: [
              ['c1', 'int'],
              ['', 'text'],
            ],
            rows: [[1, '12345678901234567890.1200']],
          },
    )
    await using session = await dialect.open({ role: 'read' })
    const text = 'with few as (select 1 as id) select id, sum(x) as sum from few where id > $1 group by id order by id;'
    const [first] = await Array.fromAsync(session.read(text, ['0'], { rows: 10, bytes: () => 1e6 }))
    expect(first).toMatchObject({
      columns: [
        { name: 'id', dataType: 'INTEGER' },
        { name: 'sum', dataType: 'DECIMAL', precision: 38, scale: 4 },
      ],
      rows: [[1, '12345678901234567890.1200']],
    })
    expect(server.statements.at(-1)?.text).toBe(
      `with few as (select 1 as id) select c1, convert(varchar(60), c2) from (
select id, sum(x) as sum from few where id > @p1 group by id
) as user_query(c1, c2) order by c1 `,
    )
  })

  it('can use the connection again after reading only a part of a result', async () => {
    const many = Array.from({ length: 5_000 }, (_, index) => [index + 1, 'x'.repeat(50)])
    const { dialect } = await dialectOn(({ text }) =>
      text.includes('sp_describe')
        ? { columns: [['name', 'text']], rows: [] }
        : {
            columns: [
              ['id', 'int'],
              ['name', 'text'],
            ],
            rows: many,
          },
    )
    await using session = await dialect.open({ role: 'read' })
    const seen: unknown[] = []
    for await (const { rows } of session.read('select id, name from t', [], { rows: 100, bytes: () => 1e6 })) {
      seen.push(...rows.map(([id]) => id))
      if (seen.length >= 300) break
    }
    expect(seen.slice(0, 300)).toEqual(Array.from({ length: 300 }, (_, index) => index + 1))
    expect(await session.rows(plainSql('select 1'))).toHaveLength(5_000)
  })

  it('cancels a statement on the server at the time limit or when the signal aborts', async () => {
    const asked = Promise.withResolvers<void>()
    const { server, dialect } = await dialectOn(({ text }) => {
      if (!text.includes('slow')) return undefined
      if (text.includes('very')) asked.resolve()
      return new Promise<Answer>(() => {})
    })
    await using late = await dialect.open({ role: 'read', seconds: 1 })
    const error = await late.execute(plainSql('slow')).catch((thrown: unknown) => thrown)
    expect(dialect.explainQuery(error, 1)).toMatchObject({ code: 'QUERY_TIMEOUT' })
    const stop = new AbortController()
    const reason = new Error('gone')
    await using session = await dialect.open({ role: 'read', signal: stop.signal })
    const running = session.execute(plainSql('very slow'))
    await asked.promise
    stop.abort(reason)
    await expect(running).rejects.toBe(reason)
    expect(server.attentions).toBe(2)
  })

  it('distinguishes rejected credentials from an unreachable server', async () => {
    const refuse = ({ user }: { user: string }) => ({ number: 18456, message: `Login failed for user '${user}'.` })
    const { dialect } = await dialectOn(() => undefined, { refuse })
    const error = await dialect.open({ role: 'load' }).catch((thrown: unknown) => thrown)
    expect(dialect.explain(error)).toMatchObject({ code: 'WAREHOUSE_ACCESS_DENIED' })
    const url = 'mssql://sa:secret@127.0.0.1:1?encrypt=false'
    const nowhere = sqlServerDialect(tsqlAccess(url, { key: 'abc', loadPassword: 'l', readPassword: 'r' }))
    const away = await nowhere.open({ role: 'load' }).catch((thrown: unknown) => thrown)
    expect(nowhere.explain(away)).toMatchObject({ code: 'WAREHOUSE_UNAVAILABLE', retryable: true })
  })
})
