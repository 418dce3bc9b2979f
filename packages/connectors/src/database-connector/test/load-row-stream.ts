import { sqlType } from '@sluice/row-stream/testing/sql-type'
import { randomBytes } from 'node:crypto'
import { Client, escapeIdentifier } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import type { RowStream, Column, RejectedRow, ReadReporter, StoredType } from '@sluice/row-stream'
import type { AddressResolver, DatabaseConfig } from '../database-config.ts'

/** The tests' own PostgreSQL, as its superuser. */
export async function superuser(database?: string): Promise<Client> {
  const url = new URL(process.env['TEST_DATABASE_URL']!)
  if (database) url.pathname = `/${database}`
  const client = new Client(url.href)
  client.on('error', () => {})
  await client.connect()
  await client.query(`set timezone = 'UTC'`)
  return client
}

export const word = (prefix: string): string => prefix + randomBytes(6).toString('hex')

export const here: AddressResolver = async () => [{ address: '127.0.0.1', family: 4 }]

/** A report that remembers. */
export function listener() {
  const heard = { rejected: [] as RejectedRow[], logs: [] as string[], totals: { bytesRead: 0, rowsRead: 0 } }
  const report: ReadReporter = {
    progress: (totals) => void Object.assign(heard.totals, totals),
    reject: (row) => void heard.rejected.push(row),
    rejectMore: () => {},
    startOver: async () => {},
    log: (_level, _importance, message) => void heard.logs.push(message),
  }
  return { ...heard, report }
}

const header = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)])

/**
 * Loads a row stream into a new table and returns the number of rows. The columns have the types of the stream, or
 * those in `stored`.
 */
export async function loadRowStream(
  client: Client,
  table: string,
  { columns, content }: RowStream,
  stored: readonly StoredType[] = columns,
): Promise<number> {
  if (content.format !== 'copy-binary') throw new Error('not binary')
  const list = columns.map(({ name }, index) => `${escapeIdentifier(name)} ${sqlType(stored[index]!)}`).join(', ')
  await client.query(`drop table if exists ${table}; create table ${table} (${list})`)
  const copy = client.query(copyFrom(`copy ${table} from stdin (format binary)`))
  const done = new Promise((resolve, reject) => copy.on('error', reject).on('finish', resolve))
  done.catch(() => {})
  try {
    copy.write(header)
    for await (const { bytes, release } of content.rows(stored)) {
      await new Promise((resolve) => copy.write(bytes, resolve))
      release?.()
    }
  } catch (error) {
    copy.destroy(error as Error)
    throw error
  }
  copy.end(Buffer.from([0xff, 0xff]))
  await done
  return copy.rowCount
}

export const shape = (columns: readonly Column[]): string[] =>
  columns.map(({ name, dataType, precision, scale, primaryKey }) =>
    [name, dataType, precision !== undefined && `(${precision},${scale})`, primaryKey && 'key']
      .filter(Boolean)
      .join(' '),
  )

/** The tests' own PostgreSQL as a source, as its superuser or somebody else. */
export function postgresConfig(database: string, changes: Partial<DatabaseConfig> = {}): DatabaseConfig {
  const url = new URL(process.env['TEST_DATABASE_URL']!)
  return {
    kind: 'postgres',
    host: 'source.example',
    port: Number(url.port),
    database,
    username: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    ssl: false,
    trustServerCertificate: false,
    ...changes,
  }
}
