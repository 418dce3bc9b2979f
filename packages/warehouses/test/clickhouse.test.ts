import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { openClickHouseWarehouse } from '../src/clickhouse/clickhouse-warehouse.ts'
import { clickhouseMissing, clickhouseServer } from './clickhouse-under-test.ts'
import { loadsSuite } from './loads-suite.ts'
import { publicationsSuite } from './publications-suite.ts'
import { columns, never, numbered, stage } from './row-fixtures.ts'
import { exportsSuite } from './exports-suite.ts'
import { queriesSuite } from './queries-suite.ts'
import { shapesSuite } from './table-shapes-suite.ts'
import { rowsIn, subjectForAll } from './warehouse-under-test.ts'
import { undoSuite } from './undo-suite.ts'
import { viewsSuite } from './views-suite.ts'

describe('ClickHouse as a warehouse', () => {
  if (clickhouseMissing !== undefined) {
    it.skip(clickhouseMissing, () => {})
    return
  }
  const subject = subjectForAll(async () => {
    const server = await clickhouseServer()
    const [access, others] = [server.client(), server.client()]
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

  loadsSuite(subject)
  publicationsSuite(subject)
  shapesSuite(subject)
  queriesSuite(subject)
  exportsSuite(subject)
  undoSuite(subject)
  viewsSuite(subject)
})
