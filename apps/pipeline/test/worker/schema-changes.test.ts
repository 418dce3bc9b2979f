import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { isLongRun } from '@sluice/testing/long-test-runs'
import { listLogs } from '../../src/runs/read-runs.ts'
import { finished } from './large-load.ts'
import { type Pipeline, startStack, type Stack } from './worker-stack.ts'
import { spawnWorker, type WorkerProcess } from './worker-process.ts'

let stack: Stack
let worker: WorkerProcess

beforeAll(async () => {
  stack = await startStack()
  worker = await spawnWorker(stack.environment)
})
afterAll(async () => {
  await worker?.[Symbol.asyncDispose]()
  await stack?.[Symbol.asyncDispose]()
})

async function load(pipeline: Pipeline, content: string, more: object = {}) {
  const input = (await stack.upload(pipeline, content)) as object
  return finished(stack, await stack.run(pipeline, { ...input, ...more } as never))
}

/** The table as `name TYPE` by column, and its rows. */
async function tableOf({ client, schema, table }: Pipeline) {
  const warehouse = await stack.warehouses.open(client)
  const { columns } = (await warehouse.catalog.findTable(schema, table))!
  const { rows } = await warehouse.queries.readTable(schema, table, { limit: 10, offset: 0 })
  return { columns: columns.map(({ name, dataType }) => `${name} ${dataType}`).join(', '), rows }
}

const settingsOf = (pipeline: Pipeline, csvOptions: object) =>
  stack.db
    .updateTable('data_pipelines')
    .set({ settings: JSON.stringify({ csvOptions }) })
    .where('id', '=', pipeline.id)
    .execute()

const lines = (...all: string[]) => `${all.join('\n')}\n`

