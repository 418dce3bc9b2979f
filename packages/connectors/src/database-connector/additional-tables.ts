import { type ReadReporter, type RowStream, SourceProblem } from '@sluice/row-stream'
import type { ReadRequest } from '../connector.ts'
import { createTableListStream, type ListedTable } from '../table-list-stream.ts'
import { createTableName } from '../table-and-column-names.ts'
import type { DatabaseTable } from './database-config.ts'
import { formatStatementName } from './database-session.ts'
import type { DatabaseRowStream } from './database-source.ts'
import { createDatabaseState, listTablesOfEarlierRuns, type StoredCursor } from './increments/increment-settings.ts'

/**
 * Returns each table's name in the warehouse: the name of the pipeline's own table, two underscores, and the table's
 * name in the source database.
 */
export const nameAdditionalTables = (ownTable: string, tables: readonly DatabaseTable[]): string[] =>
  tables.map(({ name }) => createTableName(ownTable, [name]))

/**
 * Returns the index of the first table with the same warehouse name as an earlier table, and a message for the user.
 * `names` are the warehouse names of the tables, in the same order. Returns undefined if all names differ.
 */
export function findNameClash(
  tables: readonly DatabaseTable[],
  names: readonly string[],
): { index: number; message: string } | undefined {
  const index = names.findIndex((name, position) => names.indexOf(name) < position)
  const name = names[index]
  if (name === undefined) return undefined
  const earlierTable = formatTable(tables[names.indexOf(name)]!)
  const table = formatTable(tables[index]!)
  const message =
    earlierTable === table
      ? `The table ${table} is listed twice. Remove one of the two entries.`
      : `The tables ${earlierTable} and ${table} would both fill ${name}. Load one of them with another pipeline.`
  return { index, message }
}

const formatTable = (table: DatabaseTable): string => formatStatementName({ table: '', ...table })

/**
 * Yields the stream of each table under its name in the warehouse, then the pipeline's own table, which lists the
 * tables. The cursors of all tables are stored with the own table. `streams` has one stream per table, in the order of
 * `tables`.
 */
export async function* nameTableStreams(
  streams: AsyncIterable<DatabaseRowStream>,
  request: ReadRequest,
  tables: readonly DatabaseTable[],
  report: ReadReporter,
): AsyncGenerator<RowStream, void, void> {
  const names = nameAdditionalTables(request.table ?? 'preview', tables)
  const clash = findNameClash(tables, names)
  if (clash) throw new SourceProblem('DUPLICATE_TABLE', clash.message)
  logFormerTables(request, names, report)
  const listedTables: ListedTable[] = []
  const positions: Record<string, StoredCursor> = {}
  let tableIndex = 0
  for await (const { cursor, rowsRead, ...stream } of streams) {
    const name = names[tableIndex]!
    yield { ...stream, table: name }
    // The consumer has read all rows of this table.
    if (cursor) positions[name] = cursor()
    listedTables.push({ name, content: formatTable(tables[tableIndex]!), rowsRead: rowsRead() })
    tableIndex += 1
  }
  yield createTableListStream(listedTables, () => createDatabaseState(request, names, positions))
}

/** Logs the tables of earlier runs that this run does not load. */
function logFormerTables(request: ReadRequest, names: readonly string[], report: ReadReporter): void {
  const formerTables = listTablesOfEarlierRuns(request).filter((name) => !names.includes(name))
  if (formerTables.length > 0)
    report.log(
      'INFO',
      'MEDIUM',
      `The settings no longer include the tables that fill ${formerTables.join(', ')}. Their rows stay until the pipeline is deleted.`,
    )
}
