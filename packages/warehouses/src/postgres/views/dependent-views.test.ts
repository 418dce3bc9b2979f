import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { Client } from 'pg'
import { columns, loadAll, numbered } from '../../../test/row-fixtures.ts'
import { connectedAs, type ScratchWarehouse, scratchWarehouse, word } from '../../../test/scratch-warehouse.ts'

const two = columns({ id: 'INTEGER', name: 'TEXT' })
const wider = columns({ id: 'TEXT', name: 'TEXT' })

describe('views over a table whose types widen', () => {
  let scratch: ScratchWarehouse
  let user: Client & AsyncDisposable
  let table: string

  beforeAll(async () => {
    scratch = await scratchWarehouse()
    await scratch.warehouse.catalog.ensureSchema('health')
    user = await connectedAs(scratch.access, 'load')
  })
  beforeEach(async () => {
    table = word('cases_')
    await load([[1, 'a']])
  })
  afterAll(async () => {
    await user?.[Symbol.asyncDispose]()
    await scratch?.[Symbol.asyncDispose]()
  })

  const load = (rows: Parameters<typeof loadAll>[2], shape = two) =>
    loadAll(scratch.warehouse, { table, columns: shape }, rows)
  const rowsOf = async (name: string) =>
    (await user.query({ text: `select * from health.${name}`, rowMode: 'array' })).rows

  it.each([
    ['a column', columns({ id: 'INTEGER', name: 'TEXT' })],
    ['the partition key', columns({ name: 'INTEGER', id: 'INTEGER' })],
  ])('are recreated with definitions, indexes, comments and grants when the type of %s widens', async (_, shape) => {
    table = word('keyed_')
    await load(
      [[1, 2]],
      shape.map((column) => ({ ...column, dataType: 'INTEGER' as const })),
    )
    const read = scratch.access.read.user
    await user.query(`
      create view health.first_${table} with (security_barrier = true) as select id as "The id", name from health.${table};
      create materialized view health.second_${table} as select "The id", count(*)::int as n from health.first_${table} group by 1;
      create unique index "on ${table}" on health.second_${table} ("The id");
      create view health.third_${table} as select f."The id", s.n from health.first_${table} f join health.second_${table} s using ("The id");
      comment on view health.first_${table} is 'It’s "first"';
      comment on column health.first_${table}."The id" is 'the id';
      revoke select on health.third_${table} from ${read};
      grant select ("The id") on health.third_${table} to ${read}`)
    const known = `select relname, relkind, reloptions, coalesce(relacl::text, '') as acl, obj_description(oid) as said,
        array(select col_description(oid, n) from generate_series(1, relnatts) n) as columns,
        array(select attacl::text from pg_attribute where attrelid = c.oid and attnum > 0) as column_acl,
        array(select pg_get_indexdef(indexrelid) from pg_index where indrelid = c.oid) as indexes,
        pg_get_viewdef(oid) as definition
      from pg_class c where relname like '%${table}' and relkind in ('v', 'm') order by relname`
    const before = (await user.query(known)).rows
    const { tables } = await load(
      [
        ['x', 'y'],
        ['z', 'y'],
      ],
      shape.map((column) => ({ ...column, dataType: 'TEXT' as const })),
    )
    expect(tables[0]?.changes.map(({ kind }) => kind)).toEqual(['TYPE_WIDENED', 'TYPE_WIDENED', 'VIEWS_RECREATED'])
    expect(tables[0]?.changes.at(-1)?.to).toMatch(new RegExp(`first_${table}.*third_${table}`))
    expect((await user.query(known)).rows).toEqual(before)
    expect(before).toHaveLength(3)
    expect((await rowsOf(`third_${table}`)).length).toBe(2)
    expect(
      (await user.query(`select data_type from information_schema.columns where table_name = 'first_${table}'`)).rows,
    ).toEqual([{ data_type: 'text' }, { data_type: 'text' }])
    await using reader = await connectedAs(scratch.access, 'read')
    await expect(reader.query(`select n from health.third_${table}`)).rejects.toMatchObject({ code: '42501' })
    expect((await reader.query(`select "The id" from health.third_${table}`)).rowCount).toBe(2)
  })

  it('stay unchanged if they do not read the widened column', async () => {
    await user.query(`create view health.over_${table} as select name from health.${table}`)
    const oid = async () => (await user.query(`select 'health.over_${table}'::regclass::oid as oid`)).rows
    const before = await oid()
    await load([[5_000_000_000, 'b']], columns({ id: 'BIGINT', name: 'TEXT' }))
    expect([await oid(), await rowsOf(`over_${table}`)]).toEqual([before, [['b']]])
  })

  it('of another owner make the load fail with their names, and the old rows stay', async () => {
    await scratch.superuser.query(`create view health.theirs_${table} as select id from health.${table}`)
    await user.query(`create view health.ours_${table} as select id from health.${table}`)
    await expect(load([['x', 'b']], wider)).rejects.toMatchObject({
      code: 'VIEWS_DEPEND',
      retryable: false,
      message: expect.stringContaining(`theirs_${table}`),
    })
    expect([await rowsOf(table), await rowsOf(`ours_${table}`)]).toEqual([[[1, 'a']], [[1]]])
    await load([[2, 'b']])
    expect((await scratch.superuser.query(`select id from health.theirs_${table}`)).rows).toEqual([{ id: 2 }])
  })

  it('that are invalid with the wider type make the load fail with their names, and the old rows stay', async () => {
    await user.query(`create view health.sum_${table} as select sum(id) as total from health.${table}`)
    await expect(load([['x', 'b']], wider)).rejects.toMatchObject({
      code: 'VIEWS_DEPEND',
      retryable: false,
      message: expect.stringMatching(new RegExp(`sum_${table}.*cannot be recreated with them: function sum`)),
    })
    expect([await rowsOf(table), await rowsOf(`sum_${table}`)]).toEqual([[[1, 'a']], [['1']]])
  })

  it('that are invalid are named without the valid views below and the views above', async () => {
    await user.query(`
      create view health.any_${table} as select 'é' as accent, id from health.${table};
      create view health.sum_${table} as select sum(id) as total from health.any_${table};
      create view health.top_${table} as select total from health.sum_${table}`)
    await expect(load([['x', 'b']], wider)).rejects.toMatchObject({
      message: expect.stringContaining(
        `("id" from INTEGER to TEXT), and the view over it (health.sum_${table}) cannot be recreated with them: function sum(text) does not exist.`,
      ),
    })
  })

  it('are always visible to readers, without deadlocks, while types widen', async () => {
    await user.query(`create view health.over_${table} as select id, name from health.${table}`)
    const seen = new Set<string>()
    const reading = { on: true }
    const readers = [1, 2].map(async () => {
      await using reader = await connectedAs(scratch.access, 'read')
      while (reading.on) {
        const { rows } = await reader.query(
          `select count(*)::int as count, min(id::text) as id from health.over_${table}`,
        )
        seen.add(`${rows[0].count} ${rows[0].id}`)
      }
    })
    for (const shape of ['SMALLINT', 'INTEGER', 'BIGINT', 'DECIMAL(30,2)', 'TEXT'])
      await load(numbered(2), columns({ id: shape, name: 'TEXT' }))
    reading.on = false
    await Promise.all(readers)
    const expected = ['1 1', '2 1', '2 1.00']
    expect([...seen].filter((one) => !expected.includes(one))).toEqual([])
  })
})
