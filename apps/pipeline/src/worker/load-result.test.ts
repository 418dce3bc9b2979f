import { expect, it } from '@jest/globals'
import { columns, given, never, numbered } from '@sluice/warehouses/testing/row-fixtures'
import { scratchWarehouseForAll, word } from '@sluice/warehouses/testing/scratch-warehouse'
import { loadRowStreams } from '@sluice/warehouses/load-row-streams'
import type { RowStream } from '@sluice/row-stream'
import { listPublishedTables } from './load-result.ts'

const scratch = scratchWarehouseForAll()

it('listPublishedTables lists all tables of a pipeline even if the run loaded none of them', async () => {
  const own = { schema: 'health', table: word('cases_') }
  const group = `${own.table}__child`
  const rowStream = (table: string, rows: number, tables: string[]): RowStream => ({
    table,
    columns: columns({ n: 'INTEGER', word: 'TEXT' }),
    content: given(numbered(rows)) as RowStream['content'],
    cursor: () => ({ tables }),
  })
  async function* rowStreams(): AsyncGenerator<RowStream> {
    yield rowStream('', 3, [own.table, group])
    yield rowStream(group, 5, [])
  }
  const loaded = await loadRowStreams({
    rowStreams: rowStreams(),
    warehouse: scratch.warehouse,
    target: own,
    run: word('run'),
    attempt: 1,
    isCurrentAttempt: async () => true,
    signal: never,
    rejected: () => ({ count: 0 }),
  })
  const all = [
    { schema: 'health', name: own.table, rows: 3 },
    { schema: 'health', name: group, rows: 5 },
  ]
  expect(await listPublishedTables(scratch.warehouse, loaded)).toMatchObject(all)
  expect(await listPublishedTables(scratch.warehouse, [], { ownTable: own })).toMatchObject(all)
  expect(await listPublishedTables(scratch.warehouse, [], { ownTable: { ...own, table: 'nowhere' } })).toEqual([])
})
