import { Client, escapeIdentifier, escapeLiteral } from 'pg'
import { WarehouseProblem, busyProblem } from '../../warehouse.ts'
import { type WarehouseAccess, ledgerKey } from '../postgres-connections.ts'
import { adminClient, endAdmin, reservedConnectionsRole, templateDatabase, withDatabase } from './prepare-server.ts'
import { sqlStateOf, sqlStates } from './sql-states.ts'
import { createLedger } from './ledger-schema.ts'
import { warehouseProblem } from '../map-server-errors.ts'
import { type RoleSettings, loadSettings, readSettings } from './role-settings.ts'
import { createHash, createHmac, pbkdf2, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'

/**
 * The connection limit of role `load`: two connections for each of at most 64 concurrent loads, plus connections for
 * short statements of many processes.
 */
const maxLoadConnections = 220
/** The connection limit of role `read`. */
const maxReadConnections = 20

export interface WarehouseClient {
  /** The organisation's short name in the warehouse, in lower case. It never changes. */
  key: string
  /** The passwords of roles `load` and `read`: printable ASCII. */
  loadPassword: string
  readPassword: string
}

/**
 * Creates or repairs an organisation's warehouse: the database `c_<key>` with its hidden schema `sluice`, and three
 * roles. `c_<key>_owner` owns the database and the ledger (Sluice's table of loads) and cannot log in. `c_<key>_load`
 * creates and fills schemas and tables. `c_<key>_read` reads published data. Idempotent. Concurrent callers wait for
 * each other. Sets the passwords each time. Returns the address and credentials.
 *
 * The role of `adminUrl` needs only CREATEDB and CREATEROLE. PostgreSQL gives it the ADMIN option on the roles that it
 * creates. It grants itself the SET option on the owner role, to create a database for that role, but never inherits
 * the rights of these roles. `prepareWarehouseServer` adds the protections that only a superuser can set.
 */
export async function provisionWarehouse(adminUrl: string, client: WarehouseClient): Promise<WarehouseAccess> {
  const access = warehouseAccess(adminUrl, client)
  const names = namesOf(client.key)
  const admin = adminClient(adminUrl)
  try {
    await admin.connect()
    await admin.query('select pg_advisory_lock(hashtext($1))', [`sluice warehouse ${client.key}`])
    await ensureRole(admin, names.owner, 'nologin')
    await ensureRole(
      admin,
      names.load,
      `login connection limit ${maxLoadConnections} password '${await scramVerifier(client.loadPassword)}'`,
    )
    await ensureRole(
      admin,
      names.read,
      `login connection limit ${maxReadConnections} password '${await scramVerifier(client.readPassword)}'`,
    )
    await grantReservedConnections(admin, names)
    await admin.query(`grant ${names.owner} to current_user with inherit false, set true`)
    await ensureDatabase(admin, names)
    await applySettings(admin, names.load, loadSettings, names.database)
    await applySettings(admin, names.read, readSettings, names.database)
    await initializeDatabase(adminUrl, names, ledgerKey(client.loadPassword))
  } catch (error) {
    throw provisioningProblem(error, names.database)
  } finally {
    await endAdmin(admin)
  }
  return access
}

/**
 * Removes the warehouse that `provisionWarehouse` created for this key: closes its connections and drops the database
 * and the roles. Missing objects are not an error. These roles have no rights or objects in other databases.
 */
export async function removeWarehouse(adminUrl: string, key: string): Promise<void> {
  const names = namesOf(key)
  // The time-out is long, because the server deletes the files of a large database before it responds.
  const admin = adminClient(adminUrl, { statement_timeout: 600_000, query_timeout: 602_000 })
  try {
    await admin.connect()
    await admin.query('select pg_advisory_lock(hashtext($1))', [`sluice warehouse ${key}`])
    // The prefix `c_<key>_` also selects the roles of readers and schemas.
    const { rows } = await admin.query<{ rolname: string }>(
      'select rolname from pg_roles where starts_with(rolname, $1)',
      [`${names.database}_`],
    )
    const roles = rows.map(({ rolname }) => rolname)
    // Ending a role's sessions requires membership in the role. Dropping the roles below also removes the memberships.
    if (roles.length > 0) await admin.query(`grant ${roles.join(', ')} to current_user with inherit true, set true`)
    if (roles.includes(names.owner)) await admin.query(`drop database if exists ${names.database} with (force)`)
    if (roles.length > 0) await admin.query(`drop role if exists ${roles.join(', ')}`)
  } catch (error) {
    throw provisioningProblem(error, names.database)
  } finally {
    await endAdmin(admin)
  }
}

/**
 * Returns the address and credentials of an organisation's warehouse without connecting to it. The warehouse need not
 * exist.
 */
export function warehouseAccess(adminUrl: string, client: WarehouseClient): WarehouseAccess {
  if (!/^[a-z0-9]{1,40}$/.test(client.key))
    throw new WarehouseProblem('INVALID_NAME', 'A client’s key is 1 to 40 lower-case letters and digits.')
  const names = namesOf(client.key)
  const { host, port, ssl } = new Client(adminUrl) as unknown as Pick<WarehouseAccess, 'host' | 'port' | 'ssl'>
  return {
    host,
    port,
    database: names.database,
    ...(ssl && { ssl }),
    load: { user: names.load, password: client.loadPassword },
    read: { user: names.read, password: client.readPassword },
  }
}

type WarehouseNames = ReturnType<typeof namesOf>

/**
 * Returns the names of the database and the roles of an organisation. They contain only letters, digits and
 * underscores, so they need no quotes in SQL.
 */
export function namesOf(key: string) {
  return { database: `c_${key}`, owner: `c_${key}_owner`, load: `c_${key}_load`, read: `c_${key}_read` }
}

/** Creates the role with these attributes, or changes an existing role to them. */
export async function ensureRole(admin: Client, role: string, attributes: string): Promise<void> {
  const { rowCount } = await admin.query('select from pg_roles where rolname = $1', [role])
  await admin.query(`${rowCount ? 'alter' : 'create'} role ${role} with ${attributes}`)
}

/** SQLSTATEs of a setting that the administrator may not change, or that this server does not know or accept. */
const unsupportedSettingStates: ReadonlySet<string> = new Set([
  sqlStates.insufficientPrivilege,
  sqlStates.undefinedObject,
  sqlStates.invalidParameterValue,
])

/**
 * Replaces all settings of a role by these. Skips settings that the server does not know or that the administrator may
 * not change.
 */
export async function applySettings(
  admin: Client,
  role: string,
  settings: RoleSettings,
  database: string,
): Promise<void> {
  await admin.query(`alter role ${role} reset all`)
  await admin.query(`alter role ${role} in database ${database} reset all`)
  for (const [name, value] of Object.entries(settings)) {
    await admin.query(`alter role ${role} set ${name} = ${escapeLiteral(value)}`).catch((error: unknown) => {
      if (!unsupportedSettingStates.has(sqlStateOf(error))) throw error
    })
  }
}

/**
 * Lets the organisation's roles use reserved connections. Does nothing on a server that `prepareWarehouseServer` has
 * not prepared.
 */
async function grantReservedConnections(admin: Client, { load, read }: WarehouseNames): Promise<void> {
  const { rows } = await admin.query<{ may: boolean }>(`select pg_has_role($1, 'usage with admin option') as may`, [
    reservedConnectionsRole,
  ])
  if (rows[0]!.may) await admin.query(`grant ${reservedConnectionsRole} to ${load}, ${read}`)
}

/**
 * Creates the database, unless it exists, and sets the rights to connect to it. A new database allows no connections
 * until the rights are set. Throws WAREHOUSE_NOT_OURS if another role owns the database.
 */
async function ensureDatabase(admin: Client, { database, owner, load, read }: WarehouseNames): Promise<void> {
  const { rows } = await admin.query('select pg_get_userbyid(datdba) as owner from pg_database where datname = $1', [
    database,
  ])
  if (rows.length > 0 && rows[0].owner !== owner)
    throw new WarehouseProblem('WAREHOUSE_NOT_OURS', databaseNotOwned(database))
  if (rows.length === 0) {
    // The template exists only on a server that `prepareWarehouseServer` has prepared.
    const templateQuery = 'select from pg_database where datname = $1 and datistemplate'
    const { rowCount: templateCount } = await admin.query(templateQuery, [templateDatabase])
    const template = templateCount ? templateDatabase : 'template0'
    await admin.query(
      `create database ${database} owner ${owner} template ${template} encoding 'UTF8' allow_connections false`,
    )
  }
  const { rows: currentUser } = await admin.query('select current_user as name')
  await admin.query(`set role ${owner}`)
  await admin.query(`revoke all on database ${database} from public`)
  await admin.query(`grant connect, create, temporary on database ${database} to ${load}`)
  await admin.query(`grant connect on database ${database} to ${read}, ${escapeIdentifier(currentUser[0].name)}`)
  await admin.query(`alter database ${database} with allow_connections true`)
  await admin.query('reset role')
}

/** Revokes the rights to schema `public` and creates the ledger, as the owner of the database. */
async function initializeDatabase(
  adminUrl: string,
  { database, owner, load }: WarehouseNames,
  key: string,
): Promise<void> {
  const client = adminClient(withDatabase(adminUrl, database))
  try {
    await client.connect()
    await client.query('begin')
    await client.query(`set local role ${owner}`)
    await client.query('revoke all on schema public from public')
    await createLedger(client, load, key)
    await client.query('commit')
  } finally {
    await endAdmin(client)
  }
}

/** Returns the problem for a failed creation or removal of a warehouse. */
function provisioningProblem(error: unknown, database: string): unknown {
  const code = sqlStateOf(error)
  if (code === sqlStates.lockNotAvailable)
    return busyProblem('Another process is creating the warehouse. Try again in a moment.', { cause: error })
  if (code !== sqlStates.insufficientPrivilege) return warehouseProblem(error, { qualifiedName: database })
  return new WarehouseProblem('WAREHOUSE_NOT_OURS', databaseNotOwned(database), { cause: error })
}

function databaseNotOwned(database: string): string {
  return `Database ${database} or its roles already exist and belong to another role, or the administrator’s role lacks CREATEDB or CREATEROLE. Choose another key, or grant these rights.`
}

const scramIterations = 4096

/**
 * Returns the SCRAM verifier that PostgreSQL stores for a password (RFC 5803, RFC 7677), with a random salt. Statements
 * contain the verifier instead of the password, so no server log, statement statistics or network trace reveals the
 * password. Supports only printable ASCII, which SASLprep does not change.
 */
export async function scramVerifier(password: string): Promise<string> {
  if (!/^[\x21-\x7e]{8,128}$/.test(password))
    throw new Error('A warehouse password has 8 to 128 printable ASCII characters.')
  const salt = randomBytes(16)
  const saltedPassword = await promisify(pbkdf2)(password, salt, scramIterations, 32, 'sha256')
  const storedKey = createHash('sha256').update(hmacSha256(saltedPassword, 'Client Key')).digest('base64')
  const serverKey = hmacSha256(saltedPassword, 'Server Key').toString('base64')
  return `SCRAM-SHA-256$${scramIterations}:${salt.toString('base64')}$${storedKey}:${serverKey}`
}

function hmacSha256(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
