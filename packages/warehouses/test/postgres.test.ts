import { describe } from '@jest/globals'
import { openPostgresWarehouse } from '../src/postgres/postgres-warehouse.ts'
import { scratchServer } from './scratch-warehouse.ts'
import { loadsSuite } from './loads-suite.ts'
import { publicationsSuite } from './publications-suite.ts'
import { exportsSuite } from './exports-suite.ts'
import { queriesSuite } from './queries-suite.ts'
import { shapesSuite } from './table-shapes-suite.ts'
import { subjectForAll } from './warehouse-under-test.ts'
import { undoSuite } from './dry-run-and-restore-suite.ts'
import { viewsSuite } from './views-suite.ts'

describe('PostgreSQL as a warehouse', () => {
  const subject = subjectForAll(async () => {
    const server = await scratchServer()
    const [access, others] = [await server.provision(), await server.provision()]
    const [warehouse, neighbour] = [openPostgresWarehouse(access, { keepDays: 3 }), openPostgresWarehouse(others)]
    return {
      warehouse,
      neighbour,
      changeNames: `update TABLE set name = 'changed'`,
      hasUsers: true,
      spying: async (table) => `select * from ${others.database}.health.${table}`,
      async [Symbol.asyncDispose]() {
        await warehouse[Symbol.asyncDispose]()
        await neighbour[Symbol.asyncDispose]()
        await server[Symbol.asyncDispose]()
      },
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
