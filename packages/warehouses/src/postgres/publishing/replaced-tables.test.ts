import { describe, expect, it } from '@jest/globals'
import { columns, given, loadAll, never, numbered, stage } from '../../../test/row-fixtures.ts'
import { connectedAs, scratchWarehouseForAll, word } from '../../../test/scratch-warehouse.ts'
import { openPostgresWarehouse } from '../postgres-warehouse.ts'

const two = columns({ id: 'INTEGER', name: 'TEXT' })

describe('the previous table that a load replaced', () => {
  const scratch = scratchWarehouseForAll()
  const opened = (more: Parameters<typeof openPostgresWarehouse>[1] = {}) =>
    openPostgresWarehouse(scratch.access, { keepDays: 3, waitMs: 8_000, ...more })
  const replacedTables = async (table: string): Promise<{ partition: string; there: boolean }[]> => {
    const { rows } = await scratch.superuser.query(
      `select partition_name as partition, to_regclass(format('sluice.%I', partition_name)) is not null as there
       from sluice.kept_table where table_name = $1`,
      [table],
    )
    return rows
  }
  const rowsOf = async (table: string) =>
    (await scratch.warehouse.queries.readTable('health', table, { limit: 100, offset: 0 })).rows.length
  const restore = (warehouse: ReturnType<typeof opened>, table: string) =>
    warehouse.loader.restore({ schema: 'health', table, run: word('run'), attempt: 1 }, async () => true, never)
  const filesOf = async (table: string): Promise<number[]> => {
    const { rows } = await scratch.superuser.query(
      `select array(select pg_relation_filenode(relid)::int from pg_partition_tree($1) where isleaf) as files`,
      [`health.${table}`],
    )
    return rows[0].files
  }
  const size = async (): Promise<number> => {
    const { rows } = await scratch.superuser.query('select pg_database_size(current_database())::float8 as bytes')
    return rows[0].bytes
  }

  it('is restored as the same file, and the table keeps its OID, owner and grants', async () => {
    await using warehouse = opened()
    const table = word('cases_')
    await loadAll(warehouse, { table, columns: two }, numbered(2, 'old'))
    const [file] = await filesOf(table)
    await scratch.superuser.query(`grant insert on health.${table} to ${scratch.access.read.user}`)
    const facts = `select oid::int, relacl::text, relowner::int from pg_class where oid = 'health.${table}'::regclass`
    const before = (await scratch.superuser.query(facts)).rows
    await loadAll(warehouse, { table, columns: two }, numbered(5, 'new'))
    expect(await filesOf(table)).not.toEqual([file])
    await restore(warehouse, table)
    expect(await filesOf(table)).toEqual([file])
    expect((await scratch.superuser.query(facts)).rows).toEqual(before)
    expect(await rowsOf(table)).toBe(2)
  })

  it('is not lost if another run publishes after a merge was compared with the table', async () => {
    await using warehouse = opened()
    const target = { table: word('cases_'), columns: two.map((one) => ({ ...one, primaryKey: one.name === 'id' })) }
    const merge = async (value: string, gate?: () => Promise<void>) => {
      await using load = await stage(warehouse, { ...target, shape: { merging: true } }, numbered(2, value))
      const options = { mode: 'MERGE' as const, keepsPrevious: true, ...(gate && { gate }) }
      return await warehouse.loader.publish([load], async () => true, never, options)
    }
    await merge('old')
    const overtaken = merge('old', async () => void (await merge('new')))
    await expect(overtaken).rejects.toMatchObject({ code: 'WAREHOUSE_BUSY', retryable: true })
    const values = async () =>
      (await warehouse.queries.readTable('health', target.table, { limit: 100, offset: 0 })).rows.map(
        ([, value]) => value,
      )
    expect(await values()).toEqual(['new', 'new'])
    const { tables } = await merge('old')
    expect(tables).toMatchObject([{ merged: { added: 0, changed: 2, removed: 0 } }])
    await restore(warehouse, target.table)
    expect(await values()).toEqual(['new', 'new'])
  })

  it('is not restored if a view cannot be recreated with its types', async () => {
    await using warehouse = opened()
    const table = word('cases_')
    await loadAll(warehouse, { table, columns: two }, [[1, 'a']])
    await loadAll(warehouse, { table, columns: columns({ id: 'TEXT', name: 'TEXT' }) }, [
      ['n/a', 'b'],
      ['x', 'c'],
    ])
    await using user = await connectedAs(scratch.access, 'load')
    await user.query(`create view health.upper_${table} as select upper(id) from health.${table}`)
    await expect(restore(warehouse, table)).rejects.toMatchObject({
      code: 'VIEWS_DEPEND',
      message: `The columns of "health"."${table}" change ("id" from TEXT to INTEGER), and the view over it (health.upper_${table}) cannot be recreated with them: function upper(integer) does not exist. The old data stays. Change or drop the view and restore again.`,
    })
    expect(await rowsOf(table)).toBe(2)
  })

  it('is dropped after keepDays, and immediately if keepDays is 0', async () => {
    const table = word('cases_')
    await using warehouse = opened()
    await loadAll(warehouse, { table, columns: two }, numbered(1))
    await loadAll(warehouse, { table, columns: two }, numbered(2))
    expect(await warehouse.upkeep.pruneLedger(3)).toBe(0)
    await scratch.superuser.query(
      `update sluice.ledger set published_at = now() - interval '9 days';
       update sluice.kept_table set kept_at = now() - interval '71 hours'`,
    )
    await warehouse.upkeep.pruneLedger(3)
    expect(await warehouse.upkeep.dropExpiredTables()).toBe(0)
    const [before] = await replacedTables(table)
    expect(before).toMatchObject({ there: true })
    await restore(warehouse, table)
    expect(await rowsOf(table)).toBe(1)
    await scratch.superuser.query(`update sluice.kept_table set kept_at = now() - interval '73 hours'`)
    expect(await warehouse.upkeep.dropExpiredTables()).toBeGreaterThanOrEqual(1)
    expect(await replacedTables(table)).toEqual([])
    await expect(restore(warehouse, table)).rejects.toMatchObject({ code: 'NOTHING_TO_RESTORE' })

    await loadAll(warehouse, { table, columns: two }, numbered(3))
    const [kept] = await replacedTables(table)
    await using without = opened({ keepDays: 0 })
    await loadAll(without, { table, columns: two }, numbered(4))
    expect(await replacedTables(table)).toEqual([])
    const { rows } = await scratch.superuser.query('select to_regclass($1) as there', [`sluice."${kept!.partition}"`])
    expect(rows[0].there).toBeNull()
    expect(await without.upkeep.sweepStaging(async () => new Set())).toBe(0)
    expect(await rowsOf(table)).toBe(4)
  })

  it('is dropped when a load or a transformation needs its disk space', async () => {
    const table = word('large_')
    const large = (rows: number) =>
      Array.from({ length: rows }, (_, id): [number, string] => [id, word('x'.repeat(900))])
    await using warehouse = opened()
    await loadAll(warehouse, { table, columns: two }, large(9_000))
    await loadAll(warehouse, { table, columns: two }, numbered(3, 'new'))
    expect(await replacedTables(table)).toHaveLength(1)
    await using small = opened({ databaseBytes: (await size()) - 1_000_000 })
    const other = word('cases_')
    await loadAll(small, { table: other, columns: two }, numbered(1))
    expect(await replacedTables(table)).toEqual([])

    await loadAll(warehouse, { table, columns: two }, large(9_000))
    await loadAll(warehouse, { table, columns: two }, numbered(3, 'new'))
    await using tight = opened({ databaseBytes: (await size()) + 3_000_000 })
    await using load = await stage(tight, { table: other, columns: two, run: word('run') }, numbered(4, 'new'))
    const statement = `insert into ${other} select g, (select string_agg(md5(g::text || i), '') from generate_series(1, 60) i) || pg_sleep(0.001)::text from generate_series(1, 4000) g`
    await tight.loader.transform([load], [{ statement }], never)
    await tight.loader.publish([load], async () => true, never)
    expect(await replacedTables(table)).toEqual([])
    expect(await rowsOf(table)).toBe(3)
  }, 60_000)

  it('is dropped when the disk is full, and the load fails with a retryable error', async () => {
    const table = word('cases_')
    await using warehouse = opened()
    await loadAll(warehouse, { table, columns: two }, numbered(1))
    await loadAll(warehouse, { table, columns: two }, numbered(2))
    await scratch.superuser.query(`create or replace function full_disk() returns trigger language plpgsql as
      $$ begin raise 'could not extend file' using errcode = '53100'; end $$`)
    const failing = async (run: string) => {
      await using load = await warehouse.loader.stage({ schema: 'health', table, columns: two, run, attempt: 1 }, never)
      await scratch.superuser.query(
        `create trigger full_disk before insert on sluice."${load.stagingTable}" for each row execute function full_disk()`,
      )
      await load.write(given(numbered(1)), never)
    }
    await expect(failing(word('run'))).rejects.toMatchObject({ code: 'DISK_FULL', retryable: true })
    expect(await replacedTables(table)).toEqual([])
    // Nothing is left that would make room.
    await expect(failing(word('run'))).rejects.toMatchObject({ code: 'DISK_FULL', retryable: false })
    expect(await rowsOf(table)).toBe(2)
  })

  it('cannot be registered by SQL of users, and is not restored if they drop it', async () => {
    const table = word('cases_')
    await using warehouse = opened()
    await loadAll(warehouse, { table, columns: two }, numbered(1))
    await loadAll(warehouse, { table, columns: two }, numbered(2))
    const [kept] = await replacedTables(table)
    await using attacker = await connectedAs(scratch.access, 'load')
    await expect(attacker.query(`select sluice.keep_table('key', 'r', 'health', 'x', 'y')`)).rejects.toThrow(/ledger/)
    await expect(attacker.query(`select sluice.forget_kept('key', 'r')`)).rejects.toThrow(/ledger/)
    await expect(attacker.query(`delete from sluice.kept_table`)).rejects.toThrow(/permission denied/)
    await attacker.query(`drop table sluice."${kept!.partition}"`)
    expect(await warehouse.loader.findPrevious('health', table)).toBeUndefined()
    await expect(restore(warehouse, table)).rejects.toMatchObject({ code: 'NOTHING_TO_RESTORE' })
    await loadAll(warehouse, { table, columns: two }, numbered(3))
    await restore(warehouse, table)
    expect(await rowsOf(table)).toBe(2)
  })

  it('is restored only after a reader of the table ends its transaction', async () => {
    const table = word('cases_')
    await using warehouse = opened()
    await loadAll(warehouse, { table, columns: two }, numbered(1))
    await loadAll(warehouse, { table, columns: two }, numbered(2))
    await using reader = await connectedAs(scratch.access, 'read')
    await reader.query(`begin; select * from health.${table}`)
    const restoring = restore(warehouse, table)
    await new Promise((resolve) => setTimeout(resolve, 600))
    expect((await reader.query(`select count(*)::int as n from health.${table}`)).rows).toEqual([{ n: 2 }])
    await reader.query('commit')
    await restoring
    expect(await rowsOf(table)).toBe(1)
  })
})
