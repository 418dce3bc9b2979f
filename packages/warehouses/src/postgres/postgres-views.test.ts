import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { columns, loadAll, never } from '../../test/row-fixtures.ts'
import { connectedAs, scratchWarehouseForAll, word } from '../../test/scratch-warehouse.ts'
import type { ViewDefinition } from '../view-store.ts'

const shape = columns({ id: 'INTEGER', name: 'TEXT' })
const scratch = scratchWarehouseForAll()
let table: string

const load = (rows: [number | string, string][], as = shape) => loadAll(scratch.warehouse, { table, columns: as }, rows)
const define = (view: Partial<ViewDefinition> & Pick<ViewDefinition, 'query'>, limits = { seconds: 20 }) => {
  const whole = { id: randomUUID(), schema: 'health', name: word('v_'), materialized: false, ...view }
  return scratch.warehouse.views.define(whole, limits, never).then((made) => ({ ...whole, ...made }))
}
const rowsOf = async ({ schema, name }: { schema: string; name: string }) =>
  (await scratch.warehouse.queries.readTable(schema, name, { limit: 100, offset: 0 })).rows
const find = ({ schema, name }: { schema: string; name: string }) => scratch.warehouse.views.find(schema, name)

beforeEach(async () => {
  table = word('cases_')
  await load([
    [1, 'a'],
    [2, 'b'],
  ])
})

describe.each([true, false])('a view (materialised: %s)', (materialized) => {
  it('can be read by role read, resolves names in its own schema, and lists the tables it reads', async () => {
    const view = await define({
      query: `select id, upper(name) as "The name" from ${table} order by id; `,
      materialized,
    })
    expect(await rowsOf(view)).toEqual([
      [1, 'A'],
      [2, 'B'],
    ])
    expect(view.reads).toEqual([{ schema: 'health', name: table }])
    expect(await find(view)).toMatchObject({ materialized, populated: true, managed: { id: view.id } })
  })

  it('can be replaced with other columns, and the views that read it are recreated', async () => {
    const view = await define({ query: `select id, name from ${table}`, materialized })
    const over = await define({ query: `select name, count(*)::int as n from ${view.name} group by 1`, materialized })
    const again = await define({ ...view, query: `select name, true as known from ${table}` })
    expect([await rowsOf(again), (await rowsOf(over)).toSorted()]).toEqual([
      [
        ['a', true],
        ['b', true],
      ],
      [
        ['a', 1],
        ['b', 1],
      ],
    ])
    expect((await find(over))?.managed?.id).toBe(over.id)
  })

  it('stays unchanged if its new query fails or breaks a view that reads it', async () => {
    const view = await define({ query: `select id, name from ${table}`, materialized })
    const over = await define({ query: `select name from ${view.name}`, materialized })
    await expect(define({ ...view, query: `select id,\n nothing from ${table}` })).rejects.toMatchObject({
      code: 'QUERY_FAILED',
      message: 'The query failed in line 2: column "nothing" does not exist.',
    })
    await expect(define({ ...view, query: `select id from ${table}` })).rejects.toMatchObject({
      code: 'VIEWS_DEPEND',
      message: expect.stringContaining(over.name),
    })
    expect([await rowsOf(view), await rowsOf(over)]).toEqual([
      [
        [1, 'a'],
        [2, 'b'],
      ],
      [['a'], ['b']],
    ])
  })

  it('can change its kind, name and schema while another view reads it', async () => {
    await scratch.warehouse.catalog.ensureSchema('elsewhere')
    const view = await define({ query: `select id from health.${table}`, materialized })
    const over = await define({ query: `select id from ${view.name}` })
    const place = { schema: 'elsewhere', name: word('moved_') }
    const again = await define({ ...view, ...place, materialized: !materialized })
    expect([await rowsOf(again), await rowsOf(over), await find(view)]).toEqual([[[1], [2]], [[1], [2]], undefined])
    expect(await find(again)).toMatchObject({ materialized: !materialized, managed: { id: view.id } })
  })

  it('survives loads of its table, including a load that widens a type', async () => {
    const view = await define({ query: `select id, name from ${table} order by name`, materialized })
    await load([[7, 'c']])
    await load([['x', 'y']], columns({ id: 'TEXT', name: 'TEXT' }))
    expect(await rowsOf(view)).toEqual([['x', 'y']])
    expect(await find(view)).toMatchObject({ managed: { id: view.id } })
  })

  it('can be dropped only when no other view reads it', async () => {
    const view = await define({ query: `select id from ${table}`, materialized })
    const over = await define({ query: `select id from ${view.name}`, materialized })
    await expect(scratch.warehouse.views.drop('health', view.name)).rejects.toMatchObject({ code: 'VIEWS_DEPEND' })
    for (const { name } of [over, view, view]) await scratch.warehouse.views.drop('health', name)
    expect(await find(view)).toBeUndefined()
    await scratch.warehouse.views.drop('health', table)
    expect(await scratch.warehouse.catalog.findTable('health', table)).toBeDefined()
  })
})

