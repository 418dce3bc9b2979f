import { type ReadReporter, type RowStream, SourceProblem } from '@sluice/row-stream'
import type { ReadRequest } from '../connector.ts'
import { createTableListStream, type ListedTable } from '../table-list-stream.ts'
import { createTableName } from '../table-and-column-names.ts'
import type { DatabaseTable } from './database-config.ts'
import { formatStatementName } from './database-session.ts'
import type { DatabaseRowStream } from './database-source.ts'
import { createDatabaseState, listFilledTables, type StoredCursor } from './increments/increment-settings.ts'

/**
 * Returns each table's name in the warehouse: the name of the pipeline's own table, two underscores, and the table's
 * name in the source database.
 */
export const nameAdditionalTables = (ownTable: string, tables: readonly DatabaseTable[]): string[] =>
  tables.map(({ name }) => createTableName(ownTable, [name]))

/** Returns the index of the first name that equals an earlier one, or -1. */
export const findNameClash = (names: readonly string[]): number =>
  names.findIndex((name, index) => names.indexOf(name) < index)

/**
 * Returns a message for the user about two tables with the same name in the warehouse. `names` are the names of the
 * tables in the warehouse, and `secondIndex` is the result of `findNameClash`.
 */
export function describeNameClash(
  tables: readonly DatabaseTable[],
  names: readonly string[],
  secondIndex: number,
): string {
  const name = names[secondIndex]!
  const firstTable = formatTable(tables[names.indexOf(name)]!)
  const secondTable = formatTable(tables[secondIndex]!)
  if (firstTable === secondTable) return `The table ${firstTable} is listed twice. Remove one of the two entries.`
  return `The tables ${firstTable} and ${secondTable} would both fill ${name}. Load one of them with another pipeline.`
}

const formatTable = (table: DatabaseTable): string => formatStatementName({ table: '', ...table })

/**
 * Yields the stream of each table under its name in the warehouse, then the pipeline's own table, which lists the
 * tables. The cursors of all tables are stored with the own table.
 */
export async function* nameTableStreams(
  streams: AsyncIterable<DatabaseRowStream>,
  request: ReadRequest,
  tables: readonly DatabaseTable[],
  report: ReadReporter,
): AsyncGenerator<RowStream, void, void> {
  const names = nameAdditionalTables(request.table ?? 'preview', tables)
  const clashIndex = findNameClash(names)
  if (clashIndex >= 0) throw new SourceProblem('DUPLICATE_TABLE', describeNameClash(tables, names, clashIndex))
  logFormerTables(request, names, report)
  const listedTables: ListedTable[] = []
  const positions: Record<string, StoredCursor> = {}
  for await (const { cursor, rowsRead, ...stream } of streams) {
    const index = listedTables.length
    const name = names[index]!
    yield { ...stream, table: name }
    if (cursor) positions[name] = cursor()
    listedTables.push({ name, content: formatTable(tables[index]!), rowsRead: rowsRead() })
  }
  yield createTableListStream(listedTables, () => createDatabaseState(request, names, positions))
}

/** Logs the tables of earlier runs that this run does not load. */
function logFormerTables(request: ReadRequest, names: readonly string[], report: ReadReporter): void {
  const formerTables = listFilledTables(request).filter((name) => !names.includes(name))
  if (formerTables.length > 0)
    report.log(
      'INFO',
      'MEDIUM',
      `The settings no longer include the tables that fill ${formerTables.join(', ')}. Their rows stay until the pipeline is deleted.`,
    )
}
