import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { openSqlWarehouse } from '../src/sql-warehouse/sql-warehouse.ts'
import type { SessionRole } from '../src/sql-warehouse/sql-dialect.ts'
import type { ClientAccess } from '../src/redshift/redshift-settings.ts'
import { clientConfig } from '../src/redshift/connections.ts'
import { redshiftDialect } from '../src/redshift/redshift-dialect.ts'
import type { Warehouse } from '../src/warehouse.ts'
import { columns, loadAll, never, numbered, stage } from './row-fixtures.ts'
import { connected } from './scratch-warehouse.ts'
import { redshiftMissing, redshiftServer, type RedshiftServer } from './redshift-under-test.ts'

const shape = columns({ id: 'INTEGER', name: 'TEXT' })

describe('SQL of an organisation in Redshift', () => {
  if (redshiftMissing !== undefined) {
    it.skip(redshiftMissing, () => {})
    return
  }
  let server: RedshiftServer
  let own: ClientAccess
  let others: ClientAccess
  let warehouse: Warehouse
  beforeAll(async () => {
    server = await redshiftServer()
    own = server.client()
    others = server.client()
    warehouse = openSqlWarehouse(redshiftDialect(own))
    const neighbour = openSqlWarehouse(redshiftDialect(others))
    for (const [one, name] of [
      [warehouse, 'mine'],
      [neighbour, 'hidden'],
    ] as const) {
      await one.catalog.ensureSchema('health')
      await loadAll(one, { table: 'cases', columns: shape }, numbered(2, name))
    }
  })
  afterAll(() => server?.[Symbol.asyncDispose]())

  /** As an attacker with a password would, past everything of ours. */
  async function ask(role: SessionRole, database: string, text: string): Promise<unknown> {
    await using client = await connected(clientConfig(own, role, database))
    return (await client.query({ text, rowMode: 'array' })).rows
  }
  const refused = { code: expect.stringMatching(/^(42501|42P01|0A000|3F000|25006|XX000)$/) }

  it.each(['load', 'read'] as const)(
    'can read its own tables, but no tables of another organisation, as %s',
    async (role) => {
      expect(await ask(role, own.database, 'select count(*) from health.cases')).toEqual([['2']])
      await expect(ask(role, others.database, 'select * from health.cases')).rejects.toMatchObject(refused)
      await expect(ask(role, own.adminDatabase, `create table public.of_${own.key} (a int)`)).rejects.toMatchObject(
        refused,
      )
    },
  )

  it.each([
    ['read', 'insert into health.cases values (3)'],
    ['read', 'create table health.more (a int)'],
    ['load', `update health.cases set name = 'x'`],
    ['load', 'drop table health.cases'],
    ['load', 'create table health.more (a int)'],
    ['load', 'create schema more'],
    ['load', 'delete from sluice.runs'],
    ['read', 'select * from sluice.marks'],
    ['load', 'create table public.more (a int)'],
    ['load', `create user c_more password 'Abcdefgh1'`],
  ] as const)('is rejected as %s: %s', async (role, text) => {
    await expect(ask(role, own.database, text)).rejects.toMatchObject(refused)
    expect(await ask('read', own.database, 'select count(*) from health.cases')).toEqual([['2']])
  })

  it('cannot read or write a bucket with the IAM role of the cluster', async () => {
    const { role, staging } = own
    const key = `${staging.prefix}/${others.key}/x/manifest`
    const copy = `copy worked (id, name)\nfrom 's3://${staging.bucket}/${key}' iam_role '${role}' region '${staging.region}'\nmanifest format as csv gzip null as '~' roundec maxerror 0 statupdate on`
    await using load = await stage(warehouse, { table: 'worked', columns: shape }, numbered(1))
    await expect(warehouse.loader.transform([load], [{ statement: copy }], never)).rejects.toMatchObject({
      code: 'TRANSFORMATION_FAILED',
      message: expect.stringContaining('not authorized to assume IAM Role'),
    })
  })

  it('can change only staged rows, by their table name', async () => {
    await using load = await stage(warehouse, { table: 'worked', columns: shape }, numbered(3))
    const statements = [
      `update worked set name = 'changed' where id > 1`,
      'delete from worked where id = 3',
      'insert into worked (id, name) select id + 10, name from health.cases',
    ]
    await warehouse.loader.transform(
      [load],
      statements.map((statement) => ({ statement })),
      never,
    )
    await warehouse.loader.publish([load], async () => true, never)
    const { rows } = await warehouse.queries.query({
      text: 'select id, name from worked order by id',
      schemas: ['health'],
    })
    expect(rows).toEqual([
      [1, 'x'],
      [2, 'changed'],
      [11, 'mine'],
      [12, 'mine'],
    ])
    await using other = await stage(warehouse, { table: 'worked', columns: shape }, numbered(1))
    await expect(
      warehouse.loader.transform([other], [{ statement: `update health.cases set name = 'x'` }], never),
    ).rejects.toMatchObject({ code: 'TRANSFORMATION_FAILED' })
  })
})
