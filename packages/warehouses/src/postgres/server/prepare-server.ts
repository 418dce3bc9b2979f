import { Client, escapeIdentifier } from 'pg'

/**
 * The template of the organisations' databases: a copy of PostgreSQL's template0 with fewer rights. Absent on servers
 * that `prepareWarehouseServer` has not prepared.
 */
export const templateDatabase = 'sluice_client_template'

/** Members of this role may use the server's reserved connections. */
export const reservedConnectionsRole = 'pg_use_reserved_connections'

/**
 * Functions that organisations must not call, because they can exhaust the server's lock table or write in a READ ONLY
 * transaction.
 */
const dangerousFunctions = `proname like 'lo\\_%' or proname in ('loread', 'lowrite', 'pg_notify')
  or proname like 'pg\\_advisory\\_%' or proname like 'pg\\_try\\_advisory\\_%'`

/**
 * Applies the protections that only a superuser can set. Call it once per server. Idempotent. It revokes rights to
 * dangerous functions, which belong to the superuser, and lets the administrator set `temp_file_limit`. Without this
 * call, provisioning works, but these protections are missing and the organisations' roles cannot use reserved
 * connections.
 *
 * `admin` is the role for `provisionWarehouse`. `close` names databases to which the organisations' roles must not
 * connect, such as those of Sluice's services.
 */
export async function prepareWarehouseServer(
  superuserUrl: string,
  options: { admin: string; close?: readonly string[] },
): Promise<void> {
  // The lock time-out is longer than a copy of the template takes, because another process may be copying it.
  const client = adminClient(superuserUrl, { lock_timeout: 30_000 })
  try {
    await client.connect()
    await client.query(`select pg_advisory_lock(hashtext('sluice warehouse template'))`)
    const { rows } = await client.query('select datistemplate from pg_database where datname = $1', [templateDatabase])
    const isTemplateComplete = rows[0]?.datistemplate === true
    if (!isTemplateComplete) await createTemplate(client, superuserUrl)
    await client.query(`grant set on parameter temp_file_limit to ${escapeIdentifier(options.admin)}`)
    await grantReload(client, superuserUrl, options.admin)
    await grantReservedConnections(client, options.admin)
    for (const database of options.close ?? []) {
      await client.query(`revoke connect, temporary on database ${escapeIdentifier(database)} from public`)
    }
  } finally {
    await endAdmin(client)
  }
}

/**
 * Lets the administrator and the organisations' roles use the connections that `reserved_connections` sets aside, so
 * that readers cannot take all connections. The administrator grants this right to the roles of later organisations.
 */
async function grantReservedConnections(client: Client, admin: string): Promise<void> {
  await client.query(`grant ${reservedConnectionsRole} to ${escapeIdentifier(admin)} with admin option, inherit true`)
  const { rows } = await client.query<{ rolname: string }>(
    `select rolname from pg_roles where rolname ~ '^c_[a-z0-9]+_(load|read)$' and not pg_has_role(oid, $1, 'usage')
       and pg_has_role($2, oid, 'member with admin option')`,
    [reservedConnectionsRole, admin],
  )
  for (const { rolname } of rows) await client.query(`grant ${reservedConnectionsRole} to ${rolname}`)
}

/**
 * Lets the administrator reload the rules of pg_hba.conf. The right belongs to one database: the one with the name of
 * the administrator, to which the administrator connects. Does nothing if that database does not exist.
 */
async function grantReload(client: Client, superuserUrl: string, admin: string): Promise<void> {
  const { rowCount: databaseCount } = await client.query('select from pg_database where datname = $1', [admin])
  if (!databaseCount) return
  const adminDatabase = adminClient(withDatabase(superuserUrl, admin))
  try {
    await adminDatabase.connect()
    await adminDatabase.query(`grant execute on function pg_reload_conf() to ${escapeIdentifier(admin)}`)
  } finally {
    await endAdmin(adminDatabase)
  }
}

/** Returns a connection URL for another database on the same server. */
export function withDatabase(connectionUrl: string, database: string): string {
  const url = new URL(connectionUrl)
  url.pathname = `/${encodeURIComponent(database)}`
  return url.href
}

/**
 * Creates the template database, without rights to dangerous functions. Only the last step marks it as a template, so
 * the next call recreates a database that a crash left incomplete.
 */
async function createTemplate(client: Client, superuserUrl: string): Promise<void> {
  await client.query(`drop database if exists ${templateDatabase}`)
  await client.query(`create database ${templateDatabase} template template0 encoding 'UTF8'`)
  const template = adminClient(withDatabase(superuserUrl, templateDatabase))
  try {
    await template.connect()
    await template.query(`do $$ declare f regprocedure; begin
      for f in select oid from pg_proc where pronamespace = 'pg_catalog'::regnamespace and (${dangerousFunctions}) loop
        execute format('revoke execute on function %s from public', f);
      end loop;
    end $$`)
    await template.query('revoke all on schema public from public')
  } finally {
    await endAdmin(template)
  }
  await client.query(`revoke connect, temporary on database ${templateDatabase} from public`)
  await client.query(`alter database ${templateDatabase} with is_template true allow_connections false`)
}

/** Time-outs in milliseconds. This process enforces the last one, in case the server stops responding. */
const adminTimeouts = {
  connectionTimeoutMillis: 5_000,
  lock_timeout: 10_000,
  statement_timeout: 30_000,
  query_timeout: 32_000,
}

/**
 * Returns the connection settings of an administrator, with a time-out for every wait. `timeouts` replace the defaults.
 */
export const adminSettings = (connectionString: string, timeouts: Partial<typeof adminTimeouts> = {}) => ({
  connectionString,
  application_name: 'sluice provisioning',
  keepAlive: true,
  ...adminTimeouts,
  ...timeouts,
})

/** Creates an administrator's connection for preparing servers and warehouses. Close it with `endAdmin`. */
export function adminClient(connectionString: string, timeouts: Partial<typeof adminTimeouts> = {}): Client {
  const client = new Client(adminSettings(connectionString, timeouts))
  // A connection that breaks between two statements would end this process if it had no error listener.
  client.on('error', () => {})
  return client
}

/** Closes an administrator's connection. Never throws, and does not wait for a server that does not respond. */
export async function endAdmin(client: Client): Promise<void> {
  const { stream } = (client as unknown as { connection: { stream: { destroy(): void } } }).connection
  const timer = setTimeout(() => stream.destroy(), 1_000)
  await client.end().catch(() => {})
  clearTimeout(timer)
}
