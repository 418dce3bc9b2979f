import type { RowStream } from '@sluice/row-stream'
import type { ReadRequest } from '../connector.ts'
import { createTableListStream } from '../table-list.ts'
import { columnNames as createColumnNames, groupColumns } from '../table-names.ts'
import type { TablesReporter } from './read-reporter.ts'
import { declareColumns } from './declared-column.ts'
import {
  getOwnTable,
  hashSettings,
  type IncrementState,
  parseIncrementState,
  type SpooledStream,
  type SpooledSystem,
} from './spool-system.ts'
import { closeTable, type SpooledTable, TableSpool } from './records/table-spool.ts'
import { openTableStream } from './table-row-stream.ts'

export interface SpooledRead {
  reading: ReadRequest
  directory: string
  reporter: TablesReporter
  signal: AbortSignal
  isPreview: boolean
}

/**
 * Yields the tables of a system one after another, and closes their files. The cursor is stored with the first one, the
 * pipeline's own table.
 */
export async function* readSpooledSystem(
  spooled: SpooledSystem,
  { reading: request, directory, reporter, signal, isPreview }: SpooledRead,
): AsyncGenerator<RowStream, void, void> {
  const { streams, hasSeveral, nextCursors, contents } = spooled
  await using stack = new AsyncDisposableStack()
  const allTables = streams.flatMap((stream) => stream.tables.map((table) => ({ stream, table })))
  for (const { table } of allTables) stack.defer(() => closeTable(table))
  const ownTable = getOwnTable(request)
  const tableNames = allTables.map(({ table }) => table.name)
  const lastTables = parseIncrementState(request.cursor)?.tables ?? []
  const unfilledGroups = isPreview ? [] : listUnfilledGroups(lastTables, tableNames)
  const isMerged = contents === 'CHANGES' || request.writeMode === 'MERGE'
  const keepsRows = isMerged || request.writeMode === 'APPEND'
  const filledTables = [...new Set([...tableNames, ...unfilledGroups, ...(keepsRows ? lastTables : [])])]
  const nextState: IncrementState = {
    version: 2,
    settingsHash: hashSettings(request.settings),
    at: nextCursors,
    tables: filledTables,
  }
  const openStream = (table: SpooledTable, stream?: SpooledStream) =>
    openTableStream({
      table,
      streamName: table.name === ownTable ? '' : table.name,
      inferStrings: stream?.inferStrings ?? false,
      directory,
      reporter,
      signal,
      // The shape of the last load describes only the pipeline's own table.
      ...(table.name === ownTable && { previousShape: request.previousShape }),
    })

  if (isPreview && allTables.length > 1) {
    const groups = allTables.slice(1).map(({ table }) => table.name.replace(ownTable, '…'))
    reporter.log('INFO', 'LOW', `The preview shows only one table. A load also fills these: ${groups.join(', ')}.`)
  }
  if (hasSeveral && !isPreview) {
    const listedTables = allTables.map(({ stream, table: { name, rowCount } }) => ({
      name,
      content: stream.name,
      rowsRead: rowCount,
    }))
    yield createTableListStream(listedTables, () => nextState)
  }
  for (const { table, stream } of allTables) {
    const tableStreams = openStream(table, stream)
    const parentRecords = isMerged ? findParentTable(table.name, streams, ownTable) : undefined
    for await (const rowStream of table.name === ownTable ? attachCursor(tableStreams, nextState) : tableStreams)
      yield {
        ...rowStream,
        ...(parentRecords && { parentRecords }),
        ...(contents === 'RESTARTED' && { whole: () => true }),
        ...(table === streams[0]!.tables[0] && stream.unreadWarning !== undefined && { unread: stream.unreadWarning }),
      }
    await closeTable(table)
  }
  for (const name of unfilledGroups) {
    const parentRecords = isMerged ? findParentTable(name, streams, ownTable) : undefined
    if (parentRecords) {
      const key = { name: '_row_id', label: '_row_id', dataType: 'TEXT' as const, primaryKey: true }
      const content = { format: 'copy-binary' as const, rows: async function* () {} }
      yield { table: name, columns: [key], content, parentRecords, sparse: true }
      continue
    }
    const columns = groupColumns.flatMap((path) => declareColumns(path === '_index' ? 'INTEGER' : 'TEXT', [path]))
    yield* openStream(new TableSpool(name, ['_row_id'], columns, 0).spooled)
  }
}

/**
 * Lists the group tables of earlier reads that have no rows now. A group is a list inside a record, such as the
 * children of a household, and its table has one row per item. A full read empties these tables. An increment deletes
 * from them the rows of changed records.
 */
const listUnfilledGroups = (lastTables: readonly string[], tables: readonly string[]): string[] =>
  lastTables.filter((name) => !tables.includes(name) && tables.some((table) => name.startsWith(`${table}__`)))

/**
 * Returns the table of the records that contain the items of a group table. Returns undefined for a table of records.
 */
function findParentTable(
  table: string,
  streams: readonly SpooledStream[],
  ownTable: string,
): RowStream['parentRecords'] {
  const roots = streams.map(({ tables }) => tables[0]!)
  if (roots.some(({ name }) => name === table)) return undefined
  const [root] = roots
    .filter(({ name }) => table.startsWith(`${name}__`))
    .toSorted((a, b) => b.name.length - a.name.length)
  if (!root) return undefined
  // Computes names from all paths together, because the second of two equal names gets a hash as suffix.
  const paths =
    root.rowCount > 0 ? [...root.valueKinds.keys()] : [...new Set([...root.key, ...root.declaredColumns.keys()])]
  const names = createColumnNames(paths)
  const keys = root.key.map((path) => names[paths.indexOf(path)]!)
  return { table: root.name === ownTable ? '' : root.name, keys, column: '_root_row_id' }
}

async function* attachCursor(
  rowStreams: AsyncIterable<RowStream>,
  state: IncrementState,
): AsyncGenerator<RowStream, void, void> {
  for await (const rowStream of rowStreams) yield { ...rowStream, cursor: () => state }
}
