import { describe, expect, it } from '@jest/globals'
import { until } from '@sluice/testing/wait-until'
import { leftovers } from '../../test/find-leftover-tables.ts'
import { columns, loadAll, never, numbered } from '../../test/row-fixtures.ts'
import { connectedAs, scratchWarehouseForAll, word } from '../../test/scratch-warehouse.ts'
import { binary, tuple } from '../../test/copy-tuples.ts'

describe('a PostgreSQL warehouse', () => {
  const scratch = scratchWarehouseForAll()

  it('stores values of every type and returns them exactly', async () => {
    const types = {
      small: 'SMALLINT',
      whole: 'INTEGER',
      big: 'BIGINT',
      money: 'DECIMAL(30,4)',
      any: 'DECIMAL',
      rough: 'FLOAT',
      double: 'DOUBLE',
      yes: 'BOOLEAN',
      uid: 'CHARACTER_11',
      short: 'VARCHAR_50',
      long: 'VARCHAR_255',
      note: 'TEXT',
      day: 'DATE',
      at: 'TIMESTAMP',
      moment: 'TIMESTAMPTZ',
      area: 'GEOMETRY',
      more: 'JSONB',
    }
    const row = [
      '-32768',
      '2147483647',
      '9223372036854775807',
      '12345678901234567890123456.7891',
      '1e-20',
      '1.5',
      '0.1',
      't',
      'abcdefghijk',
      'é',
      'x',
      'a\tb\nc\\d',
      '2026-02-28',
      '2026-01-01 12:00:00.123456',
      '2026-01-01 12:00:00+02',
      'POINT(1 2)',
      '{"a": [1, null]}',
    ]
    const labelled = columns(types).map((column) => ({ ...column, label: `The "${column.name}"; it’s` }))
    await loadAll(scratch.warehouse, { table: 'types', columns: labelled }, [
      row,
      row.map(() => null),
      row.with(6, 'NaN'),
    ])
    const page = await scratch.warehouse.queries.readTable('health', 'types', { limit: 10, offset: 0 })
    expect(page.rows[0]).toEqual([
      -32768,
      2147483647,
      '9223372036854775807',
      '12345678901234567890123456.7891',
      '0.00000000000000000001',
      1.5,
      0.1,
      true,
      'abcdefghijk',
      'é',
      'x',
      'a\tb\nc\\d',
      '2026-02-28',
      '2026-01-01 12:00:00.123456',
      '2026-01-01 10:00:00+00',
      'POINT(1 2)',
      { a: [1, null] },
    ])
    expect(page.rows[1]).toEqual(row.map(() => null))
    expect(page.rows[2]?.[6]).toBe('NaN')
    expect(page.columns.map(({ label }) => label)).toEqual(labelled.map(({ label }) => label))
    expect(page.columns[3]).toMatchObject({
      name: 'money',
      dataType: 'DECIMAL',
      precision: 30,
      scale: 4,
      primaryKey: false,
    })
    expect(await scratch.warehouse.catalog.findTable('health', 'types')).toMatchObject({
      schema: 'health',
      name: 'types',
      rowCount: 3,
      columns: page.columns,
    })
  })

  it('returns pages of a table in the order of the load, without gaps or duplicates', async () => {
    await loadAll(
      scratch.warehouse,
      { table: 'paged', columns: columns({ id: 'INTEGER', name: 'TEXT' }) },
      numbered(25_000),
    )
    const seen: unknown[] = []
    for (let offset = 0; ; offset += 7_000) {
      const { rows } = await scratch.warehouse.queries.readTable('health', 'paged', { limit: 7_000, offset })
      if (rows.length === 0) break
      seen.push(...rows.map(([id]) => id))
    }
    expect(seen).toEqual(Array.from({ length: 25_000 }, (_, index) => index + 1))
    const { rows } = await scratch.warehouse.queries.readTable('health', 'paged', { limit: 1_000_000, offset: 0 })
    expect(rows).toHaveLength(10_000)
    const table = await scratch.warehouse.catalog.findTable('health', 'paged')
    expect(table?.size).toBeGreaterThan(800_000)
  })

  it('closes the connections of role read after the queries', async () => {
    const connections = async () =>
      (await scratch.superuser.query('select from pg_stat_activity where usename = $1', [scratch.access.read.user]))
        .rowCount
    await until(async () => (await connections()) === 0)
  })

  it('names the column of a value that does not fit by its label', async () => {
    const columns = [{ name: 'age_2', label: 'Age, in "years"', dataType: 'INTEGER' as const }]
    const writing = async (row: (string | number)[]) => {
      const target = { schema: 'health', table: 'bad', columns, run: word(), attempt: 1 }
      await using load = await scratch.warehouse.loader.stage(target, never)
      async function* rows() {
        yield { bytes: Buffer.concat([tuple([1]), tuple(row)]) }
      }
      await load.write(binary(rows), never)
    }
    await expect(writing(['three'])).rejects.toMatchObject({
      code: 'BAD_VALUE',
      retryable: false,
      message:
        'The warehouse cannot store a value of "health"."bad", column "Age, in "years"": incorrect binary data format.',
    })
    await expect(writing([2, 3])).rejects.toMatchObject({
      code: 'BAD_VALUE',
      message: expect.stringMatching(/^The warehouse cannot store a value of "health"."bad":/),
    })
  })

  it('rethrows an error of the source unchanged', async () => {
    await using load = await scratch.warehouse.loader.stage(
      { schema: 'health', table: 'cut', columns: columns({ id: 'INTEGER' }), run: word(), attempt: 1 },
      never,
    )
    const failure = new Error('the remote hung up')
    async function* truncateAfter() {
      yield { bytes: tuple([1]) }
      throw failure
    }
    await expect(load.write(binary(truncateAfter), never)).rejects.toBe(failure)
  })

  it('rejects duplicate and null primary keys, and keeps the old rows', async () => {
    const keyed = [{ name: 'id', label: 'id', dataType: 'INTEGER' as const, primaryKey: true }]
    await loadAll(scratch.warehouse, { table: 'keyed', columns: keyed }, [[1], [2]])
    await expect(loadAll(scratch.warehouse, { table: 'keyed', columns: keyed }, [[3], [3]])).rejects.toMatchObject({
      code: 'DUPLICATE_KEY',
      message:
        'Nothing was loaded into "health"."keyed", because 2 rows of the source have the same key (id = 3). Correct the source, or choose another key.',
    })
    await expect(loadAll(scratch.warehouse, { table: 'keyed', columns: keyed }, [[null]])).rejects.toMatchObject({
      code: 'NULL_KEY',
    })
    const table = await scratch.warehouse.catalog.findTable('health', 'keyed')
    expect(table).toMatchObject({ rowCount: 2, columns: [{ name: 'id', primaryKey: true }] })
  })

  it('does not replace or drop a table that Sluice did not create', async () => {
    await using load = await connectedAs(scratch.access, 'load')
    await load.query(`create table health.foreign (id int); insert into health.foreign values (7);
      create table health.parted (id int) partition by list (id); create table health.part partition of health.parted default`)
    for (const table of ['foreign', 'parted']) {
      await expect(
        loadAll(scratch.warehouse, { table, columns: columns({ id: 'INTEGER' }) }, [[1]]),
      ).rejects.toMatchObject({ code: 'TABLE_NOT_OURS' })
      await expect(scratch.warehouse.catalog.dropTable('health', table)).rejects.toMatchObject({
        code: 'TABLE_NOT_OURS',
      })
    }
    expect((await scratch.warehouse.queries.readTable('health', 'foreign', { limit: 1, offset: 0 })).rows).toEqual([
      [7],
    ])
  })

  it('reports a missing table, publication, schema or column list', async () => {
    const { warehouse } = scratch
    expect(await warehouse.catalog.findTable('health', 'nowhere')).toBeUndefined()
    expect(await warehouse.loader.findPublication('nobody')).toBeUndefined()
    await expect(warehouse.queries.readTable('health', 'nowhere', { limit: 1, offset: 0 })).rejects.toMatchObject({
      code: 'TABLE_MISSING',
    })
    await expect(
      loadAll(warehouse, { schema: 'nowhere', columns: columns({ id: 'INTEGER' }) }, [[1]]),
    ).rejects.toMatchObject({ code: 'SCHEMA_MISSING' })
    await expect(
      warehouse.loader.stage({ schema: 'health', table: 't', columns: [], run: word(), attempt: 1 }, never),
    ).rejects.toMatchObject({ code: 'NO_COLUMNS' })
  })

  it('drops a table only without dependent views, and a schema only when it is empty', async () => {
    const { warehouse } = scratch
    const schema = 'Short lived'
    await Promise.all([
      warehouse.catalog.ensureSchema(schema),
      warehouse.catalog.ensureSchema(schema),
      warehouse.catalog.ensureSchema(schema),
    ])
    await loadAll(warehouse, { schema, columns: columns({ id: 'INTEGER' }) }, [[1]])
    await expect(warehouse.catalog.dropSchema(schema)).rejects.toMatchObject({ code: 'SCHEMA_NOT_EMPTY' })
    await using load = await connectedAs(scratch.access, 'load')
    await load.query(`create view health.looking as select * from "Short lived".cases`)
    await expect(warehouse.catalog.dropTable(schema, 'cases')).rejects.toMatchObject({
      code: 'VIEWS_DEPEND',
      message: expect.stringContaining('looking'),
    })
    await load.query('drop view health.looking')
    for (const _ of ['now', 'again']) {
      await warehouse.catalog.dropTable(schema, 'cases')
      await warehouse.catalog.dropSchema(schema)
    }
    expect(await leftovers(scratch.superuser)).toEqual([])
  })
})
