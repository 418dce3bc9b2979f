import { describe, expect, it } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import { columns, loadAll, never, numbered, stage } from './row-fixtures.ts'
import { binary, numberedTuples, tuple } from './copy-tuples.ts'
import { type Given, rowsIn } from './warehouse-under-test.ts'

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

/** What every warehouse does with rows on their way in. */
export function loadsSuite(subject: Given): void {
  describe('staged rows', () => {
    it('are returned exactly after the publication, for every type', async () => {
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
        '1969-12-31 23:59:59.123456',
        '2026-01-01 12:00:00+02',
        'POINT(1 2)',
        '{"a": [1, null]}',
      ]
      const labelled = columns(types).map((column) => ({ ...column, label: `The "${column.name}"; it’s` }))
      const { nan, anyDecimal = '-12345678901234567890.5' } = subject.subject.differs ?? {}
      const negative = row.with(2, '-9223372036854775808').with(3, '-0.0001').with(4, anyDecimal)
      const odd = nan === false ? '-0.5' : 'NaN'
      await loadAll(subject.warehouse, { table: 'types', columns: labelled }, [
        row,
        row.map(() => null),
        row.with(6, odd),
        negative.with(7, 'f').with(11, '').with(12, '1900-01-01'),
      ])
      const page = await subject.warehouse.queries.readTable('health', 'types', { limit: 10, offset: 0 })
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
        '1969-12-31 23:59:59.123456',
        '2026-01-01 10:00:00+00',
        'POINT(1 2)',
        { a: [1, null] },
      ])
      expect(page.rows[1]).toEqual(row.map(() => null))
      expect(page.rows[2]?.[6]).toBe(odd === 'NaN' ? odd : Number(odd))
      expect(page.rows[3]?.slice(2, 5)).toEqual(['-9223372036854775808', '-0.0001', anyDecimal])
      expect(page.rows[3]?.slice(7, 13)).toEqual([false, 'abcdefghijk', 'é', 'x', '', '1900-01-01'])
      expect(page.columns.map(({ label }) => label)).toEqual(labelled.map(({ label }) => label))
      expect(page.columns.map(({ dataType }) => dataType)).toEqual(
        Object.values(types).map((type) => type.replace('(30,4)', '').replace('GEOMETRY', 'TEXT')),
      )
      expect(page.columns[3]).toMatchObject({ precision: 30, scale: 4, primaryKey: false })
      const table = await subject.warehouse.catalog.findTable('health', 'types')
      expect(table).toMatchObject({ schema: 'health', name: 'types', rowCount: 4, columns: page.columns })
    })

    it('can have the key columns of child tables such as _row_id and _parent_row_id', async () => {
      const { warehouse } = subject
      const keys = { _row_id: 'TEXT', _parent_row_id: 'TEXT', _root_row_id: 'BIGINT', _index: 'INTEGER' } as const
      await loadAll(warehouse, { table: 'cases__visits', columns: columns(keys) }, [['7/visits[0]', '7', '7', 1]])
      const { rows } = await warehouse.queries.readTable('health', 'cases__visits', { limit: 5, offset: 0 })
      expect(rows).toEqual([['7/visits[0]', '7', '7', 1]])
    })

    it('are returned in pages in the order of the load', async () => {
      const { warehouse } = subject
      await loadAll(warehouse, { table: 'paged', columns: columns({ id: 'INTEGER', name: 'TEXT' }) }, numbered(25_000))
      const seen: unknown[] = []
      for (let offset = 0; ; offset += 7_000) {
        const { rows } = await warehouse.queries.readTable('health', 'paged', { limit: 7_000, offset })
        if (rows.length === 0) break
        seen.push(...rows.map(([id]) => id))
      }
      expect(seen).toEqual(Array.from({ length: 25_000 }, (_, index) => index + 1))
    })

    it('are returned in pages of at most 4 MB, and a larger row is rejected', async () => {
      const { warehouse } = subject
      const each = subject.subject.differs?.longestText ?? 16 * 1024 * 1024
      const load = (table: string, rows: number, bytes: number) => {
        const texts = Array.from({ length: Math.ceil(bytes / each) }, () => 'm'.repeat(Math.min(each, bytes)))
        const shape = columns({
          id: 'INTEGER',
          ...Object.fromEntries(texts.map((_, index) => [`name${index}`, 'TEXT'])),
        })
        return loadAll(
          warehouse,
          { table, columns: shape },
          Array.from({ length: rows }, (_, id) => [id, ...texts]),
        )
      }
      await load('wide', 30, 1024 * 1024)
      const page = await warehouse.queries.readTable('health', 'wide', { limit: 30, offset: 0 })
      expect(page.truncated).toBe(true)
      expect(page.rows.length).toBeGreaterThanOrEqual(3)
      expect(page.rows.length).toBeLessThan(6)
      await load('huge', 1, 20 * 1024 * 1024)
      await expect(warehouse.queries.readTable('health', 'huge', { limit: 1, offset: 0 })).rejects.toMatchObject({
        code: 'ROW_TOO_LARGE',
      })
    })

    it('are complete although the memory of each chunk is overwritten when it is released', async () => {
      const target = { schema: 'health', table: 'many', columns: columns({ id: 'INTEGER', name: 'TEXT' }) }
      await using load = await subject.warehouse.loader.stage({ ...target, run: randomUUID(), attempt: 1 }, never)
      expect(
        await load.write(
          binary(() => numberedTuples(200_000, 'some text')),
          never,
        ),
      ).toMatchObject({ rows: 200_000 })
      await subject.warehouse.loader.publish([load], async () => true, never)
      const found = await subject.warehouse.queries.query({
        text: `select count(*) as n, sum(id) as s, count(distinct name) as d from many`,
        schemas: ['health'],
      })
      expect(found.rows[0]?.map(Number)).toEqual([200_000, 20_000_100_000, 1])
    })

    it('are rejected with the label of the column whose value does not fit', async () => {
      const column = { name: 'age_2', label: 'Age, in "years"', dataType: 'INTEGER' as const }
      const target = { schema: 'health', table: 'bad', columns: [column], run: randomUUID(), attempt: 1 }
      await using load = await subject.warehouse.loader.stage(target, never)
      async function* rows() {
        yield { bytes: Buffer.concat([tuple([1]), tuple(['three'])]) }
      }
      await expect(load.write(binary(rows), never)).rejects.toMatchObject({
        code: 'BAD_VALUE',
        retryable: false,
        message:
          'The warehouse cannot store a value of "health"."bad", column "Age, in "years"": incorrect binary data format.',
      })
    })

    it('make the load reject with the error of the source or the reason of the abort, unchanged', async () => {
      const target = { schema: 'health', table: 'cut', columns: columns({ id: 'INTEGER' }), attempt: 1 }
      const failure = new Error('the remote hung up')
      async function* truncateAfter() {
        yield { bytes: tuple([1]) }
        throw failure
      }
      await using load = await subject.warehouse.loader.stage({ ...target, run: randomUUID() }, never)
      await expect(load.write(binary(truncateAfter), never)).rejects.toBe(failure)
      const stop = new AbortController()
      const reason = new Error('cancelled')
      async function* endless() {
        for (;;) {
          yield { bytes: tuple([1]) }
          stop.abort(reason)
          await new Promise((resolve) => setImmediate(resolve))
        }
      }
      await using other = await subject.warehouse.loader.stage({ ...target, run: randomUUID() }, never)
      await expect(other.write(binary(endless), stop.signal)).rejects.toBe(reason)
    })

    it('are hidden before their publication, and are removed by sweepStaging after their run ended', async () => {
      const { warehouse } = subject
      const run = randomUUID()
      await stage(warehouse, { table: 'waiting', columns: columns({ id: 'INTEGER' }), run }, [[1]])
      expect(await warehouse.catalog.findTable('health', 'waiting')).toBeUndefined()
      expect(await warehouse.catalog.findStagingTable('health', 'waiting')).toMatchObject({ run })
      expect(await warehouse.upkeep.sweepStaging(async () => new Set([run]))).toBe(0)
      expect(await warehouse.catalog.findStagingTable('health', 'waiting')).toMatchObject({ run })
      expect(await warehouse.upkeep.sweepStaging(async () => new Set())).toBeGreaterThanOrEqual(1)
      expect(await warehouse.catalog.findStagingTable('health', 'waiting')).toBeUndefined()
    })

    it('are changed by a transformation before their publication', async () => {
      const { warehouse } = subject
      const shape = columns({ id: 'INTEGER', name: 'TEXT' })
      await using load = await stage(warehouse, { table: 'worked', columns: shape }, numbered(3))
      await warehouse.loader.transform(
        [load],
        [{ statement: subject.subject.changeNames.replace('TABLE', 'worked') }],
        never,
      )
      await warehouse.loader.publish([load], async () => true, never)
      expect(await rowsIn(warehouse, 'worked')).toEqual([1, 2, 3].map((id) => [id, 'changed']))
      await using other = await stage(warehouse, { table: 'worked', columns: shape }, numbered(1))
      await expect(
        warehouse.loader.transform(
          [other],
          [{ description: 'wrong', statement: 'select nothing from nowhere' }],
          never,
        ),
      ).rejects.toMatchObject({
        code: 'TRANSFORMATION_FAILED',
        message: expect.stringContaining('Statement 1 of the transformation (“wrong”)'),
      })
    })

    it('need an existing schema, columns and valid names', async () => {
      const { warehouse } = subject
      const target = { schema: 'health', table: 't', columns: columns({ id: 'INTEGER' }), run: 'r', attempt: 1 }
      const refusals = {
        SCHEMA_MISSING: { ...target, schema: 'nowhere' },
        NO_COLUMNS: { ...target, columns: [] },
        INVALID_NAME: { ...target, table: 'x'.repeat(64) },
      }
      for (const [code, wrong] of Object.entries(refusals))
        await expect(warehouse.loader.stage(wrong, never)).rejects.toMatchObject({ code })
      await expect(warehouse.queries.readTable('health', 'nowhere', { limit: 1, offset: 0 })).rejects.toMatchObject({
        code: 'TABLE_MISSING',
      })
      await expect(warehouse.catalog.ensureSchema('a\u0000b')).rejects.toMatchObject({ code: 'INVALID_NAME' })
    })
  })
}
