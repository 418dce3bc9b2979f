import type { SourceBody } from '@sluice/contracts'
import { defaultPorts } from '@sluice/contracts/connector-types'
import { previewRowStream } from '@sluice/file-formats/preview/preview-row-stream'
import { createHostResolver } from '@sluice/http-client'
import { type Column, type ReadReporter, type RowStream, SourceProblem } from '@sluice/row-stream'
import type { Connector, ConnectorContext, ReadRequest, SourceOption } from '../connector.ts'
import type { DatabaseConfig, DatabaseTable } from './database-config.ts'
import type { IncrementRequest } from './increments/plan-increment.ts'
import type { DatabaseProduct, DatabaseType } from './database-product.ts'
import {
  createDatabaseSource,
  type DatabaseRowStream,
  listStatementColumns,
  testDatabaseConnection,
} from './database-source.ts'
import {
  createDatabaseState,
  findIncrementStart,
  hasIncrements,
  type IncrementSettings,
  ownTablePosition,
  type StoredCursor,
  type TablePositions,
} from './increments/increment-settings.ts'
import { nameAdditionalTables, nameTableStreams } from './additional-tables.ts'

type DatabaseSettings = Extract<SourceBody, { type: DatabaseType }>

/** Maximum number of tables in the list of options. */
const maxTableOptions = 50_000

/**
 * Creates a connector that reads a query or a table of a database. It connects only to addresses that the context
 * allows.
 */
export function createDatabaseConnector(product: DatabaseProduct, { allowed }: ConnectorContext): Connector {
  const resolve = createHostResolver({ allowed })
  const resolveAddresses = async (host: string, port: number) => (await resolve(host, port)).addresses
  const source = createDatabaseSource(resolveAddresses)

  async function listTables(request: ReadRequest, signal: AbortSignal): Promise<SourceOption[]> {
    const { tables: _tables, increment: _increment, ...server } = getDatabaseConfig(product.kind, request)
    const config = { ...server, query: product.tablesQuery }
    const { rows } = await previewRowStream(
      (report, previewSignal) => source.read(config, report, previewSignal),
      maxTableOptions,
      signal,
    )
    // The query returns two columns, schema and name, which are text in every database.
    return (rows as [string, string][])
      .map(([schema, name]) => ({ id: `${schema}.${name}`, code: schema, name }))
      .toSorted((first, second) => (first.id < second.id ? -1 : 1))
  }

  /**
   * Lists the columns of the table that `request.within` names. Without `within`, lists the columns of the query or of
   * the only table in the settings.
   */
  async function listColumns(request: ReadRequest, signal: AbortSignal): Promise<Column[]> {
    const { increment: _increment, query, tables = [], ...server } = getDatabaseConfig(product.kind, request)
    const isTableKnown = request.within !== undefined || query !== undefined || tables.length === 1
    if (!isTableKnown) throw new SourceProblem('NOTHING_TO_READ', 'Name the table in `within`, such as `public.cases`.')
    const table = request.within === undefined ? tables[0] : parseTableId(request.within)
    const statement = table ? { tables: [{ ...table, increment: undefined }] } : { query }
    return await listStatementColumns({ ...server, ...statement } as DatabaseConfig, resolveAddresses, signal)
  }

  /**
   * Yields the rows of a query or a single table as the pipeline's own table. For several tables, yields each of them
   * as a further table, and then the list of them as the own table.
   */
  function readRows(
    request: ReadRequest,
    report: ReadReporter,
    signal: AbortSignal,
    positions: TablePositions | undefined,
  ): AsyncIterable<RowStream> {
    const config = getDatabaseConfig(product.kind, request, { storesCursor: true, positions })
    const streams = source.read(config, report, signal)
    const { tables = [] } = config
    return tables.length > 1 ? nameTableStreams(streams, request, tables, report) : toOwnTable(streams, request)
  }

  /** Yields the rows of the query or of the first table. */
  function readPreview(request: ReadRequest, report: ReadReporter, signal: AbortSignal): AsyncIterable<RowStream> {
    const { tables = [], ...config } = getDatabaseConfig(product.kind, request, { storesCursor: false })
    const [first, ...otherTables] = tables
    if (otherTables.length > 0)
      report.log('INFO', 'LOW', `The preview shows ${first!.name} only. A load also reads ${otherTables.length} more.`)
    const streams = source.read({ ...config, ...(first && { tables: [first] }) }, report, signal)
    return toOwnTable(streams, request)
  }

  return {
    async *read(request, report, signal) {
      const start = request.mode === 'INCREMENTAL' ? findStart(request) : undefined
      if (start && 'fullRead' in start) report.readsEverything?.(start.fullRead)
      const positions = start && 'positions' in start ? start.positions : undefined
      yield* readRows(request, report, signal, positions)
    },
    canReadIncrement: async (request) => 'positions' in findStart(request),
    getCursorKind: async (settings) => (hasIncrements(settings as DatabaseSettings) ? 'OPAQUE' : 'NONE'),
    preview: (request, rows, signal) =>
      previewRowStream((report, previewSignal) => readPreview(request, report, previewSignal), rows, signal),
    async listOptions(kind, request, signal) {
      if (kind === 'tables') return await listTables(request, signal)
      if (kind !== 'columns' && kind !== 'keys') return undefined
      const columns = await listColumns(request, signal)
      const listedColumns = kind === 'keys' ? columns.filter(({ primaryKey }) => primaryKey) : columns
      return listedColumns.map(({ label, dataType }) => ({ id: label, code: dataType, name: label }))
    },
    async testConnection(request, signal) {
      await testDatabaseConnection(getDatabaseConfig(product.kind, request), resolveAddresses, signal)
    },
  }
}

