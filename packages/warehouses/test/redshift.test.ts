import { describe, expect, it } from '@jest/globals'
import { openSqlWarehouse } from '../src/sql-warehouse/sql-warehouse.ts'
import type { ClientAccess } from '../src/redshift/redshift-settings.ts'
import { redshiftDialect } from '../src/redshift/redshift-dialect.ts'
import { loadsSuite } from './loads-suite.ts'
import { publicationsSuite } from './publications-suite.ts'
import { exportsSuite } from './exports-suite.ts'
import { queriesSuite } from './queries-suite.ts'
import { redshiftMissing, redshiftServer } from './redshift-under-test.ts'
import { shapesSuite } from './table-shapes-suite.ts'
import { subjectForAll } from './warehouse-under-test.ts'
import { viewsSuite } from './views-suite.ts'

describe('Redshift as a warehouse', () => {
  if (redshiftMissing !== undefined) {
    it.skip(redshiftMissing, () => {})
    return
  }
  let access: ClientAccess
  const subject = subjectForAll(async () => {
    const server = await redshiftServer()
    access = server.client()
    const others = server.client()
    return {
      warehouse: openSqlWarehouse(redshiftDialect(access)),
      neighbour: openSqlWarehouse(redshiftDialect(others)),
      changeNames: `update TABLE set name = 'changed'`,
      hasUsers: true,
      differs: { anyDecimal: '-123456789012345678.5', longestText: 65_535 },
      spying: async (table) => `select * from ${others.database}.health.${table}`,
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    }
  })
  it('returns the columns of a query without running it', async () => {
    const dialect = redshiftDialect(access)
    await using session = await dialect.open({ role: 'read', seconds: 2 })
    const text = `with one as (select 1 as n, 'x'::varchar(7) as n) select * from one, pg_sleep(60) order by 1 -- ;`
    expect(await session.columns(text)).toMatchObject([
      { name: 'n', type: 'integer' },
      { name: 'n', type: 'character varying(7)' },
      { name: 'pg_sleep' },
    ])
    const error = await session.columns('select 1 as n,\n nothing from pg_class').catch((thrown: unknown) => thrown)
    expect(dialect.explainQuery(error, 2)).toMatchObject({ code: 'QUERY_FAILED', line: 2, column: 2 })
  })

  loadsSuite(subject)
  publicationsSuite(subject)
  shapesSuite(subject)
  queriesSuite(subject)
  exportsSuite(subject)
  viewsSuite(subject)
})
