import { type ClientAccess, type Credentials, type DatabaseLogin, tsqlAccess } from '../tsql/tsql-settings.ts'

/**
 * From an operator's URL of a dedicated SQL pool, `mssql://user:password@workspace.sql.azuresynapse.net:1433/pool`. Every client has schemas
 * in it: a pool is one database. The server knows READ UNCOMMITTED alone, and reads versions of rows instead where it is set to.
 */
export function synapseAccess(url: string, credentials: Credentials): ClientAccess {
  const access = tsqlAccess(url, credentials)
  if (access.ownDatabase) throw new Error('SYNAPSE_URL names no pool.')
  const { service, load, read } = access.logins
  return {
    ...access,
    logins: { service: asked(service), load: asked(load), read: asked(read) },
  }
}

const asked = (login: DatabaseLogin): DatabaseLogin => ({ ...login, isolation: 'READ_UNCOMMITTED' })
