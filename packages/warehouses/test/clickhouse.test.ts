import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { openClickHouseWarehouse } from '../src/clickhouse/clickhouse-warehouse.ts'
import { clickhouseMissing, clickhouseServer } from './clickhouse-under-test.ts'
import type { ClientAccess } from '../src/clickhouse/clickhouse-settings.ts'
import { ledgerTable } from '../src/clickhouse/publication-ledger.ts'
import { executeStatement, rowsOf } from '../src/clickhouse/protocol/http-client.ts'
import { runDatabase } from '../src/clickhouse/sql-identifiers.ts'
import { until } from '@sluice/testing/wait-until'
import { loadsSuite } from './loads-suite.ts'
import { publicationsSuite } from './publications-suite.ts'
import type { RowStream } from '@sluice/row-stream'
import { loadRowStreams } from '../src/load-row-streams.ts'
import { columns, given, never, numbered, stage } from './row-fixtures.ts'
import { exportsSuite } from './exports-suite.ts'
import { queriesSuite } from './queries-suite.ts'
import { shapesSuite } from './table-shapes-suite.ts'
import { rowsIn, subjectForAll } from './warehouse-under-test.ts'
import { undoSuite } from './dry-run-and-restore-suite.ts'
import { viewsSuite } from './views-suite.ts'

