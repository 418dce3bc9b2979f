import pg from 'pg'
import type { Cluster } from '../../infra/postgres/cluster.ts'
import { fillDatabase, password, type FilledData, type DataSize } from './fill-database.ts'
import { migrate, startService } from './start-programs.ts'

/** A running service with a filled database. */
export interface FilledService extends AsyncDisposable, FilledData {
  port: number
  database: string
  size: DataSize
  /** Creates new sessions, at most one per connection of the load generator. */
  signIn(): Promise<Tokens[]>
}

interface Tokens {
  accessToken: string
  refreshToken: string
}

const maxSessions = 16

export async function startFilledService(
  cluster: Cluster,
  folder: string,
  size: DataSize,
  profiles?: string,
): Promise<FilledService> {
  const name = `clients_${size.clients}_users_${size.users}`
  const database = await createDatabase(cluster, name)
  await migrate(folder, database)
  const data = await fillDatabase(database, size)
  const service = await startService(folder, database, profiles)
  return {
    ...data,
    ...service,
    database,
    size,
    signIn: () => Promise.all(data.people.slice(0, maxSessions).map((username) => signIn(service.port, username))),
  }
}

export async function createDatabase(cluster: Cluster, name: string): Promise<string> {
  const admin = new pg.Client({ connectionString: cluster.url('postgres') })
  await admin.connect()
  await admin.query(`create database ${admin.escapeIdentifier(name)}`)
  await admin.end()
  return cluster.url(name)
}

async function signIn(port: number, username: string): Promise<Tokens> {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username, password }),
  })
  if (!response.ok) throw new Error(`the sign-in returned ${response.status}: ${await response.text()}`)
  return (await response.json()) as Tokens
}
