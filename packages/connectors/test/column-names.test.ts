import { describe, expect, it } from '@jest/globals'
import { groupColumns } from '../src/table-and-column-names.ts'
import { checkColumnName as clickhouse } from '@sluice/warehouses/clickhouse/sql-identifiers'
import { checkColumnName as postgres } from '@sluice/warehouses/postgres/sql-identifiers'
import { redshiftNames as redshift } from '@sluice/warehouses/redshift/sql-identifiers'
import { namesOf } from '@sluice/warehouses/tsql/sql-identifiers'

const tsql = namesOf({ prefix: '', ledger: 'sluice' })

describe('column names', () => {
  it.each(groupColumns)('%s, a column of group tables, is valid in every warehouse', (name) => {
    for (const check of [
      clickhouse,
      postgres,
      (column: string) => redshift.check('column', column),
      (column: string) => tsql.check('column', column),
    ])
      expect(() => check(name)).not.toThrow()
  })

  it.each(['_part', '_part_offset', '_row_exists', '_block_number'])('%s is reserved in ClickHouse', (name) => {
    expect(() => clickhouse(name)).toThrow('is one of ClickHouse’s own columns')
  })
})