describe('file', () => {
  const wrongFiles: [what: string, content: string][] = [
    ['with an error as JSON', '{"error":"denied"}'],
    ['with other columns', 'x,y\n7,8\n'],
    ['without a header', '7,x,8\n9,y,10\n'],
    ['with other columns and no rows', 'x,y\n'],
    ['with a single line', 'hello\n'],
    ['without line ends', 'id,name,amountx,a,fivey,b,six'],
  ]
  it.each(isLongRun ? wrongFiles : wrongFiles.slice(0, 2))(
    '%s fails the run with the expected columns in the message, and keeps the old table',
    async (_, content) => {
      const pipeline = await stack.pipeline()
      await load(pipeline, lines('id,name,amount', '1,a,5', '2,b,6', '3,c,7'))
      const before = await tableOf(pipeline)
      const run = await load(pipeline, content)
      expect(run).toMatchObject({ state: 'FAILED', error_code: 'SCHEMA_MISMATCH' })
      expect(run.message).toMatch(/"id", "name", "amount"/)
      expect(await tableOf(pipeline)).toEqual(before)
      expect(await load(pipeline, 'x,y\n7,8\n', { rebuild: true })).toMatchObject({ state: 'OK' })
      expect(await tableOf(pipeline)).toEqual({ columns: 'x SMALLINT, y SMALLINT', rows: [[7, 8]] })
    },
  )

  it('with mostly ragged rows is read with the delimiter of the last load', async () => {
    const pipeline = await stack.pipeline()
    await load(pipeline, lines('id,v', '1,a', '2,b'))
    const run = await load(pipeline, lines('id,v', '1,a', ...Array.from({ length: 90 }, () => '2')))
    expect(run).toMatchObject({ state: 'WARNING', rows_written: 1, rows_rejected: 90 })
    expect(await tableOf(pipeline)).toEqual({ columns: 'id SMALLINT, v TEXT', rows: [[1, 'a']] })
  })

  it('with another delimiter and the columns of the last load is loaded', async () => {
    const pipeline = await stack.pipeline()
    await load(pipeline, lines('id;v', '1;a'))
    expect(await load(pipeline, lines('id,v', '2,b'))).toMatchObject({ state: 'OK' })
    expect(await tableOf(pipeline)).toEqual({ columns: 'id SMALLINT, v TEXT', rows: [[2, 'b']] })
  })

  it('without values in a column keeps the type of the column', async () => {
    const pipeline = await stack.pipeline()
    await load(pipeline, lines('id,v,d', '1,5,2026-01-31'))
    expect(await load(pipeline, lines('id,v,d', '1,,'))).toMatchObject({ state: 'OK' })
    expect(await load(pipeline, lines('id,v,d'))).toMatchObject({ state: 'WARNING' })
    expect((await tableOf(pipeline)).columns).toBe('id SMALLINT, v SMALLINT, d DATE')
    const fresh = await stack.pipeline()
    await load(fresh, lines('id,v', '1,'))
    expect((await tableOf(fresh)).columns).toBe('id SMALLINT, v TEXT')
    await load(fresh, lines('id,v', '1,7'))
    expect((await tableOf(fresh)).columns).toBe('id SMALLINT, v SMALLINT')
  })

  it('with an empty JSON list empties the table, and is rejected if no column is known', async () => {
    const pipeline = await stack.pipeline()
    expect(await load(pipeline, '[]')).toMatchObject({ state: 'FAILED', error_code: 'EMPTY_SOURCE' })
    await load(pipeline, '[{"id":1,"d":"2026-01-31"},{"id":2}]')
    const { columns } = await tableOf(pipeline)
    expect(await load(pipeline, '[]')).toMatchObject({ state: 'WARNING', rows_written: 0 })
    expect(await tableOf(pipeline)).toEqual({ columns, rows: [] })
    await load(pipeline, '[{"id":1,"d":"2026-01-31"}]')
    for (const broken of ['{"error":"denied","rows":[]}', '[{}]', '[', ' '])
      expect(await load(pipeline, broken)).toMatchObject({ state: 'FAILED' })
    expect(await tableOf(pipeline)).toEqual({ columns, rows: [[1, '2026-01-31']] })
  })

  it('with ambiguous dates uses the date order of the table, and another order fails the run', async () => {
    const pipeline = await stack.pipeline()
    await load(pipeline, lines('id,d', '1,31/01/2026', '2,02/03/2026'))
    expect(await load(pipeline, lines('id,d', '1,01/02/2026'))).toMatchObject({ state: 'OK' })
    const known = { columns: 'id SMALLINT, d DATE', rows: [[1, '2026-02-01']] }
    expect(await tableOf(pipeline)).toEqual(known)
    expect(await load(pipeline, lines('id,d', '1,01/31/2026', '2,02/03/2026'))).toMatchObject({
      state: 'FAILED',
      error_code: 'DATE_ORDER_CHANGED',
      message: expect.stringContaining('"d"'),
    })
    expect(await tableOf(pipeline)).toEqual(known)
  })

  it('with ambiguous dates gives a TEXT column until a file has an unambiguous date', async () => {
    const pipeline = await stack.pipeline()
    await load(pipeline, lines('id,d', '1,01/02/2026'))
    expect(await tableOf(pipeline)).toEqual({ columns: 'id SMALLINT, d TEXT', rows: [[1, '01/02/2026']] })
    await load(pipeline, lines('id,d', '1,01/02/2026', '2,31/01/2026'))
    expect(await tableOf(pipeline)).toEqual({
      columns: 'id SMALLINT, d DATE',
      rows: [
        [1, '2026-02-01'],
        [2, '2026-01-31'],
      ],
    })
  })

  it('with another decimal sign than the table fails the run', async () => {
    const pipeline = await stack.pipeline()
    await load(pipeline, lines('id;v', '1;1,5'))
    const run = await load(pipeline, lines('id;v', '1;1.234'))
    expect(run).toMatchObject({ state: 'FAILED', error_code: 'DECIMAL_SIGN_CHANGED' })
    expect((await tableOf(pipeline)).rows).toEqual([[1, '1.5']])
  })

  it('gets the column types and names of its options, regardless of the existing table', async () => {
    const pipeline = await stack.pipeline()
    await load(pipeline, lines('id,d,v', '1,01/02/2026,NA'))
    await settingsOf(pipeline, {
      nullValues: ['NA'],
      columns: [
        { label: 'd', dataType: 'DATE', dateFormat: 'DD/MM/YYYY' },
        { label: 'id', name: 'key', dataType: 'BIGINT' },
      ],
    })
    await load(pipeline, lines('id,d,v', '1,01/02/2026,NA', '2,03/02/2026,8'))
    expect(await tableOf(pipeline)).toEqual({
      columns: 'd DATE, v SMALLINT, key BIGINT',
      rows: [
        ['2026-02-01', null, '1'],
        ['2026-02-03', 8, '2'],
      ],
    })
  })

  it('with one odd value is loaded as OK, and the message gives the value, its line and a remedy', async () => {
    const pipeline = await stack.pipeline()
    const dates = Array.from({ length: 100 }, (_, day) => `${String((day % 28) + 1).padStart(2, '0')}/01/2024`)
    const run = await load(
      pipeline,
      lines('id,seen', ...dates.with(40, '31/02/2024').map((date, id) => `${id},${date}`)),
    )
    const hint = 'Column "seen" is TEXT because of "31/02/2024" in line 42; most of its values are dates.'
    expect(run).toMatchObject({
      state: 'OK',
      message: `Loaded 100 rows into ${pipeline.schema}.cases. ${hint} Set dataType of the column in csvOptions.columns to reject such rows, or correct the file, upload it again and run once with "rebuild": true, which replaces all rows of the table (POST /data-pipelines/{uid}/run).`,
    })
    const { rows } = await listLogs(stack.db, pipeline.id, { logLevel: 'WARN' }, { page: 1, pageSize: 10 })
    expect(rows.map(({ message }) => message)).toEqual([hint])
    await settingsOf(pipeline, { columns: [{ label: 'seen', dataType: 'DATE', dateFormat: 'DD/MM/YYYY' }] })
    const again = await load(
      pipeline,
      lines('id,seen', ...dates.with(40, '31/02/2024').map((date, id) => `${id},${date}`)),
    )
    expect(again).toMatchObject({ state: 'WARNING', rows_rejected: 1 })
    expect(again.message).not.toContain(hint)
  })

  it('with an odd value that would invalidate a view fails, and the message gives the value and line', async () => {
    const pipeline = await stack.pipeline()
    const { client, schema } = pipeline
    const numbers = Array.from({ length: 100 }, (_, id) => `${id}`)
    await load(pipeline, lines('n', ...numbers))
    const warehouse = await stack.warehouses.open(client)
    const view = { id: randomUUID(), schema, name: 'large', query: 'select sum(n) as total from cases' }
    await warehouse.views.define({ ...view, materialized: false }, { seconds: 20 }, new AbortController().signal)
    const run = await load(pipeline, lines('n', ...numbers.with(40, 'n/a')))
    expect(run).toMatchObject({ state: 'FAILED', error_code: 'VIEWS_DEPEND' })
    expect(run.message).toMatch(
      /"n" from SMALLINT to TEXT.* Column "n" is TEXT because of "n\/a" in line 42; .*dataType/,
    )
  })

  it('with a secret as the odd value is loaded as OK, and the message redacts it', async () => {
    const pipeline = await stack.pipeline()
    const secret = stack.environment['SERVICE_SECRET']!
    const numbers = Array.from({ length: 100 }, (_, id) => (id === 40 ? secret : String(id)))
    const run = await load(pipeline, lines('n', ...numbers))
    expect(run).toMatchObject({ state: 'OK', message: expect.stringContaining('because of "[redacted]" in line 42') })
  })

  it('that widens a column type is loaded, and the message says how to return to the narrower type', async () => {
    const pipeline = await stack.pipeline()
    await load(pipeline, lines('id,v', '1,7'))
    const run = await load(pipeline, lines('id,v', '1,x'))
    expect(run).toMatchObject({ state: 'OK' })
    expect(run.message).toMatch(
      /changed from SMALLINT to TEXT\. To return to the types of the newest file, run once with "rebuild": true, which replaces all rows of the table \(POST \/data-pipelines\/\{uid\}\/run\)\.$/,
    )
    await load(pipeline, lines('id,v', '1,7'), { rebuild: true })
    expect((await tableOf(pipeline)).columns).toBe('id SMALLINT, v SMALLINT')
  })

  it('with fewer than a tenth of the previous rows is loaded with a WARNING', async () => {
    const pipeline = await stack.pipeline()
    await load(pipeline, lines('id', ...Array.from({ length: 200 }, (_, index) => String(index))))
    const run = await load(pipeline, lines('id', '1', '2'))
    expect(run).toMatchObject({ state: 'WARNING', rows_written: 2 })
    expect(run.message).toContain('2 rows')
    expect(run.message).toContain('200 rows')
  })

  it('with a missing column is loaded, with a WARNING the first time only', async () => {
    const pipeline = await stack.pipeline()
    await load(pipeline, lines('id,a,b', '1,2,3'))
    expect(await load(pipeline, lines('id,a', '1,2'))).toMatchObject({ state: 'WARNING' })
    expect(await load(pipeline, lines('id,a', '1,2'))).toMatchObject({ state: 'OK' })
    const warehouse = await stack.warehouses.open(pipeline.client)
    const { columns } = (await warehouse.catalog.findTable(pipeline.schema, pipeline.table))!
    expect(columns.map(({ name, deleted = false }) => [name, deleted])).toEqual([
      ['id', false],
      ['a', false],
      ['b', true],
    ])
  })

  it('in JSON may omit columns that no record has', async () => {
    const pipeline = await stack.pipeline()
    await load(pipeline, '[{"id":1,"a":2,"b":3,"c":4}]')
    expect(await load(pipeline, '[{"id":1}]')).toMatchObject({ state: 'OK' })
    expect((await tableOf(pipeline)).rows).toEqual([[1, null, null, null]])
  })

  it('in JSON that mixes objects or lists with other values in a column makes it TEXT', async () => {
    const nested = ['{"x": 1}', '[1, 2]']
    const plain = ['2', '"t"', '"2026-02-15"', 'true']
    const pairs = [...nested.flatMap((one) => plain.map((other) => [one, other])), nested] as [string, string][]
    const keys = pairs.map((_, index) => `c${index}`)
    const record = (which: 0 | 1) => `{${pairs.map((pair, index) => `"${keys[index]}":${pair[which]}`).join(',')}}`
    const unquoted = (value: string) => value.replaceAll(/^"|"$/g, '')
    const typeOf = ([, other]: [string, string]) => (nested.includes(other) ? 'JSONB' : 'TEXT')
    const columns = pairs.map((pair, index) => `${keys[index]} ${typeOf(pair)}`).join(', ')
    const rowOf = (which: 0 | 1) =>
      pairs.map((pair) => (typeOf(pair) === 'TEXT' ? unquoted(pair[which]) : (JSON.parse(pair[which]) as unknown)))

    const [once, forth, back] = [await stack.pipeline(), await stack.pipeline(), await stack.pipeline()]
    await load(once, `[${record(0)},${record(1)}]`)
    expect(await tableOf(once)).toEqual({ columns, rows: [rowOf(0), rowOf(1)] })
    for (const [pipeline, first, next] of [
      [forth, 0, 1],
      [back, 1, 0],
    ] as const) {
      await load(pipeline, `[${record(first)}]`)
      expect(await load(pipeline, `[${record(next)}]`)).toMatchObject({ state: 'OK', rows_rejected: 0 })
      expect(await tableOf(pipeline)).toEqual({ columns, rows: [rowOf(next)] })
    }
  })
})
