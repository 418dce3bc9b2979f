import { type ClientAccess, type RoleCredentials, type DatabaseLogin, tsqlAccess } from '../tsql/tsql-settings.ts'

/**
 * Parses an operator's URL of a dedicated SQL pool, `mssql://user:password@workspace.sql.azuresynapse.net:1433/pool`. A
 * pool is one database, so all organisations have their schemas in it. Sessions request READ UNCOMMITTED, the only
 * level that a pool supports. With READ_COMMITTED_SNAPSHOT, which Sluice requires, they still read committed rows.
 */
export function synapseAccess(url: string, credentials: RoleCredentials): ClientAccess {
  const access = tsqlAccess(url, credentials)
  if (access.ownDatabase) throw new Error('SYNAPSE_URL has no pool. Write it as mssql://user:password@host:1433/pool.')
  const { service, load, read } = access.logins
  return {
    ...access,
    logins: { service: withReadUncommitted(service), load: withReadUncommitted(load), read: withReadUncommitted(read) },
  }
}

const withReadUncommitted = (login: DatabaseLogin): DatabaseLogin => ({ ...login, isolation: 'READ_UNCOMMITTED' })
