import { beforeAll, describe, expect, it } from '@jest/globals'
import { columns, loadAll, never } from '@sluice/warehouses/testing/row-fixtures'
import { scratchWarehouseForAll } from '@sluice/warehouses/testing/scratch-warehouse'
import { Variables } from '../variables/variables.ts'
import { type UserQuery, WarehouseProblem } from '@sluice/warehouses/warehouse'
import { createRedactor } from './redact-variables.ts'
import { type CheckOutcome, runChecks, type CheckRunContext } from './run-checks.ts'

const scratch = scratchWarehouseForAll()
const limits = { rows: 10, bytes: 100_000, seconds: 20 }
const run = async (queries: string[], more: Partial<CheckRunContext> = {}): Promise<CheckOutcome[]> => {
  const checks = queries.map((query, index) => ({ uid: String(index), name: `Check ${index}`, query }))
  const surroundings = {
    warehouse: scratch.warehouse,
    variables: new Variables(),
    schemas: ['health'],
    limits,
    signal: never,
  }
  return Array.fromAsync(runChecks(checks, { ...surroundings, ...more }))
}
const said = (outcomes: CheckOutcome[]) => outcomes.map(({ status, message }) => [status, message])

describe('runChecks', () => {
  beforeAll(async () => {
    const rows = Array.from({ length: 30 }, (_, index): [number] => [index])
    await loadAll(scratch.warehouse, { table: 'cases', columns: columns({ id: 'INTEGER' }) }, rows)
  })

  it('counts all violations, also for a query with a comment and for rows too large to show', async () => {
    const large = `select repeat('x', 200000) from cases`
    expect(said(await run(['table cases -- all of them', large, 'select * from cases limit 1']))).toEqual([
      ['FAILED', '30 rows violate the check.'],
      ['FAILED', '30 rows violate the check.'],
      ['FAILED', '1 row violates the check.'],
    ])
  })

  it('reports "more than" the row limit when counting the violations takes too long', async () => {
    const slow = 'select id from cases where id < 11 or pg_sleep(0.5) is not null'
    expect(said(await run([slow]))).toEqual([['FAILED', 'More than 10 rows violate the check.']])
  })

  it('stops a check at its own time limit and skips checks after the time limit of the group', async () => {
    const sleep = 'select pg_sleep(30)'
    const outcomes = await run([sleep, 'select 1', sleep], { seconds: 3, limits: { ...limits, seconds: 2 } })
    expect(said(outcomes)).toEqual([
      ['ERROR', 'The query took longer than 2 seconds and was stopped. Select fewer rows or simplify the query.'],
      expect.arrayContaining(['ERROR']),
      ['ERROR', 'This check was not run, because earlier checks used all 3 seconds. Split the group.'],
    ])
  })

  it('rejects queries that write, end the statement, use large objects or read system catalogues', async () => {
    const outcomes = await run([
      'with gone as (delete from cases returning *) select * from gone',
      'select 1) as violations; drop table cases; select (1',
      'select lo_create(0)',
      'select * from pg_authid',
      `select set_config('role', 'postgres', false)`,
      'explain analyze select 1',
      'do $$ begin end $$',
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(outcomes.map(() => 'ERROR'))
    expect((await scratch.warehouse.catalog.findTable('health', 'cases'))?.rowCount).toBe(30)
  })

  it('waits for a query slot if slotTimeoutSeconds is set, and fails at once otherwise', async () => {
    let asked = 0
    const busy = new WarehouseProblem('WAREHOUSE_BUSY', 'Many queries are running.', { retryable: true })
    const queries = {
      query: (query: UserQuery) => ((asked += 1) < 3 ? Promise.reject(busy) : scratch.warehouse.queries.query(query)),
    }
    const warehouse = { queries }
    expect(said(await run(['select 1'], { warehouse, slotTimeoutSeconds: 60 }))).toEqual([
      ['FAILED', '1 row violates the check.'],
    ])
    asked = 0
    await expect(run(['select 1'], { warehouse })).rejects.toBe(busy)
  })

  it('stops when the signal aborts', async () => {
    const stop = new AbortController()
    setTimeout(() => stop.abort(new Error('Stopped.')), 200)
    await expect(run(['select pg_sleep(30)'], { signal: stop.signal })).rejects.toThrow('Stopped.')
  })
})

describe('redactor of secured values', () => {
  const { text, cell } = createRedactor(['s3cret', '42', 's3cret-and-more'])

  it('replaces cells that equal a secured value and occurrences inside texts, keys and nested values', () => {
    expect(['s3cret', 'a S3CRET b', 's3cret-and-more', '42', '1423', 42, 43, null, true].map(cell)).toEqual([
      '[redacted]',
      'a [redacted] b',
      '[redacted]',
      '[redacted]',
      '1423',
      '[redacted]',
      43,
      null,
      true,
    ])
    expect(cell({ s3cret: ['s3cret', { deep: 42 }], other: 'kept' })).toEqual({
      '[redacted]': ['[redacted]', { deep: '[redacted]' }],
      other: 'kept',
    })
    expect(text('column s3cret')).toBe('column [redacted]')
  })
})
