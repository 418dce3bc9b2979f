import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from '@jest/globals'
import { tsqlAccess } from '../src/tsql/tsql-settings.ts'
import { sqlServerDialect } from '../src/tsql/tsql-dialect.ts'
import type { RowContent } from '../src/warehouse.ts'
import { never } from './row-fixtures.ts'
import type { Answer } from './tds/responses.ts'
import { type StandIn, type Statement, tdsStandIn } from './tds/tds-server-stand-in.ts'
import { binary, tuple } from './copy-tuples.ts'
import { until } from '@sluice/testing/wait-until'

describe('a session of SQL Server, against a stand-in', () => {
  let server: StandIn | undefined
  afterEach(async () => {
    await server?.[Symbol.asyncDispose]()
  })

  async function dialectOn(answer: (statement: Statement) => Answer) {
    server = await tdsStandIn({ answer })
    const url = `mssql://sa:secret@127.0.0.1:${server.port}?encrypt=false`
    return sqlServerDialect(tsqlAccess(url, { key: 'abc', loadPassword: 'l', readPassword: 'r' }))
  }
  const described = (rows: string[][]): Answer => ({
    columns: [
      ['name', 'text'],
      ['system_type_name', 'text'],
    ],
    rows,
  })
  const texts = () => server!.statements.map(({ text }) => text.split(' ', 3).join(' '))

  it('returns the columns of a query without running it', async () => {
    const dialect = await dialectOn(() =>
      described([
        ['id', 'int'],
        ['share', 'numeric(20,4)'],
      ]),
    )
    await using session = await dialect.open({ role: 'read' })
    expect(await session.columns('select id, share from t order by id;')).toMatchObject([
      { name: 'id', type: 'int' },
      { name: 'share', type: 'decimal(20,4)', dataType: 'DECIMAL' },
    ])
    expect(texts()).toEqual(['exec sp_describe_first_result_set @p1,'])
    await expect(session.columns('select 1; drop table t')).rejects.toMatchObject({ code: 'SQL_NOT_ALLOWED' })
  })

  it('runs the query to get its columns if the server cannot describe it', async () => {
    const dialect = await dialectOn(({ text }) =>
      text.includes('sp_describe') ? described([]) : { columns: [['n', 'int']], rows: [[1]] },
    )
    await using session = await dialect.open({ role: 'read' })
    expect(await session.columns('select n from t')).toMatchObject([{ name: 'n', type: 'int' }])
  })

  it('fails if the connection is lost while the caller processes rows', async () => {
    const dialect = await dialectOn(({ text }) =>
      text.includes('sp_describe')
        ? described([['n', 'int']])
        : { columns: [['n', 'int']], rows: Array.from({ length: 1000 }, (_, index) => [index]) },
    )
    await using session = await dialect.open({ role: 'read' })
    const readSlowly = async () => {
      for await (const { rows } of session.read('select n from t', [], { rows: 1, bytes: () => 1_000 })) {
        if (rows[0]?.[0] !== 0) continue
        server!.cut()
        await sleep(50)
      }
    }
    const error = await readSlowly().catch((thrown: unknown) => thrown)
    expect(dialect.explain(error)).toMatchObject({ code: 'WAREHOUSE_UNAVAILABLE' })
  })

  it('sends no statement if the signal is aborted', async () => {
    const dialect = await dialectOn(() => undefined)
    const [stop, reason] = [new AbortController(), new Error('gone')]
    await using session = await dialect.open({ role: 'read', signal: stop.signal })
    stop.abort(reason)
    const rows = session.read('select 1', [], { rows: 1, bytes: () => 1 })
    await expect(Array.fromAsync(rows)).rejects.toBe(reason)
    expect(texts()).toEqual([])
  })

  it('closes the source when the connection is lost', async () => {
    const dialect = await dialectOn(() => undefined)
    let ended = false
    const endless: RowContent = binary(async function* () {
      try {
        for (let sent = 0; ; sent += 1) {
          if (sent === 5) await server?.[Symbol.asyncDispose]()
          yield { bytes: tuple(['x'.repeat(2 * 1024 * 1024)]) }
        }
      } finally {
        ended = true
      }
    })
    const stored = { dataType: 'TEXT' } as const
    const column = { name: 'note', label: 'note', type: 'nvarchar(max)', nullable: true, stored }
    const filling = {
      place: { schema: 'health', name: 'some' },
      columns: [column],
      run: 'r',
      attempt: 1,
      quotedPlace: 'it',
    }
    const error = await dialect.copyRows(filling, endless, never).catch((thrown: unknown) => thrown)
    expect(dialect.explain(error)).toMatchObject({ code: 'WAREHOUSE_UNAVAILABLE' })
    await until(() => ended)
  })
})
