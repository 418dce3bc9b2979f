import type { RowStream } from '@sluice/row-stream'
import type { ReadRequest } from '../connector.ts'
import { createTableListStream } from '../table-list-stream.ts'
import { createColumnNames, groupColumns } from '../table-and-column-names.ts'
import type { TablesReporter } from './tables-reporter.ts'
import { declareColumns } from './declared-column.ts'
import {
  getOwnTable,
  hashSettings,
  type IncrementState,
  parseIncrementState,
  type SpooledStream,
  type SpooledSystem,
} from './spool-http-system.ts'
import { closeTable, type SpooledTable, TableSpool } from './records/table-spool.ts'
import { openTableStream } from './table-row-stream.ts'

export interface SpooledRead {
  request: ReadRequest
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
  { request, directory, reporter, signal, isPreview }: SpooledRead,
): AsyncGenerator<RowStream, void, void> {
  const { streams, hasSeveralStreams, nextCursors, contents } = spooled
  await using stack = new AsyncDisposableStack()
  const allTables = streams.flatMap((stream) => stream.tables.map((table) => ({ stream, table })))
  for (const { table } of allTables) stack.defer(() => closeTable(table))
  const ownTable = getOwnTable(request)
  const tableNames = allTables.map(({ table }) => table.name)
  const previousTables = parseIncrementState(request.cursor)?.tables ?? []
  const emptyGroups = isPreview ? [] : listEmptyGroups(previousTables, tableNames)
  const isMerged = contents === 'CHANGES' || request.writeMode === 'MERGE'
  const keepsRows = isMerged || request.writeMode === 'APPEND'
  const filledTables = [...new Set([...tableNames, ...emptyGroups, ...(keepsRows ? previousTables : [])])]
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
      // The columns of the previous load are only those of the pipeline's own table.
      ...(table.name === ownTable && { previousShape: request.previousShape }),
    })

  if (isPreview && allTables.length > 1) {
    const groups = allTables.slice(1).map(({ table }) => table.name.replace(ownTable, '…'))
    reporter.log('INFO', 'LOW', `The preview shows only one table. A load also fills these: ${groups.join(', ')}.`)
  }
  if (hasSeveralStreams && !isPreview) {
    const listedTables = allTables.map(({ stream, table: { name, rowCount } }) => ({
      name,
      content: stream.name,
      rowsRead: rowCount,
    }))
    yield createTableListStream(listedTables, () => nextState)
  }
  for (const { table, stream } of allTables) {
    const parentRecords = isMerged ? findParentTable(table.name, streams, ownTable) : undefined
    const isFirstTable = table === streams[0]!.tables[0]
    const unreadWarning = isFirstTable ? stream.unreadWarning : undefined
    for await (const rowStream of openStream(table, stream))
      yield {
        ...rowStream,
        ...(table.name === ownTable && { cursor: () => nextState }),
        ...(parentRecords && { parentRecords }),
        ...(contents === 'RESTARTED' && { whole: () => true }),
        ...(unreadWarning !== undefined && { unread: unreadWarning }),
      }
    await closeTable(table)
  }
  for (const name of emptyGroups) {
    const parentRecords = isMerged ? findParentTable(name, streams, ownTable) : undefined
    if (parentRecords) yield createEmptyGroupStream(name, parentRecords)
    else yield* openStream(createEmptyGroupTable(name))
  }
}

/** Returns a stream without rows. A merge deletes from the group table the rows of changed records. */
function createEmptyGroupStream(name: string, parentRecords: NonNullable<RowStream['parentRecords']>): RowStream {
  const key = { name: '_row_id', label: '_row_id', dataType: 'TEXT' as const, primaryKey: true }
  const content = { format: 'copy-binary' as const, rows: async function* () {} }
  return { table: name, columns: [key], content, parentRecords, sparse: true }
}

/** Returns a group table without rows, which a full read uses to empty the table in the warehouse. */
function createEmptyGroupTable(name: string): SpooledTable {
  const columns = groupColumns.flatMap((path) => declareColumns(path === '_index' ? 'INTEGER' : 'TEXT', [path]))
  return new TableSpool(name, ['_row_id'], columns, 0).spooled
}

/**
 * Lists the group tables of earlier reads that have no rows now. A group is a list inside a record, such as the
 * children of a household, and its table has one row per item. A full read empties these tables. An increment deletes
 * from them the rows of changed records.
 */
function listEmptyGroups(previousTables: readonly string[], tables: readonly string[]): string[] {
  const isGroup = (name: string) => tables.some((table) => name.startsWith(`${table}__`))
  return previousTables.filter((name) => !tables.includes(name) && isGroup(name))
}

/**
 * Returns the table of the records that contain the items of a group table, with its key columns in the warehouse, and
 * the column of the group table that refers to its rows. Returns undefined for a table of records.
 */
function findParentTable(
  tableName: string,
  streams: readonly SpooledStream[],
  ownTable: string,
): RowStream['parentRecords'] {
  // The first table of a stream has its records, the others have groups.
  const recordTables = streams.map(({ tables }) => tables[0]!)
  if (recordTables.some(({ name }) => name === tableName)) return undefined
  // The table `homes__rooms__beds` can be a group of `homes` or of `homes__rooms`. The longest name is the right one.
  const [parent] = recordTables
    .filter(({ name }) => tableName.startsWith(`${name}__`))
    .toSorted((first, second) => second.name.length - first.name.length)
  if (!parent) return undefined
  // Computes names from all paths together, because the second of two equal names gets a hash as suffix.
  const paths = listColumnPaths(parent)
  const names = createColumnNames(paths)
  const keys = parent.key.map((path) => names[paths.indexOf(path)]!)
  const isOwnTable = parent.name === ownTable
  // In a row stream, the own table has an empty name.
  return { table: isOwnTable ? '' : parent.name, keys, column: '_root_row_id' }
}

/** Returns the paths of the columns that a table gets: those of its rows or, without rows, the declared ones. */
function listColumnPaths({ rowCount, valueKinds, key, declaredColumns }: SpooledTable): string[] {
  if (rowCount > 0) return [...valueKinds.keys()]
  return [...new Set([...key, ...declaredColumns.keys()])]
}
