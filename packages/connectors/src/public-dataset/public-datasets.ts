import { lookup } from 'node:dns/promises'
import type { DatabaseConfig } from '../database-connector/database-config.ts'
import { createDatabaseSource, testDatabaseConnection } from '../database-connector/database-source.ts'
import type { ReadRequest, Connector } from '../connector.ts'
import { type RowStream, SourceProblem } from '@sluice/row-stream'

/** A public dataset in the dataset catalogue. */
export interface DatasetTable {
  host: string
  port: number
  database: string
  user: string
  password: string
  ssl: boolean
  /** Whether to accept any certificate. */
  trustServerCertificate: boolean
  schema: string
  table: string
  /** Labels of the columns in the file, by column name. */
  labels: ReadonlyMap<string, string>
}

export interface DatasetDatabase {
  /** Returns undefined if the dataset does not exist; `table` is absent until the dataset is loaded. */
  find(key: string): Promise<{ table?: DatasetTable } | undefined>
}

/** Reads a table of the dataset catalogue as the role `read`, with its types and labels. */
export function publicDatasets(datasets: DatasetDatabase): Connector {
  // The operator configures this warehouse, so its host may have any address.
  const connectable = (host: string) => lookup(host, { all: true })
  const source = createDatabaseSource(connectable)

  async function tableOf({ settings }: ReadRequest): Promise<DatasetTable> {
    const { key } = settings as { key: string }
    const found = await datasets.find(key)
    if (!found)
      throw new SourceProblem('DATASET_MISSING', `The public dataset "${key}" does not exist. Choose another one.`)
    if (!found.table)
      throw new SourceProblem('DATASET_NOT_LOADED', `The public dataset "${key}" has no rows yet. Try again later.`)
    return found.table
  }

  return {
    async *read(reading, report, signal) {
      const { labels, ...table } = await tableOf(reading)
      for await (const feed of source.read(configOf(table), report, signal)) yield asUploaded(feed, labels)
    },
    async testConnection(reading, signal) {
      await testDatabaseConnection(configOf(await tableOf(reading)), connectable, signal)
    },
  }
}

/** Returns the stream under the name of the pipeline's own table, with the column labels of the uploaded file. */
const asUploaded = (feed: RowStream, labels: ReadonlyMap<string, string>): RowStream => ({
  ...feed,
  table: '',
  columns: feed.columns.map((column) => ({ ...column, label: labels.get(column.name) ?? column.label })),
})

function configOf({ user, schema, table, ...server }: Omit<DatasetTable, 'labels'>): DatabaseConfig {
  const { host, port, database, password, ssl, trustServerCertificate } = server
  const login = { host, port, database, username: user, password, ssl, trustServerCertificate }
  return { kind: 'postgres', ...login, tables: [{ schema, name: table }] }
}
