import { describe, expect, it } from '@jest/globals'
import { casesForEach, two } from '../../../test/test-case-tables.ts'
import { columns, loadAll, never, numbered, stage } from '../../../test/row-fixtures.ts'
import { word } from '../../../test/scratch-warehouse.ts'
import { openPostgresWarehouse } from '../postgres-warehouse.ts'

describe('statistics of the planner after a load into PostgreSQL', () => {
  const cases = casesForEach()
  const { scratch, load } = cases

  /** Statistics of the columns, of the parent table or of its partition. */
  async function statisticsOf(relation: 'parent' | 'partition') {
    const { rows } = await scratch.superuser.query<Record<string, unknown>>(
      `select s.attname::text as column, null_frac, avg_width, n_distinct, most_common_vals::text, most_common_freqs,
         histogram_bounds::text, correlation
       from pg_inherits i join pg_class c on c.oid = case when $2 then i.inhparent else i.inhrelid end
       join pg_stats s on s.schemaname::regnamespace = c.relnamespace and s.tablename = c.relname and s.inherited = $2
       where i.inhparent = $1::regclass order by 1`,
      [`health.${cases.table}`, relation === 'parent'],
    )
    return rows
  }

  it('are the same for the table and its partition, after each load and a restore', async () => {
    await using warehouse = openPostgresWarehouse(scratch.access, { keepDays: 7 })
    const load = (rows: Parameters<typeof loadAll>[2]) => loadAll(warehouse, { table: cases.table, columns: two }, rows)
    await load(numbered(500, 'often'))
    const first = await statisticsOf('parent')
    expect(first).toMatchObject([
      { column: 'id', n_distinct: -1, histogram_bounds: expect.any(String), null_frac: 0 },
      { column: 'name', n_distinct: 1, most_common_vals: '{often}', most_common_freqs: [1] },
    ])
    expect(first).toEqual(await statisticsOf('partition'))
    // Nothing of the earlier statistics remains: these names are distinct, so they have no most common values.
    await load(Array.from({ length: 500 }, (_, id) => [id + 7, `name ${id}`]))
    const second = await statisticsOf('parent')
    expect(second).toMatchObject([
      { column: 'id' },
      { column: 'name', n_distinct: -1, most_common_vals: null, most_common_freqs: null },
    ])
    expect(second).toEqual(await statisticsOf('partition'))
    const target = { schema: 'health', table: cases.table, run: word('run'), attempt: 1 }
    await warehouse.loader.restore(target, async () => true, never)
    expect(await statisticsOf('parent')).toEqual(first)
  })

  it('estimate the rows of a join', async () => {
    await load(Array.from({ length: 2_000 }, (_, id) => [id, `name ${id % 4}`]))
    const { rows } = await scratch.superuser.query<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(
      `explain (format json) select from health.${cases.table} a join health.${cases.table} b using (id)`,
    )
    const estimate = rows[0]!['QUERY PLAN'][0].Plan['Plan Rows']
    expect(estimate).toBeGreaterThan(1_500)
    expect(estimate).toBeLessThan(2_500)
  })

  it('exist for the key and the first hundred columns of a wide table, of a small sample', async () => {
    const names = Array.from({ length: 300 }, (_, index) => `c${index}`)
    const shape = columns(Object.fromEntries(names.map((name) => [name, 'INTEGER']))).map((column) => ({
      ...column,
      primaryKey: column.name === 'c250',
    }))
    const rows = Array.from({ length: 1_000 }, (_, row) => names.map((_, column) => row * 1_000 + column))
    await using staged = await stage(scratch.warehouse, { table: cases.table, columns: shape }, rows)
    await scratch.warehouse.loader.publish([staged], async () => true, never)
    const statistics = await statisticsOf('parent')
    expect(statistics.map(({ column }) => column).toSorted()).toEqual([...names.slice(0, 100), 'c250'].toSorted())
  })
})
