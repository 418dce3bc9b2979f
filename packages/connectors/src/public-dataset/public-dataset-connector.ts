import { lookup } from 'node:dns/promises'
import type { DatabaseConfig } from '../database-connector/database-config.ts'
import { createDatabaseSource, testDatabaseConnection } from '../database-connector/database-source.ts'
import type { Connector, ReadRequest, SourceOption } from '../connector.ts'
import { type RowStream, SourceProblem } from '@sluice/row-stream'

/**
 * The location of a public dataset's table in the catalogue's warehouse. The operator publishes these datasets for all
 * organisations.
 */
export interface DatasetTable {
  host: string
  port: number
  database: string
  user: string
  password: string
  ssl: boolean
  /** True if connections accept any certificate of the warehouse. */
  trustServerCertificate: boolean
  schema: string
  table: string
  /** Column labels of the uploaded file, by column name. */
  labels: ReadonlyMap<string, string>
}

export interface DatasetDatabase {
  /** Finds a dataset. Returns undefined if it does not exist. `table` is absent until data is uploaded. */
  find(key: string): Promise<{ table?: DatasetTable } | undefined>
  /** Lists datasets with the text in their key or name, at most 1,000, sorted by name. */
  list(text: string): Promise<SourceOption[]>
}

/**
 * Creates a connector that reads tables of the public dataset catalogue with the login `read`. Keeps their column types
 * and labels.
 */
export function createPublicDatasetConnector(datasets: DatasetDatabase): Connector {
  // Allows any address, because the operator, not a user, configures this warehouse's host.
  const resolveAnyHost = (host: string) => lookup(host, { all: true })
  const source = createDatabaseSource(resolveAnyHost)

  /** Returns the table of the dataset in the settings. Throws `SourceProblem` if it does not exist or has no data. */
  async function getDatasetTable({ settings }: ReadRequest): Promise<DatasetTable> {
    const { key } = settings as { key: string }
    const dataset = await datasets.find(key)
    if (!dataset)
      throw new SourceProblem('DATASET_MISSING', `The public dataset "${key}" does not exist. Select another one.`)
    if (!dataset.table)
      throw new SourceProblem(
        'DATASET_NOT_LOADED',
        `The public dataset "${key}" has no data yet. Run again after data was uploaded to it.`,
      )
    return dataset.table
  }

  return {
    async *read(request, report, signal) {
      const { labels, ...table } = await getDatasetTable(request)
      for await (const rowStream of source.read(createDatabaseConfig(table), report, signal))
        yield restoreUploadLabels(rowStream, labels)
    },
    listOptions: async (kind, { query = '' }) => (kind === 'public-datasets' ? datasets.list(query) : undefined),
    async testConnection(request, signal) {
      await testDatabaseConnection(createDatabaseConfig(await getDatasetTable(request)), resolveAnyHost, signal)
    },
  }
}

/** Makes a stream the pipeline's own table and gives its columns the labels of the uploaded file. */
const restoreUploadLabels = (rowStream: RowStream, labels: ReadonlyMap<string, string>): RowStream => ({
  ...rowStream,
  table: '',
  columns: rowStream.columns.map((column) => ({ ...column, label: labels.get(column.name) ?? column.label })),
})

function createDatabaseConfig({ user, schema, table, ...server }: Omit<DatasetTable, 'labels'>): DatabaseConfig {
  const { host, port, database, password, ssl, trustServerCertificate } = server
  const login = { host, port, database, username: user, password, ssl, trustServerCertificate }
  return { kind: 'postgres', ...login, tables: [{ schema, name: table }] }
}
