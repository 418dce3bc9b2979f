import { Client, escapeIdentifier, escapeLiteral } from 'pg'
import { type Cluster, connectionString } from '../postgres/cluster.ts'
import type { Secrets } from './secrets.ts'

const NAMES = ['identity', 'pipeline', 'warehouse'] as const

/** Connection strings of the three databases, each with its own role. */
export type Databases = Record<(typeof NAMES)[number], string>

/** Attributes of the warehouse role, which creates the databases and roles of clients. */
const WAREHOUSE_ROLE_ATTRIBUTES = 'createdb createrole'

/**
 * Creates missing login roles and databases. Only its owner can connect to a database, because the roles that run the
 * SQL of clients are in the same cluster.
 */
export const prepareDatabases = async (cluster: Cluster, secrets: Secrets): Promise<Databases> => {
  const client = new Client({ connectionString: cluster.url('postgres') })
  await client.connect()
  try {
    const { rows } = await client.query(`select array(select rolname::text from pg_roles) as roles,
      array(select datname::text from pg_database) as databases`)
    for (const name of NAMES) {
      const id = escapeIdentifier(name)
      const attributes = name === 'warehouse' ? WAREHOUSE_ROLE_ATTRIBUTES : ''
      if (!rows[0].roles.includes(name))
        await client.query(`create role ${id} login ${attributes} password ${escapeLiteral(secrets[name])}`)
      if (!rows[0].databases.includes(name)) await client.query(`create database ${id} owner ${id}`)
    }
    await client.query('revoke connect on database identity, pipeline, warehouse, postgres, template1 from public')
    // Readers of the warehouse cannot take the server's reserved connections (start-postgres.ts).
    await client.query('grant pg_use_reserved_connections to identity, pipeline, warehouse')
  } finally {
    await client.end()
  }
  return databaseUrls(cluster.port, secrets)
}

export const databaseUrls = (port: number, secrets: Secrets): Databases => {
  const url = (name: (typeof NAMES)[number]): string => connectionString(port, name, secrets[name], name)
  return { identity: url('identity'), pipeline: url('pipeline'), warehouse: url('warehouse') }
}
