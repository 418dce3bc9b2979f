import { describe, it } from '@jest/globals'
import { synapseAccess } from '../src/synapse/synapse-settings.ts'
import { openSynapseWarehouse } from '../src/synapse/synapse-dialect.ts'
import { loadsSuite } from './loads-suite.ts'
import { publicationsSuite } from './publications-suite.ts'
import { exportsSuite } from './exports-suite.ts'
import { queriesSuite } from './queries-suite.ts'
import { shapesSuite } from './table-shapes-suite.ts'
import { subjectForAll } from './warehouse-under-test.ts'
import { tsqlUnderTest } from './tsql-under-test.ts'
import { viewsSuite } from './views-suite.ts'

const url = process.env['SYNAPSE_TEST_URL']

describe('Azure Synapse as a warehouse', () => {
  if (url === undefined) {
    it.skip('set SYNAPSE_TEST_URL to the URL of the administrator of a pool: mssql://user:password@host:1433/pool', () => {})
    return
  }
  const subject = subjectForAll(async () => {
    const server = tsqlUnderTest((credentials) => synapseAccess(url, credentials))
    const [access, others] = [server.client(), server.client()]
    return {
      warehouse: openSynapseWarehouse(access),
      neighbour: openSynapseWarehouse(others),
      changeNames: `update TABLE set name = 'changed'`,
      hasUsers: true,
      differs: {
        nan: false,
        anyDecimal: '-123456789012345678.5',
        wide: `replicate(cast('x' as nvarchar(max)), 1000000)`,
      },
      spying: async (table) => `select * from [${others.prefix}health].[${table}]`,
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