/** The use of cursors in a read. */
interface CursorUse {
  /** True if the next cursor is stored. False for previews and tests. */
  storesCursor: boolean
  /** The positions from which the increments continue. Absent for a full read. */
  positions?: TablePositions | undefined
}

/**
 * Returns the configuration of a read from a pipeline's settings. A table without its own increment has that of the
 * pipeline. Each increment continues from the stored position of its table.
 */
function getDatabaseConfig(
  kind: string,
  request: ReadRequest,
  { storesCursor, positions = {} }: CursorUse = { storesCursor: false },
): DatabaseConfig {
  const { type, settings, secrets } = request
  const { jdbcSource, sqlQuery, tables, incremental } = settings as DatabaseSettings
  const { hostname, port, database, username, ssl, trustServerCertificate } = jdbcSource
  const createIncrement = (increment: IncrementSettings, previousCursor?: StoredCursor): IncrementRequest => ({
    ...increment,
    storesCursor,
    ...(previousCursor && { previousCursor }),
  })
  const positionNames = listPositionNames(tables ?? [], request.table)
  const tableConfigs = tables?.map(({ incremental: tableIncremental, ...table }, index): DatabaseTable => {
    const increment = tableIncremental ?? incremental
    return increment ? { ...table, increment: createIncrement(increment, positions[positionNames[index]!]) } : table
  })
  return {
    kind,
    host: hostname,
    port: port ?? defaultPorts[type as DatabaseType],
    database,
    username,
    password: secrets['password'] ?? '',
    ssl: ssl ?? false,
    trustServerCertificate: trustServerCertificate ?? false,
    ...(sqlQuery !== undefined && { query: sqlQuery }),
    ...(tableConfigs && { tables: tableConfigs }),
    ...(incremental && { increment: createIncrement(incremental, positions[ownTablePosition]) }),
  }
}

/** Returns the names under which the positions of the tables are stored. */
const listPositionNames = (tables: readonly DatabaseTable[], ownTable = 'preview'): string[] =>
  tables.length > 1 ? nameAdditionalTables(ownTable, tables) : [ownTablePosition]

const findStart = (request: ReadRequest) =>
  findIncrementStart(request, listPositionNames((request.settings as DatabaseSettings).tables ?? [], request.table))

/** Splits the id of a table option: `public.cases` is table `cases` of schema `public`. */
function parseTableId(id: string): DatabaseTable {
  const dot = id.indexOf('.')
  return dot > 0 ? { schema: id.slice(0, dot), name: id.slice(dot + 1) } : { name: id }
}

/**
 * Yields the stream of the query or of the only table as the pipeline's own table, which has an empty name in a row
 * stream. Its cursor is the position at which the next increment starts.
 */
async function* toOwnTable(
  streams: AsyncIterable<DatabaseRowStream>,
  request: ReadRequest,
): AsyncGenerator<RowStream, void, void> {
  for await (const { cursor, rowsRead: _, ...stream } of streams) {
    const position = cursor?.()
    const hasCursorValue = position?.value !== undefined
    const state = createDatabaseState(request, [], hasCursorValue ? { [ownTablePosition]: position } : {})
    yield { ...stream, table: '', ...(state && { cursor: () => state }) }
  }
}
