import { beforeEach } from '@jest/globals'
import { columns, loadAll } from './row-fixtures.ts'
import { scratchWarehouseForAll, word } from './scratch-warehouse.ts'

/** The columns of the table where a test does not say others. */
export const two = columns({ id: 'INTEGER', name: 'TEXT' })

/** A scratch warehouse for a `describe`, and in it a name for a table of cases, another one for each test. */
export function casesForEach() {
  const scratch = scratchWarehouseForAll()
  let table = ''
  beforeEach(() => {
    table = word('cases_')
  })
  return {
    scratch,
    get table() {
      return table
    },
    load: (rows: Parameters<typeof loadAll>[2], shape = two) =>
      loadAll(scratch.warehouse, { table, columns: shape }, rows),
    rowsOf: async () => (await scratch.warehouse.queries.readTable('health', table, { limit: 1_000, offset: 0 })).rows,
    found: () => scratch.warehouse.catalog.findTable('health', table),
  }
}
