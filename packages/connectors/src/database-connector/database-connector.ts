import type { SourceBody } from '@sluice/contracts'
import { defaultPorts } from '@sluice/contracts/connector-types'
import { previewFeed } from '@sluice/file-formats/preview/preview-feed'
import { outgoingAddresses } from '@sluice/http-client'
import { type Column, type ReadReporter, type RowStream, SourceProblem } from '@sluice/row-stream'
import type { Connector, ConnectorContext, ReadRequest, SourceOption } from '../connector.ts'
import type { DatabaseConfig, DatabaseTable } from './database-config.ts'
import type { DatabaseProduct, DatabaseType } from './database-product.ts'
import {
  createDatabaseSource,
  listStatementColumns,
  reportFullRead,
  testDatabaseConnection,
} from './database-source.ts'
import { createIncrementState, findIncrementStart, type StoredCursor } from './increments/increment-settings.ts'

type DatabaseSettings = Extract<SourceBody, { type: DatabaseType }>

/** Maximum number of tables in the list of options. */
const maxTableOptions = 50_000

/** Creates a connector that reads a query or a table of a database. It connects only to addresses that the context allows. */
export function createDatabaseConnector(product: DatabaseProduct, { allowed }: ConnectorContext): Connector {
  const resolve = outgoingAddresses({ allowed })
  const resolveAddresses = async (host: string, port: number) => (await resolve(host, port)).addresses
  const source = createDatabaseSource(resolveAddresses)

  async function listTables(request: ReadRequest, signal: AbortSignal): Promise<SourceOption[]> {
    const { tables: _, increment: __, ...server } = getDatabaseConfig(product.kind, request)
    const config = { ...server, query: product.tablesQuery }
    const { rows } = await previewFeed((report, ends) => source.read(config, report, ends), maxTableOptions, signal)
    // The query returns two name columns, which are text in every database.
    return (rows as [string, string][])
      .map(([schema, name]) => ({ id: `${schema}.${name}`, code: schema, name }))
      .toSorted((one, other) => (one.id < other.id ? -1 : 1))
  }

  /** Lists the columns of the table `within`, or of the query or table in the settings; the code of a column is its type. */
  async function listColumns(request: ReadRequest, signal: AbortSignal): Promise<Column[]> {
    const { increment: _, ...config } = getDatabaseConfig(product.kind, request)
    const table = request.within === undefined ? undefined : parseTableId(request.within)
    const { query, tables, ...server } = config
    if (!table && query === undefined && !tables?.length)
      throw new SourceProblem('NOTHING_TO_READ', 'Name the table in `within`, such as `public.cases`.')
    return await listStatementColumns(table ? { ...server, tables: [table] } : config, resolveAddresses, signal)
  }

  function readRows(request: ReadRequest, report: ReadReporter, signal: AbortSignal, increment: object) {
    const { increment: settings, ...config } = getDatabaseConfig(product.kind, request)
    const withIncrement = settings && { increment: { ...settings, ...increment } }
    const streams = source.read({ ...config, ...withIncrement }, report, signal)
    return toPipelineStreams(streams, request, config.tables?.length === 1)
  }

  return {
    async *read(request, report, signal) {
      const start = request.mode === 'INCREMENTAL' ? findIncrementStart(request) : undefined
      if (start && 'fullRead' in start) reportFullRead(report, start.fullRead)
      const last = start && 'value' in start ? { last: start } : {}
      yield* readRows(request, report, signal, { storesCursor: true, ...last })
    },
    canReadIncrement: async (request) => 'value' in findIncrementStart(request),
    getCursorKind: async (settings) => ((settings as DatabaseSettings).incremental ? 'OPAQUE' : 'NONE'),
    preview: (request, rows, signal) =>
      previewFeed((report, ending) => readRows(request, report, ending, {}), rows, signal),
    async listOptions(kind, request, signal) {
      if (kind === 'tables') return await listTables(request, signal)
      if (kind !== 'columns' && kind !== 'keys') return undefined
      const columns = await listColumns(request, signal)
      return columns
        .filter(({ primaryKey }) => kind === 'columns' || primaryKey)
        .map(({ label, dataType }) => ({ id: label, code: dataType, name: label }))
    },
    async testConnection(request, signal) {
      await testDatabaseConnection(getDatabaseConfig(product.kind, request), resolveAddresses, signal)
    },
  }
}

function getDatabaseConfig(kind: string, { type, settings, secrets }: ReadRequest): DatabaseConfig {
  const { jdbcSource, sqlQuery, tables, incremental } = settings as DatabaseSettings
  const { hostname, port, database, username, ssl, trustServerCertificate } = jdbcSource
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
    ...(tables && { tables }),
    ...(incremental && { increment: { ...incremental, storesCursor: false } }),
  }
}

/** Splits the id of a table option. The part before the first point is the schema. */
function parseTableId(id: string): DatabaseTable {
  const point = id.indexOf('.')
  return point > 0 ? { schema: id.slice(0, point), name: id.slice(point + 1) } : { name: id }
}

/** Adds the settings to cursors. A single table becomes the pipeline's own table, which is the empty string in a stream. */
async function* toPipelineStreams(
  streams: AsyncIterable<RowStream>,
  request: ReadRequest,
  isSingleTable: boolean,
): AsyncGenerator<RowStream, void, void> {
  for await (const { cursor, ...stream } of streams)
    yield {
      ...stream,
      ...(isSingleTable && { table: '' }),
      ...(cursor && { cursor: () => createIncrementState(request, cursor() as StoredCursor) }),
    }
}
