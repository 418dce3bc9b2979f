import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Client } from 'pg'
import { type ScratchWarehouse, scratchWarehouse } from '@sluice/warehouses/testing/scratch-warehouse'
import { loadRowStreams } from '@sluice/warehouses/load-row-streams'
import { databaseLimits } from '../database-config.ts'
import { createDatabaseSource } from '../database-source.ts'
import { here, listener, postgresConfig, superuser, word } from './load-row-stream.ts'

const never = new AbortController().signal

describe('a load from a database into a warehouse', () => {
  const database = word('source_')
  let scratch: ScratchWarehouse
  let admin: Client
  let source: Client

  beforeAll(async () => {
    admin = await superuser()
    await admin.query(`create database ${database}`)
    source = await superuser(database)
    await source.query(`
      create table visits as select g as id, 'visit ' || md5(g::text) as text, g / 7.0 as share from generate_series(1, 300000) g;
      create table places as select 1 as id`)
    scratch = await scratchWarehouse()
    await scratch.warehouse.catalog.ensureSchema('health')
  })
  afterAll(async () => {
    await scratch?.[Symbol.asyncDispose]()
    await source?.end()
    await admin?.query(`drop database if exists ${database} with (force)`)
    await admin?.end()
  })

  const load = (tables: string[], limits = databaseLimits) => {
    const config = postgresConfig(database, { tables: tables.map((name) => ({ schema: 'public', name })) })
    return loadRowStreams({
      rowStreams: createDatabaseSource(here, limits).read(config, listener().report, never),
      warehouse: scratch.warehouse,
      target: { schema: 'health', table: 'target' },
      run: word('run'),
      attempt: 1,
      isCurrentAttempt: async () => true,
      signal: never,
      rejected: () => ({ count: 0 }),
    })
  }
  const rowsOf = async (table: string) => (await scratch.warehouse.catalog.findTable('health', table))?.rowCount

  it('publishes all rows, and keeps or widens the stored column types in the next load', async () => {
    await load(['visits', 'places'])
    expect([await rowsOf('visits'), await rowsOf('places')]).toEqual([300_000, 1])
    await source.query('alter table places alter id type smallint; alter table visits alter id type bigint')
    await load(['visits', 'places'])
    const { rows } = await scratch.superuser.query(`
      select (select pg_typeof(id)::text from health.places) as places, (select pg_typeof(id)::text from health.visits limit 1) as visits,
        (select sum(hashtextextended(row(id, text, share)::text, 0)) from health.visits) as sum`)
    const sum = await source.query('select sum(hashtextextended(row(id, text, share)::text, 0)) as sum from visits')
    expect(rows).toEqual([{ places: 'integer', visits: 'bigint', sum: sum.rows[0].sum }])
  })

  it('keeps the old rows when the source closes the connection or stops responding during the load', async () => {
    await source.query(
      `insert into visits select g, repeat('x', 200), 0 from generate_series(1, 200000) g; insert into places values (2)`,
    )
    const dying = load(['places', 'visits'])
    const over = dying.then(
      () => true,
      () => true,
    )
    const kill = async () => {
      await source.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where query like 'copy (%visits%' and pid <> pg_backend_pid()`,
      )
      return false
    }
    while (!(await Promise.race([over, kill()])));
    await expect(dying).rejects.toMatchObject({ code: 'CONNECTION_LOST' })
    await source.query('begin; lock table visits in access exclusive mode')
    await expect(load(['places', 'visits'], { ...databaseLimits, silence: 300 })).rejects.toMatchObject({
      code: 'SOURCE_SILENT',
    })
    await source.query('rollback')
    expect([await rowsOf('visits'), await rowsOf('places')]).toEqual([300_000, 1])
  })
})
