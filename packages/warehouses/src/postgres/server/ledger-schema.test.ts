import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { columns, loadAll, never, numbered, stage } from '../../../test/row-fixtures.ts'
import { connected, scratchServer, type ScratchServer, superuserUrl, word } from '../../../test/scratch-warehouse.ts'
import { openPostgresWarehouse } from '../postgres-warehouse.ts'

const keyed = columns({ id: 'INTEGER', name: 'TEXT' }).map((column) => ({
  ...column,
  primaryKey: column.name === 'id',
}))

describe('a warehouse of an older version', () => {
  let server: ScratchServer
  beforeAll(async () => {
    server = await scratchServer()
  })
  afterAll(() => server?.[Symbol.asyncDispose]())

  it('is upgraded by provisioning, and keeps its publications', async () => {
    const key = word()
    const passwords = { loadPassword: word('load-'), readPassword: word('read-') }
    const access = await server.provision(key, passwords)
    await using warehouse = openPostgresWarehouse(access)
    await warehouse.catalog.ensureSchema('health')
    const { run } = await loadAll(warehouse, { columns: keyed }, numbered(3))
    await using superuser = await connected(superuserUrl(access.database))
    await superuser.query(`alter table sluice.ledger_table drop details; comment on schema sluice is '7'`)
    await expect(warehouse.upkeep.check()).rejects.toMatchObject({ code: 'WAREHOUSE_OUTDATED' })
    // A run that an old worker has published may end before a load upgrades the warehouse.
    expect((await warehouse.loader.fenceRun(run, 1))?.tables).toMatchObject([{ table: 'cases', rows: 3 }])
    expect((await warehouse.catalog.findTable('health', 'cases'))?.rowCount).toBe(3)
    await superuser.query(`alter table sluice.ledger_table drop mode, drop table_rows, drop cursor, drop profile, drop entered;
      grant insert on sluice.ledger, sluice.ledger_table to ${access.load.user};
      drop function sluice.enter_run, sluice.enter_table, sluice.demand_key;
      drop table sluice.ledger_key;
      comment on schema sluice is '2'`)
    await expect(warehouse.upkeep.check()).rejects.toMatchObject({ code: 'WAREHOUSE_OUTDATED' })

    await server.provision(key, passwords)
    await warehouse.upkeep.check()
    const { rows: privileges } = await superuser.query(
      `select has_table_privilege($1, 'sluice.ledger', 'insert') or has_table_privilege($1, 'sluice.ledger_table', 'insert') as forges`,
      [access.load.user],
    )
    expect(privileges).toEqual([{ forges: false }])
    expect((await warehouse.loader.findPublication(run))?.rows).toBe(3)
    expect((await warehouse.catalog.findTable('health', 'cases'))?.rowCount).toBe(3)
    await using load = await stage(warehouse, { columns: keyed }, [
      [3, 'changed'],
      [4, 'new'],
    ])
    await warehouse.loader.publish([load], async () => true, never, { mode: 'MERGE', cursors: { cases: { page: 2 } } })
    expect((await warehouse.catalog.findTable('health', 'cases'))?.rowCount).toBe(4)
    expect((await warehouse.loader.findLastLoad('health', 'cases')).cursor).toEqual({ page: 2 })
  })
})
