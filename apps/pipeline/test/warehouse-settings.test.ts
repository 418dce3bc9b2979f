import { describe, expect, it } from '@jest/globals'
import { readerPlaces } from '../src/warehouse-readers/reader-places.ts'
import { readConfig } from '../src/config.ts'
import { warehouseDrivers } from '@sluice/warehouses/registry/warehouse-registry'

const database = 'postgres://sluice@127.0.0.1/sluice'
const environment = {
  PIPELINE_DATABASE_URL: database,
  WAREHOUSE_DATABASE_URL: database,
  SECRET_KEYS: `test:${Buffer.alloc(32, 7).toString('base64')}`,
  SERVICE_SECRET: 'x'.repeat(24),
  FILES_DIRECTORY: '/tmp',
}
const pool = 'mssql://admin:secret@pool.example.org:1433/pool'

describe('SYNAPSE_URL', () => {
  it('is a secret, and enables the Synapse warehouse', () => {
    const config = readConfig({ ...environment, SYNAPSE_URL: pool })
    expect(config.secrets).toContain(pool)
    expect(warehouseDrivers(config).map(({ kind }) => kind)).toEqual(['WAREHOUSE_C'])
    expect(warehouseDrivers(readConfig(environment))).toEqual([])
  })

  it.each([
    ['mssql://admin:secret@pool.example.org:1433', 'SYNAPSE_URL must name a dedicated SQL pool'],
    ['https://pool.example.org/pool', 'SYNAPSE_URL must be a URL that starts with mssql://'],
  ])('must not be %s', (given, problem) => {
    expect(() => readConfig({ ...environment, SYNAPSE_URL: given })).toThrow(problem)
  })
})
