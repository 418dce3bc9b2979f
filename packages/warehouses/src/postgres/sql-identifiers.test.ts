import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { loadAll } from '../../test/row-fixtures.ts'
import { type ScratchWarehouse, scratchWarehouse } from '../../test/scratch-warehouse.ts'
import { WarehouseProblem } from '../warehouse.ts'
import { checkColumnName, checkSchemaName, checkTableName } from './sql-identifiers.ts'

const nasty = [
  'a"b',
  '""',
  '"; drop schema health cascade; --',
  "it's",
  '\\',
  '\\.',
  '$$',
  '$1',
  '%I',
  '%',
  '/*',
  '--',
  ';',
  ' ',
  ' leading',
  'trailing ',
  'a.b',
  'SELECT',
  'user',
  'İstanbul',
  'ſ',
  'ﬁ',
  '数据',
  '👩🏽‍⚕️',
  'e\u0301',
  'A',
  'a',
  'null',
  '\\N',
  "E'",
  'U&"\\0061"',
  '{}',
  '[0]',
  'x'.repeat(63),
  'é'.repeat(31),
  '‮abc',
  '-1',
  '0',
]

describe('names in a PostgreSQL warehouse', () => {
  let scratch: ScratchWarehouse
  beforeAll(async () => {
    scratch = await scratchWarehouse()
  })
  afterAll(() => scratch?.[Symbol.asyncDispose]())

  it.each([
    '',
    'pg_temp',
    'PG_x',
    'sluice',
    'Sluice',
    'public',
    'information_schema',
    'a\0b',
    'a\nb',
    '\ud800',
    'x'.repeat(64),
    'é'.repeat(32),
  ])('rejects schema %j', (name) => {
    expect(() => checkSchemaName(name)).toThrow(WarehouseProblem)
  })

  it('rejects names of tables and columns that PostgreSQL reserves, with control characters, or empty', () => {
    for (const check of [
      () => checkTableName('pg_class'),
      () => checkTableName('a\tb'),
      () => checkColumnName('ctid'),
      () => checkColumnName(''),
    ]) {
      expect(check).toThrow(expect.objectContaining({ code: 'INVALID_NAME' }))
    }
  })

  it('creates schemas, tables, columns and labels with special characters, and nothing else', async () => {
    const { warehouse, superuser } = scratch
    const columns = nasty.map((name) => ({ name, label: `${name}'"\\`, dataType: 'TEXT' as const }))
    for (const name of nasty) {
      await warehouse.catalog.ensureSchema(name)
      const target = { schema: name, table: name, columns, run: `${name}'; --` }
      await loadAll(warehouse, target, [nasty])
      await loadAll(warehouse, { ...target, run: `${name} again` }, [nasty])
      expect((await warehouse.queries.readTable(name, name, { limit: 2, offset: 0 })).rows).toEqual([nasty])
      expect((await warehouse.catalog.findTable(name, name))?.columns.map(({ label }) => label)).toEqual(
        columns.map(({ label }) => label),
      )
      expect((await warehouse.loader.findPublication(`${name}'; --`))?.rows).toBe(1)
    }
    const { rows } =
      await superuser.query(`select n.nspname as schema, array_agg(c.relname::text) as tables from pg_namespace n left join pg_class c on c.relnamespace = n.oid
      where n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'sluice', 'public') group by 1`)
    expect(rows.map(({ schema, tables }) => [schema, tables]).sort()).toEqual(
      nasty.map((name) => [name, [name]]).sort(),
    )
    for (const name of nasty) {
      await warehouse.catalog.dropTable(name, name)
      await warehouse.catalog.dropSchema(name)
    }
  })

  it('creates exactly the given schema or rejects the name, for 300 random names', async () => {
    const { warehouse, superuser } = scratch
    const before = (await superuser.query('select count(*)::int from pg_namespace')).rows
    const textUpTo = (max: number) =>
      fc.string({
        unit: fc.integer({ min: 0, max }).map((code) => String.fromCharCode(code)),
        minLength: 1,
        maxLength: 20,
      })
    const names = fc.oneof(textUpTo(0x7f), textUpTo(0xffff))
    const property = fc.asyncProperty(names, async (name) => {
      const made = await warehouse.catalog.ensureSchema(name).then(
        () => true,
        (error: unknown) => {
          expect(error).toMatchObject({ code: 'INVALID_NAME' })
          return false
        },
      )
      if (!made) return
      expect((await superuser.query('select from pg_namespace where nspname = $1', [name])).rowCount).toBe(1)
      await warehouse.catalog.dropSchema(name)
    })
    // A failure prints the seed and the name.
    await fc.assert(property, { numRuns: 300 })
    expect((await superuser.query('select count(*)::int from pg_namespace')).rows).toEqual(before)
  })
})
