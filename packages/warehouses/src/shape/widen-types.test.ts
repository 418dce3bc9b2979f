import { describe, expect, it } from '@jest/globals'
import type { DataType } from '@sluice/contracts'
import fc from 'fast-check'
import { typeRules as clickHouse } from '../clickhouse/column-types.ts'
import { typeRules as postgres } from '../postgres/column-types.ts'
import { redshiftTypes as redshift } from '../redshift/column-types.ts'
import { typeRules as sqlRules } from '../sql-warehouse/staging/staging-columns.ts'
import { tsqlTypes as sqlServer } from '../tsql/column-types.ts'
import type { TypeRules } from './plan-shape.ts'
import { typeName } from './widen-types.ts'

const warehouses: [string, TypeRules][] = [
  ['PostgreSQL', postgres],
  ['ClickHouse', clickHouse],
  ['Redshift', sqlRules(redshift)],
  ['SQL Server', sqlRules(sqlServer)],
]
const dataTypes = ['SMALLINT', 'INTEGER', 'BIGINT', 'DOUBLE', 'BOOLEAN', 'TEXT', 'DATE', 'TIMESTAMP', 'TIMESTAMPTZ']

describe.each(warehouses)('a type of %s', (_, rules) => {
  it.each([...dataTypes, 'DECIMAL'] as DataType[])('that stores %s has its name', (dataType) => {
    expect(typeName(rules, rules.storedAs({ dataType }))).toBe(dataType)
  })

  it('that stores decimals has their digits', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 37 }), fc.nat(18), (precision, digits) => {
        const scale = Math.min(digits, precision)
        const stored = rules.storedAs({ dataType: 'DECIMAL', precision, scale })
        expect(typeName(rules, stored)).toBe(`DECIMAL(${precision},${scale})`)
      }),
    )
  })
})

it('a type that no load creates has the name of the warehouse', () => {
  expect(typeName(postgres, { type: 'uuid', dataType: 'TEXT' })).toBe('uuid')
  expect(typeName(clickHouse, { type: 'UInt64', dataType: 'DECIMAL' })).toBe('UInt64')
})
