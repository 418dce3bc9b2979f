import type { SourceBody } from '@sluice/contracts'
import { defaultPorts } from '@sluice/contracts/connector-types'
import { previewFeed } from '@sluice/file-formats/preview/preview-feed'
import { outgoingAddresses } from '@sluice/http-client'
import type { RowStream } from '@sluice/row-stream'
import type { Connector, ConnectorContext, ReadRequest, SourceOption } from '../connector.ts'
import type { DatabaseConfig } from './database-config.ts'
import type { DatabaseProduct, DatabaseType } from './database-product.ts'
import { createDatabaseSource, testDatabaseConnection } from './database-source.ts'

/** Maximum number of tables in the list of options. */
const maxTableOptions = 50_000

/** Creates a connector that reads a query or a table of a database. It connects only to addresses that the context allows. */
export function createDatabaseConnector(product: DatabaseProduct, { allowed }: ConnectorContext): Connector {
  const resolve = outgoingAddresses({ allowed })
  const resolveAddresses = async (host: string, port: number) => (await resolve(host, port)).addresses
  const source = createDatabaseSource(resolveAddresses)

  async function listTables(request: ReadRequest, signal: AbortSignal): Promise<SourceOption[]> {
    const { tables: _, ...server } = getDatabaseConfig(product.kind, request)
    const config = { ...server, query: product.tablesQuery }
    const { rows } = await previewFeed((report, ends) => source.read(config, report, ends), maxTableOptions, signal)
    // The query returns two name columns, which are text in every database.
    return (rows as [string, string][])
      .map(([schema, name]) => ({ id: `${schema}.${name}`, code: schema, name }))
      .toSorted((one, other) => (one.id < other.id ? -1 : 1))
  }

  return {
    read(request, report, signal) {
      const config = getDatabaseConfig(product.kind, request)
      const streams = source.read(config, report, signal)
      return config.tables?.length === 1 ? renameToPipelineTable(streams) : streams
    },
    listOptions: async (kind, request, signal) => (kind === 'tables' ? listTables(request, signal) : undefined),
    testConnection: (request, signal) =>
      testDatabaseConnection(getDatabaseConfig(product.kind, request), resolveAddresses, signal),
  }
}

function getDatabaseConfig(kind: string, { type, settings, secrets }: ReadRequest): DatabaseConfig {
  const { jdbcSource, sqlQuery, tables } = settings as Extract<SourceBody, { type: DatabaseType }>
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
  }
}

/** Replaces the table name of the source with that of the pipeline's own table, which is the empty string in a stream. */
async function* renameToPipelineTable(streams: AsyncIterable<RowStream>): AsyncGenerator<RowStream, void, void> {
  for await (const stream of streams) yield { ...stream, table: '' }
}
