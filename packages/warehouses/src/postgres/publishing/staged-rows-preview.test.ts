import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import { columns, loadAll, never, stage } from '../../../test/row-fixtures.ts'
import { scratchWarehouseForAll } from '../../../test/scratch-warehouse.ts'
import type { OldRows, PublishOptions, StagedRowsPreview, UserQuery } from '../../warehouse.ts'

const scratch = scratchWarehouseForAll()
const cases = columns({ id: 'INTEGER', age: 'INTEGER' }).map((column, index) => ({
  ...column,
  primaryKey: index === 0,
}))
const before: [number, number][] = [
  [1, 10],
  [2, 20],
  [3, 30],
]
const came: [number, number][] = [
  [3, 33],
  [4, 44],
]

/** Stages rows over those before, and does this at the gate; they are not published. */
async function atGate<T>(
  table: string,
  look: (rehearsal: StagedRowsPreview, ask: (text: string) => Promise<unknown[][]>) => Promise<T>,
  { mode = 'REPLACE', target = cases }: { mode?: PublishOptions['mode']; target?: typeof cases } = {},
): Promise<T> {
  const run = randomUUID()
  await using load = await stage(scratch.warehouse, { table, columns: target, run }, came)
  let seen: T | undefined
  const gate: PublishOptions['gate'] = async (tables) => {
    await using rehearsal = await scratch.warehouse.loader.exposeStagedRows(tables, { run, attempt: 1 })
    const ask = async (text: string) =>
      (await scratch.warehouse.queries.query({ text, schemas: [rehearsal.schema, 'health'] })).rows
    seen = await look(rehearsal, ask)
    throw new Error('Enough was seen.')
  }
  const publication = scratch.warehouse.loader.publish([load], async () => true, never, { mode, gate })
  await expect(publication).rejects.toThrow('Enough was seen.')
  return seen!
}

const hidden = async () =>
  (await scratch.superuser.query(`select nspname from pg_namespace where nspname like 'sluice\\_%'`)).rows

describe('the preview of staged rows at the gate', () => {
  beforeAll(async () => {
    for (const table of ['cases', 'merged', 'kept']) await loadAll(scratch.warehouse, { table, columns: cases }, before)
  })
  afterAll(async () => expect(await hidden()).toEqual([]))

  it('resolves the unqualified table name to the staged rows and the qualified name to the old rows', async () => {
    const seen = await atGate('cases', async (_rehearsal, ask) => ({
      alone: await ask('select id, age from cases order by id'),
      qualified: await ask('select id, age from health.cases order by id'),
    }))
    expect(seen).toEqual({ alone: came, qualified: before })
    expect((await scratch.warehouse.queries.readTable('health', 'cases', { limit: 9, offset: 0 })).rows).toEqual(before)
  })

  it('shows the staged rows of the first load of a table', async () => {
    expect(await atGate('first', (_rehearsal, ask) => ask('select * from first order by id'))).toEqual(came)
  })

  it('shows the result of a merge', async () => {
    const all = (ask: (text: string) => Promise<unknown[][]>) => ask('select id, age from merged order by id')
    const seen = await atGate('merged', (_rehearsal, ask) => all(ask), { mode: 'MERGE' })
    expect(seen).toEqual([[1, 10], [2, 20], ...came])
    await using load = await stage(scratch.warehouse, { table: 'merged', columns: cases }, came)
    await scratch.warehouse.loader.publish([load], async () => true, never, { mode: 'MERGE' })
    const { rows } = await scratch.warehouse.queries.query({
      text: 'select id, age from merged order by id',
      schemas: ['health'],
    })
    expect(rows).toEqual(seen)
  })

  it('shows the result of a merge with missing and additional columns', async () => {
    const target = columns({ id: 'INTEGER', sex: 'INTEGER' }).map((column, index) => ({
      ...column,
      primaryKey: index === 0,
    }))
    const all = (_rehearsal: StagedRowsPreview, ask: (text: string) => Promise<unknown[][]>) =>
      ask('select id, age, sex from kept order by id')
    const expected = [
      [1, 10, null],
      [2, 20, null],
      [3, null, 33],
      [4, null, 44],
    ]
    expect(await atGate('kept', all, { mode: 'MERGE', target })).toEqual(expected)
    await using load = await stage(scratch.warehouse, { table: 'kept', columns: target }, came)
    await scratch.warehouse.loader.publish([load], async () => true, never, { mode: 'MERGE' })
    expect(await atGate('kept', all, { mode: 'MERGE', target })).toEqual(expected)
  })

  it.each<[string, OldRows | undefined]>([
    ['select * from cases', undefined],
    ['select 1 from health.merged', undefined],
    ['select * from health.cases', { name: 'health.cases', view: false }],
    ['select * from cases where false and id in (select id from health.cases)', { name: 'health.cases', view: false }],
    ['with c as (select * from health.cases) select count(*) from c, cases', { name: 'health.cases', view: false }],
    ['select * from by_age', { name: 'health.by_age', view: true }],
    ['select * from over_by_age', { name: 'health.over_by_age', view: true }],
    ['select * from kept_ages', { name: 'health.kept_ages', view: true }],
  ])('findOldRows names the table or view whose old rows are read by %s', async (text, old) => {
    await scratch.superuser.query(`
      create or replace view health.by_age as select age from health.cases;
      create or replace view health.over_by_age as select * from health.by_age;
      create materialized view if not exists health.kept_ages as select age from health.cases;
      grant select on health.by_age, health.over_by_age, health.kept_ages to public`)
    const ask = (query: UserQuery) => (rehearsal: StagedRowsPreview) =>
      rehearsal.findOldRows({ ...query, schemas: [rehearsal.schema, 'health'] }, never)
    expect(await atGate('cases', ask({ text }))).toEqual(old)
    expect(
      await atGate('cases', ask({ text: text.replace('select', 'select $1::text,'), values: ['x'] }), {
        mode: 'MERGE',
      }),
    ).toEqual(old)
  })

  it('findOldRows plans the query without running it, and rejects an invalid query', async () => {
    const ask = (text: string) => (rehearsal: StagedRowsPreview) =>
      rehearsal.findOldRows({ text, schemas: [rehearsal.schema] }, never)
    const began = Date.now()
    expect(await atGate('cases', ask('select pg_sleep(20) from cases'))).toBeUndefined()
    expect(Date.now() - began).toBeLessThan(10_000)
    await expect(atGate('cases', ask('analyze select pg_sleep(20)'))).rejects.toBeDefined()
    await expect(atGate('cases', ask('select nonsense from cases'))).rejects.toBeDefined()
  })
})
