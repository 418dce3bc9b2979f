import pg from 'pg'
import type { Cluster } from '../../infra/postgres/cluster.ts'
import { fill, password, type Home, type Size } from './data.ts'
import { migrate, startService } from './programs.ts'

/** A running service on a database of a size, and some of its users signed in. */
export interface Stage extends AsyncDisposable, Home {
  port: number
  database: string
  size: Size
  /** New sessions, as many as there are connections at most. */
  signIn(): Promise<Tokens[]>
}

interface Tokens {
  accessToken: string
  refreshToken: string
}

const signedIn = 16

export async function stage(cluster: Cluster, folder: string, size: Size, profiles?: string): Promise<Stage> {
  const name = `clients_${size.clients}_users_${size.users}`
  const database = await createDatabase(cluster, name)
  await migrate(folder, database)
  const home = await fill(database, size)
  const service = await startService(folder, database, profiles)
  return {
    ...home,
    ...service,
    database,
    size,
    signIn: () => Promise.all(home.people.slice(0, signedIn).map((username) => signIn(service.port, username))),
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
  if (!response.ok) throw new Error(`signing in was answered ${response.status}: ${await response.text()}`)
  return (await response.json()) as Tokens
}
