import { describe, it } from '@jest/globals'
import { openDialectWarehouse } from '../../src/engine/warehouses/dialects/open-warehouse.ts'
import { redshiftDialect } from '../../src/engine/warehouses/redshift/dialect.ts'
import { loadsSuite } from './loads.ts'
import { publicationsSuite } from './publications.ts'
import { queriesSuite } from './queries.ts'
import { redshiftMissing, redshiftServer } from './redshift-under-test.ts'
import { subjectForAll } from './subject.ts'
import { viewsSuite } from './views.ts'

describe('Redshift as a warehouse', () => {
  if (redshiftMissing !== undefined) {
    it.skip(redshiftMissing, () => {})
    return
  }
  const subject = subjectForAll(async () => {
    const server = await redshiftServer()
    const [access, others] = [server.client(), server.client()]
    return {
      warehouse: openDialectWarehouse(redshiftDialect(access)),
      neighbour: openDialectWarehouse(redshiftDialect(others)),
      changeNames: `update TABLE set name = 'changed'`,
      hasUsers: true,
      differs: { anyDecimal: '-123456789012345678.5', longestText: 65_535 },
      spying: async (table) => `select * from ${others.database}.health.${table}`,
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    }
  })
  loadsSuite(subject)
  publicationsSuite(subject)
  queriesSuite(subject)
  viewsSuite(subject)
})
