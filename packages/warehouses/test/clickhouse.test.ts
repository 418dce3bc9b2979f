import { describe, it } from '@jest/globals'
import { openClickHouseWarehouse } from '../src/clickhouse/clickhouse-warehouse.ts'
import { clickhouseMissing, clickhouseServer } from './clickhouse-under-test.ts'
import { loadsSuite } from './loads-suite.ts'
import { publicationsSuite } from './publications-suite.ts'
import { exportsSuite } from './exports-suite.ts'
import { queriesSuite } from './queries-suite.ts'
import { shapesSuite } from './shapes-suite.ts'
import { subjectForAll } from './warehouse-under-test.ts'
import { undoSuite } from './undo-suite.ts'
import { viewsSuite } from './views-suite.ts'

describe('ClickHouse as a warehouse', () => {
  if (clickhouseMissing !== undefined) {
    it.skip(clickhouseMissing, () => {})
    return
  }
  const subject = subjectForAll(async () => {
    const server = await clickhouseServer()
    const [access, others] = [server.client(), server.client()]
    return {
      warehouse: openClickHouseWarehouse(access, { keepDays: 3 }),
      neighbour: openClickHouseWarehouse(others),
      changeNames: `alter table TABLE update name = 'changed' where true`,
      hasUsers: true,
      spying: async (table) => `select * from \`c_${others.key}_health\`.${table}`,
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    }
  })
  loadsSuite(subject)
  publicationsSuite(subject)
  shapesSuite(subject)
  queriesSuite(subject)
  exportsSuite(subject)
  undoSuite(subject)
  viewsSuite(subject)
})