describe('a view in a PostgreSQL warehouse', () => {
  it.each([
    ['select 1; drop schema health cascade', 'QUERY_FAILED'],
    ['select 1); drop schema health cascade; select (2', 'QUERY_FAILED|SQL_NOT_ALLOWED'],
    ['select 1 as a) with no data; commit; --', 'QUERY_FAILED'],
    ['delete from health.x', 'QUERY_FAILED'],
    ['with gone as (delete from sluice.ledger returning *) select * from gone', 'QUERY_FAILED'],
    ['select 1 into taken', 'QUERY_FAILED'],
    ['commit', 'QUERY_FAILED'],
    ['select $1::int', 'QUERY_FAILED'],
    ['explain select 1', 'QUERY_FAILED'],
    ['select 1 /* never closed', 'QUERY_FAILED'],
    ['select run from sluice.ledger', 'SQL_NOT_ALLOWED'],
    ['', 'QUERY_FAILED'],
  ])('cannot be created from %s', async (query, code) => {
    const name = word('v_')
    for (const materialized of [true, false])
      await expect(define({ query, name, materialized })).rejects.toMatchObject({
        code: expect.stringMatching(code),
        retryable: false,
      })
    expect(await find({ schema: 'health', name })).toBeUndefined()
    expect(await scratch.warehouse.catalog.findTable('health', table)).toBeDefined()
  })

  it('cannot read itself, directly or through another view', async () => {
    const first = await define({ query: `select id from ${table}` })
    const second = await define({ query: `select id from ${first.name}` })
    for (const { name } of [first, second])
      await expect(define({ ...first, query: `select id from ${name}` })).rejects.toMatchObject({
        code: 'VIEW_READS_ITSELF',
      })
    expect(await rowsOf(second)).toEqual([[1], [2]])
  })

  it('cannot take the name of an existing view or table', async () => {
    const view = await define({ query: 'select 1 as a' })
    await expect(define({ name: view.name, query: 'select 2 as b' })).rejects.toMatchObject({ code: 'VIEW_NAME_TAKEN' })
    await expect(define({ name: table, query: 'select 2 as b' })).rejects.toMatchObject({ code: 'VIEW_NAME_TAKEN' })
    await expect(define({ ...view, name: table, query: 'select 2', takesOver: true })).rejects.toMatchObject({
      code: 'VIEW_NAME_TAKEN',
    })
    expect(await rowsOf(view)).toEqual([[1]])
  })

  it('replaces a view of the same name with takesOver, and is recreated after it was dropped', async () => {
    const left = await define({ query: 'select 1 as a' })
    const view = await define({ name: left.name, query: 'select 2 as b', takesOver: true })
    await scratch.warehouse.views.drop('health', view.name)
    const again = await define({ ...view, name: word('v_'), query: 'select 3 as c' })
    expect(await rowsOf(again)).toEqual([[3]])
  })

  it('is not created if its query takes too long, unless it is created without rows', async () => {
    const slow = { query: 'select pg_sleep(20)::text as a', materialized: true, name: word('v_') }
    await expect(define(slow, { seconds: 1 })).rejects.toMatchObject({ code: 'QUERY_TIMEOUT' })
    const empty = await scratch.warehouse.views.define(
      { id: randomUUID(), schema: 'health', ...slow },
      { seconds: 1, empty: true },
      never,
    )
    expect(empty.reads).toEqual([])
    expect(await find({ schema: 'health', name: slow.name })).toMatchObject({ populated: false })
  })

  it('lists the tables it reads through an unmanaged view, and the unmanaged views that read it', async () => {
    const view = await define({ query: `select id from ${table}` })
    await using user = await connectedAs(scratch.access, 'load')
    await user.query(`create view health.by_hand_${table} as select id from health.${view.name}`)
    const over = await define({ query: `select id from by_hand_${table}` })
    expect(over.reads).toContainEqual({ schema: 'health', name: view.name })
    expect(await scratch.warehouse.views.listUnmanagedReaders('health', view.name)).toEqual([`health.by_hand_${table}`])
  })
})

