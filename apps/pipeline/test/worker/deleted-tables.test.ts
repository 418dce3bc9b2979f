import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createLogger, Redaction } from '@sluice/process'
import { sql } from 'kysely'
import type { Client } from 'pg'
import {
  dropLeftover,
  executeDueDrops,
  isTableDropPending,
  recordDrop,
} from '../../src/deleted-tables/pending-table-drops.ts'
import { dropDeleted } from '../../src/worker/maintenance/maintain-warehouses.ts'
import { columns, loadAll, never, numbered } from '@sluice/warehouses/testing/row-fixtures'
import { type Pipeline, startStack, type Stack } from './worker-stack.ts'
import { until } from '@sluice/testing/wait-until'

let stack: Stack
beforeAll(async () => {
  stack = await startStack()
})
afterAll(() => stack?.[Symbol.asyncDispose]())

const logger = createLogger({ name: 'test', level: 'silent', redaction: new Redaction() })
const two = columns({ id: 'INTEGER', name: 'TEXT' })
const fail = (error: unknown) => {
  throw error
}

async function loaded() {
  const pipeline = await stack.pipeline()
  const warehouse = await stack.warehouses.open(pipeline.client)
  await warehouse.catalog.ensureSchema(pipeline.schema)
  await loadAll(warehouse, { ...pipeline, columns: two }, numbered(3))
  return { pipeline, warehouse }
}
const note = (target: Pipeline | Omit<Pipeline, 'table'>) =>
  stack.db.transaction().execute((trx) => recordDrop(trx, target))
const waiting = ({ client }: Pipeline) =>
  stack.db.selectFrom('warehouse_drops').selectAll().where('client', '=', client).execute()

const lockWaits = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
/** Whether somebody waits for a lock in the warehouse, and in the service's own database. */
const waitsInside = async (inside: Client) => (await inside.query(lockWaits)).rows.length > 0
const waitsHere = async () => (await sql.raw(lockWaits).execute(stack.db)).rows.length > 0

describe('drop of a deleted table or schema', () => {
  it('drops the tables before their schema and removes the drop records', async () => {
    const { pipeline, warehouse } = await loaded()
    await note({ id: 0, client: pipeline.client, schema: pipeline.schema })
    await note(pipeline)
    expect(await isTableDropPending(stack.db, pipeline)).toBe(true)
    expect(await dropDeleted({ ...stack, logger }).run(never)).toBe(2)
    expect(await waiting(pipeline)).toEqual([])
    expect(await warehouse.catalog.findTable(pipeline.schema, pipeline.table)).toBeUndefined()
    await using inside = await stack.inside(pipeline.client)
    expect((await inside.query('select from pg_namespace where nspname = $1', [pipeline.schema])).rowCount).toBe(0)
  })

  it('removes the drop record of an organisation without a warehouse, and creates no warehouse', async () => {
    const pipeline = await stack.pipeline()
    await note(pipeline)
    expect(await executeDueDrops(stack.db, stack.warehouses, fail, pipeline.client)).toBe(1)
    expect(await stack.db.selectFrom('warehouses').where('client', '=', pipeline.client).execute()).toEqual([])
  })

  it('is retried later while views depend on the table, and blocks a load into the same name', async () => {
    const { pipeline, warehouse } = await loaded()
    await using inside = await stack.inside(pipeline.client)
    await inside.query(`create view ${pipeline.schema}.seen as select * from ${pipeline.schema}.cases`)
    await note(pipeline)
    const failures: unknown[] = []
    expect(await executeDueDrops(stack.db, stack.warehouses, (error) => failures.push(error), pipeline.client)).toBe(0)
    expect(failures).toMatchObject([{ code: 'VIEWS_DEPEND' }])
    const [drop] = await waiting(pipeline)
    expect(drop).toMatchObject({ tries: 1 })
    expect(drop!.try_after.getTime()).toBeGreaterThan(Date.now() + 30_000)
    await expect(dropLeftover(stack.db, warehouse, pipeline)).rejects.toMatchObject({ code: 'VIEWS_DEPEND' })
    await inside.query(`drop view ${pipeline.schema}.seen`)
    await dropLeftover(stack.db, warehouse, pipeline)
    expect(await waiting(pipeline)).toEqual([])
    expect(await warehouse.catalog.findTable(pipeline.schema, pipeline.table)).toBeUndefined()
  })

  it('does not drop a table that was loaded again under the same name', async () => {
    const { pipeline, warehouse } = await loaded()
    await note(pipeline)
    await dropLeftover(stack.db, warehouse, pipeline)
    await loadAll(warehouse, { ...pipeline, columns: two }, numbered(7))
    expect(await executeDueDrops(stack.db, stack.warehouses, fail, pipeline.client)).toBe(0)
    expect(await warehouse.catalog.findTable(pipeline.schema, pipeline.table)).toMatchObject({ rowCount: 7 })
  })

  it('makes a load wait until it is done, and is skipped by a second process', async () => {
    const { pipeline, warehouse } = await loaded()
    await note(pipeline)
    await using inside = await stack.inside(pipeline.client)
    await inside.query(`begin; lock table ${pipeline.schema}.cases in access share mode`)
    const dropping = executeDueDrops(stack.db, stack.warehouses, fail, pipeline.client)
    await until(() => waitsInside(inside))
    expect(await executeDueDrops(stack.db, stack.warehouses, fail, pipeline.client)).toBe(0)
    let clear = false
    const clearing = dropLeftover(stack.db, warehouse, pipeline).then(() => (clear = true))
    await until(waitsHere)
    expect(clear).toBe(false)
    await inside.query('commit')
    expect(await dropping).toBe(1)
    await clearing
  })

  it('keeps tables that Sluice did not create, and a schema that a load uses', async () => {
    const { pipeline, warehouse } = await loaded()
    await using inside = await stack.inside(pipeline.client)
    await inside.query(`create table ${pipeline.schema}.theirs (id int)`)
    await note({ ...pipeline, table: 'theirs' })
    expect(await executeDueDrops(stack.db, stack.warehouses, fail, pipeline.client)).toBe(1)
    expect((await inside.query(`select from ${pipeline.schema}.theirs`)).rowCount).toBe(0)
    await note({ id: 0, client: pipeline.client, schema: pipeline.schema })
    await dropLeftover(stack.db, warehouse, pipeline)
    expect(await waiting(pipeline)).toEqual([])
    expect(await warehouse.catalog.findTable(pipeline.schema, pipeline.table)).toMatchObject({ rowCount: 3 })
  })
})
