import { describe, it } from '@jest/globals'
import { openSqlServerWarehouse } from '../src/tsql/tsql-dialect.ts'
import { loadsSuite } from './loads-suite.ts'
import { publicationsSuite } from './publications-suite.ts'
import { exportsSuite } from './exports-suite.ts'
import { queriesSuite } from './queries-suite.ts'
import { sqlServer, sqlServerMissing } from './sql-server-under-test.ts'
import { shapesSuite } from './table-shapes-suite.ts'
import { subjectForAll } from './warehouse-under-test.ts'
import { viewsSuite } from './views-suite.ts'

describe('SQL Server as a warehouse', () => {
  if (sqlServerMissing !== undefined) {
    it.skip(sqlServerMissing, () => {})
    return
  }
  const subject = subjectForAll(async () => {
    const server = sqlServer()
    const [access, others] = [server.client(), server.client()]
    return {
      warehouse: openSqlServerWarehouse(access),
      neighbour: openSqlServerWarehouse(others),
      changeNames: `update TABLE set name = 'changed'`,
      hasUsers: true,
      differs: {
        nan: false,
        plans: false,
        anyDecimal: '-123456789012345678.5',
        wide: `replicate(cast('x' as nvarchar(max)), 1000000)`,
      },
      spying: async (table) => `select * from [${others.database}].[${others.prefix}health].[${table}]`,
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    }
  })
  loadsSuite(subject)
  publicationsSuite(subject)
  shapesSuite(subject)
  queriesSuite(subject)
  exportsSuite(subject)
  viewsSuite(subject)
})