describe('a materialised view', () => {
  it('is refreshed while it is read if it has a unique index, and keeps the index when it is redefined', async () => {
    const view = await define({ query: `select id, name from ${table} order by id`, materialized: true })
    await using user = await connectedAs(scratch.access, 'load')
    await user.query(`create unique index "once ${view.name}" on health.${view.name} (id)`)
    await load([[9, 'z']])
    expect(await rowsOf(view)).toHaveLength(2)
    await using reader = await connectedAs(scratch.access, 'read')
    await reader.query(`begin; select * from health.${view.name}`)
    expect(await scratch.warehouse.views.refresh('health', view.name, never)).toMatchObject({ rows: 1 })
    await reader.query('commit')
    expect(await rowsOf(view)).toEqual([[9, 'z']])
    const again = await define({ ...view, query: `select id, name || '!' as name from ${table}` })
    expect((await user.query(`select indexname from pg_indexes where tablename = '${view.name}'`)).rows).toEqual([
      { indexname: `once ${view.name}` },
    ])
    expect(await rowsOf(again)).toEqual([[9, 'z!']])
  })

  it('keeps its rows if a refresh fails, and returns the reason', async () => {
    const view = await define({ query: `select 10 / id as tenth from ${table}`, materialized: true })
    await load([[0, 'a']])
    await expect(scratch.warehouse.views.refresh('health', view.name, never)).rejects.toMatchObject({
      code: 'QUERY_FAILED',
      message: expect.stringContaining('division by zero. Its old rows stay.'),
    })
    expect(await rowsOf(view)).toHaveLength(2)
    await expect(scratch.warehouse.views.refresh('health', table, never)).rejects.toMatchObject({
      code: 'VIEW_MISSING',
    })
  })
})

describe('the catalogue of a PostgreSQL warehouse', () => {
  it('lists tables and views, but no partitions and no relations of internal schemas', async () => {
    const view = await define({ query: `select id from ${table}` })
    const places = await scratch.warehouse.catalog.listRelations(['health', 'sluice', 'pg_catalog'])
    expect(places).toEqual(
      expect.arrayContaining([
        { schema: 'health', name: table },
        { schema: 'health', name: view.name },
      ]),
    )
    expect(places.filter(({ schema }) => schema !== 'health')).toEqual([])
    const found = await scratch.warehouse.catalog.findTables([
      ...places.slice(0, 1),
      { schema: 'health', name: 'no_such' },
    ])
    expect(found).toHaveLength(1)
  })

  it('returns foreign keys, and the staging table of a table', async () => {
    await using user = await connectedAs(scratch.access, 'load')
    await user.query(`create table health.o_${table} (a int, b int, primary key (a, b));
      create table health.r_${table} (x int, y int, foreign key (x, y) references health.o_${table})`)
    expect((await scratch.warehouse.catalog.findTable('health', `r_${table}`))?.foreignKeys).toEqual([
      { column: 'x', referencedSchema: 'health', referencedTable: `o_${table}`, referencedColumn: 'a' },
      { column: 'y', referencedSchema: 'health', referencedTable: `o_${table}`, referencedColumn: 'b' },
    ])
    expect(await scratch.warehouse.catalog.findStagingTable('health', table)).toBeUndefined()
    const target = { schema: 'health', table, columns: shape, run: randomUUID(), attempt: 1 }
    await using loading = await scratch.warehouse.loader.stage(target, never)
    expect(await scratch.warehouse.catalog.findStagingTable('health', table)).toMatchObject({
      run: target.run,
      name: loading.stagingTable,
    })
  })
})