describe('ClickHouse as a warehouse', () => {
  if (clickhouseMissing !== undefined) {
    it.skip(clickhouseMissing, () => {})
    return
  }
  let access: ClientAccess
  const subject = subjectForAll(async () => {
    const server = await clickhouseServer()
    const others = server.client()
    access = server.client()
    return {
      warehouse: openClickHouseWarehouse(access, { keepDays: 3 }),
      neighbour: openClickHouseWarehouse(others),
      changeNames: `alter table TABLE update name = 'changed' where true`,
      hasUsers: true,
      differs: { integerDivision: 'select id, intDiv(1, id - 4999) as n from counted' },
      spying: async (table) => `select * from \`c_${others.key}_health\`.${table}`,
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    }
  })
  it('plans queries without running their subqueries, except scalar ones for five seconds', async () => {
    const { queries } = subject.warehouse
    const set = 'select number from numbers(5) where number in (select sleepEachRow(1) from numbers(3))'
    expect((await queries.explain({ text: set }, never)).text).toContain('ReadFromSystemNumbers')
    const scalar = 'select (select sum(sleepEachRow(0.1)) from numbers(1000)) as slept'
    const begun = performance.now()
    await expect(queries.explain({ text: scalar }, never)).rejects.toMatchObject({
      code: 'QUERY_TIMEOUT',
      message: expect.stringContaining('computes subqueries that are single values'),
    })
    expect(performance.now() - begun).toBeLessThan(30_000)
  })

  it('abandons a merge that changes no row if one of its tables is dropped meanwhile, and loads again', async () => {
    const { warehouse } = subject
    const keyed = columns({ id: 'INTEGER', name: 'TEXT' }).map((one) => ({ ...one, primaryKey: one.name === 'id' }))
    const tables = ['steady', 'steady__part']
    const merge = async (isCurrentAttempt = async () => true) => {
      const run = randomUUID()
      await using staged = new AsyncDisposableStack()
      const loads = []
      for (const table of tables)
        loads.push(
          staged.use(await stage(warehouse, { table, columns: keyed, run, shape: { merging: true } }, numbered(2))),
        )
      return await warehouse.loader.publish(loads, isCurrentAttempt, never, { mode: 'MERGE', keepsPrevious: true })
    }
    await merge()
    const dropped = merge(async () => {
      await warehouse.catalog.dropTable('health', 'steady__part')
      return true
    })
    await expect(dropped).rejects.toMatchObject({ code: 'WAREHOUSE_BUSY', retryable: true })
    expect(await merge()).toMatchObject({ tables: [{ merged: { added: 0 } }, { merged: { added: 2 } }] })
    for (const table of tables) expect(await rowsIn(warehouse, table)).toEqual(numbered(2))
  })

  it('keeps the staging tables of a decided publication that it cannot complete, and completes it later', async () => {
    const { warehouse } = subject
    const run = randomUUID()
    const tables = ['contested', 'uncontested']
    const parameters = { database: runDatabase(access.key, { run, attempt: 1 }) }
    const contest = new AbortController()
    // As other processes do that publish the same table at the same time.
    const claimRepeatedly = async () => {
      while (!contest.signal.aborted) {
        const [contested] = await rowsOf<{ name: string }>(
          access.service,
          `select name from system.tables where database = {database:String} and name != 'uncontested'`,
          { parameters },
        )
        if (!contested) continue
        const names = [contested.name, `swap_${randomUUID()}`].map((name) => `\`${parameters.database}\`.\`${name}\``)
        await executeStatement(access.service, `rename table ${names.join(' to ')}`)
      }
    }
    let claims = Promise.resolve()
    const publish = async () => {
      await using staged = new AsyncDisposableStack()
      const loads = []
      for (const table of tables) {
        const target = { table, columns: columns({ id: 'INTEGER', name: 'TEXT' }), run }
        loads.push(staged.use(await stage(warehouse, target, numbered(3))))
      }
      const isCurrentAttempt = async () => {
        claims = claimRepeatedly()
        return true
      }
      await warehouse.loader.publish(loads, isCurrentAttempt, never)
    }
    await expect(publish()).rejects.toMatchObject({ code: 'WAREHOUSE_BUSY', retryable: true })
    contest.abort()
    await claims
    expect(await warehouse.loader.fenceRun(run, 1)).toMatchObject({
      tables: [
        { table: 'contested', rows: 3 },
        { table: 'uncontested', rows: 3 },
      ],
    })
    for (const table of tables) expect(await rowsIn(warehouse, table)).toEqual(numbered(3))
    // Only the empty database of the run is left.
    expect(await warehouse.upkeep.sweepStaging(async () => new Set())).toBe(1)
  })

  it('keeps the undo of a run if a later increment of a system changes only the numbers of rows read', async () => {
    const { warehouse } = subject
    const keyed = (types: Record<string, string>, key: string) =>
      columns(types).map((one) => ({ ...one, label: one.name.toUpperCase(), primaryKey: one.name === key }))
    const runs: string[] = []
    const read = async (
      mode: 'REPLACE' | 'MERGE',
      cases: Record<string, string>[],
      rowsRead: number,
      isCurrentAttempt = async () => true,
    ) => {
      runs.push(randomUUID())
      // A system leaves out fields that no record has.
      const names = ['id', 'state', 'note'].filter(
        (name) => name === 'id' || cases.some((one) => Object.hasOwn(one, name)),
      )
      const rowStreams: RowStream[] = [
        {
          table: '',
          columns: keyed({ table_name: 'TEXT', rows_read: 'BIGINT' }, 'table_name'),
          content: given([['system__cases', rowsRead]]),
          listsTables: true,
          cursor: () => ({ rowsRead }),
        },
        {
          table: 'system__cases',
          columns: keyed(Object.fromEntries(names.map((name) => [name, 'TEXT'])), 'id'),
          content: given(cases.map((one) => names.map((name) => one[name] ?? null))),
          sparse: true,
        },
      ]
      return loadRowStreams({
        warehouse,
        rowStreams: (async function* () {
          yield* rowStreams
        })(),
        target: { schema: 'health', table: 'system' },
        run: runs.at(-1)!,
        attempt: 1,
        ...(mode === 'MERGE' && { mode }),
        isCurrentAttempt,
        signal: never,
        rejected: () => ({ count: 0 }),
      })
    }
    const cases = async () =>
      (await rowsIn(warehouse, 'system__cases')).map((row) => row.map(String).join(' ')).toSorted()
    await read(
      'REPLACE',
      [
        { id: '1', state: 'open', note: 'n' },
        { id: '2', state: 'open' },
      ],
      2,
    )
    await read('MERGE', [{ id: '2', state: 'closed' }], 1)
    const merged = ['1 open n', '2 closed null']
    expect(await cases()).toEqual(merged)
    const unchanged = { added: 0, changed: 0, removed: 0 }
    expect(
      (
        await read(
          'MERGE',
          [
            { id: '2', state: 'closed' },
            { id: '1', state: 'open', note: 'n' },
          ],
          2,
        )
      )[1],
    ).toMatchObject({
      table: 'system__cases',
      merged: unchanged,
    })
    await read('MERGE', [{ id: '2', state: 'closed' }], 1)
    await read('MERGE', [], 0)
    await expect(read('MERGE', [{ id: '2', state: 'closed' }], 7, async () => false)).rejects.toThrow()
    expect((await warehouse.loader.findLastLoad('health', 'system')).cursor).toEqual({ rowsRead: 0 })
    expect(await cases()).toEqual(merged)
    // The ledger keeps only the last run that left the tables unchanged, because it has the cursor.
    expect(await warehouse.upkeep.pruneLedger(0)).toBeGreaterThanOrEqual(3)
    const parameters = { runs }
    const listRuns = `select distinct run from ${ledgerTable(access)} where has({runs:Array(String)}, run)`
    const expected = [runs[0], runs[1], runs[4]].toSorted()
    await until(async () => {
      const kept = (await rowsOf<{ run: string }>(access.service, listRuns, { parameters })).map(({ run }) => run)
      return JSON.stringify(kept.toSorted()) === JSON.stringify(expected)
    })
    expect((await warehouse.loader.findLastLoad('health', 'system')).cursor).toEqual({ rowsRead: 0 })
    const target = { schema: 'health', table: 'system', attempt: 1 }
    await warehouse.loader.restore({ ...target, run: randomUUID() }, async () => true, never)
    expect(await cases()).toEqual(['1 open n', '2 open null'])
  })

  loadsSuite(subject)
  publicationsSuite(subject)
  shapesSuite(subject)
  queriesSuite(subject)
  exportsSuite(subject)
  undoSuite(subject)
  viewsSuite(subject)
})
