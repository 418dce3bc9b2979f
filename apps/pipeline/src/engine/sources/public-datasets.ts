import { lookup } from 'node:dns/promises'
import type { DatabaseConfig } from './databases/database-config.ts'
import { databaseSource, tryDatabase } from './databases/database-source.ts'
import type { SourceReading, SourceKind } from './reading.ts'
import { type SourceFeed, SourceProblem } from './source.ts'

/** A public dataset as it lies in the dataset catalogue. */
export interface DatasetTable {
  host: string
  port: number
  database: string
  user: string
  password: string
  ssl: boolean
  /** Whether any certificate will do. */
  trustServerCertificate: boolean
  schema: string
  table: string
  /** Labels of the columns in the file, by column name. */
  labels: ReadonlyMap<string, string>
}

export interface DatasetDatabase {
  /** Undefined if there is no dataset with this key; without a table until the dataset was loaded. */
  find(key: string): Promise<{ table?: DatasetTable } | undefined>
}

/** A table of the dataset catalogue, copied as its role `read`: its types and its labels come along. */
export function publicDatasets(datasets: DatasetDatabase): SourceKind {
  // The warehouse is the operator's own: its host may be anywhere.
  const connectable = (host: string) => lookup(host, { all: true })
  const source = databaseSource(connectable)

  async function tableOf({ settings }: SourceReading): Promise<DatasetTable> {
    const { key } = settings as { key: string }
    const found = await datasets.find(key)
    if (!found) throw new SourceProblem('DATASET_MISSING', `There is no public dataset "${key}". Choose another one.`)
    if (!found.table)
      throw new SourceProblem('DATASET_NOT_LOADED', `The public dataset "${key}" has no rows yet. Try again later.`)
    return found.table
  }

  return {
    async *read(reading, report, signal) {
      const { labels, ...table } = await tableOf(reading)
      for await (const feed of source.read(configOf(table), report, signal)) yield asUploaded(feed, labels)
    },
    async test(reading, signal) {
      await tryDatabase(configOf(await tableOf(reading)), connectable, signal)
    },
  }
}

/** The pipeline's own table, with the labels that the file had. */
const asUploaded = (feed: SourceFeed, labels: ReadonlyMap<string, string>): SourceFeed => ({
  ...feed,
  table: '',
  columns: feed.columns.map((column) => ({ ...column, label: labels.get(column.name) ?? column.label })),
})

function configOf({ user, schema, table, ...server }: Omit<DatasetTable, 'labels'>): DatabaseConfig {
  const { host, port, database, password, ssl, trustServerCertificate } = server
  const login = { host, port, database, username: user, password, ssl, trustServerCertificate }
  return { kind: 'postgres', ...login, tables: [{ schema, name: table }] }
}
