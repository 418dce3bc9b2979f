import { createHash, createHmac } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, type ClientBase, escapeIdentifier, escapeLiteral } from 'pg'
import {
  connectionsOf,
  keyOfReader,
  type ReaderDefinition,
  type ReaderNetworks,
  readerLimits,
  type ReaderServer,
} from '../../warehouse-reader-logins.ts'
import { busyProblem, type WarehouseCredentials } from '../../warehouse.ts'
import { checkSchemaName } from '../sql-identifiers.ts'
import { loadPool, withClient } from '../postgres-connections.ts'
import { warehouseProblem } from '../map-server-errors.ts'
import { adminClient, endAdmin, withDatabase } from './prepare-server.ts'
import { sqlStateOf, sqlStates } from './sql-states.ts'
import { applySettings, ensureRole, namesOf, scramVerifier, warehouseAccess } from './provision-warehouse.ts'
import { writeNetworks } from './reader-role-networks.ts'
import { readerSessions } from './reader-sessions.ts'
import { readerSettings } from './role-settings.ts'

/**
 * Manages the readers of a PostgreSQL server: logins for BI tools. A reader is a LOGIN role `c_<key>_r_…` that owns
 * nothing. It is a member of `c_<key>_readers`, which may connect to the organisation's database, and of one role
 * `c_<key>_s_…` per schema, which may select from the schema's tables. Role `load` grants SELECT as a default
 * privilege of the schema, so later tables and views are readable too.
 *
 * `adminUrl` is the role that provisions warehouses. `hbaInclude` is a file that the server's pg_hba.conf includes.
 */
export function postgresReaders(
  adminUrl: string,
  { hbaInclude, limits = readerLimits }: { hbaInclude?: string | undefined; limits?: typeof readerLimits } = {},
): ReaderServer {
  const sessions = readerSessions(adminUrl, limits)
  return {
    define: (client, reader, password) => defineReader(adminUrl, client, reader, password),
    drop: (login) => dropReader(adminUrl, login),
    observe: () => sessions.observe(),
    limitSessions: () => sessions.limit(),
    ...(hbaInclude !== undefined && {
      setNetworks: (all: readonly ReaderNetworks[]) =>
        withAdmin(adminUrl, (admin) => writeNetworks(admin, hbaInclude, all)),
    }),
  }
}

/**
 * See `ReaderServer.define`. Creates or changes the login of a reader, so that it may read exactly these schemas. Ends
 * its sessions if it loses a schema, becomes inactive or gets another password.
 */
async function defineReader(
  adminUrl: string,
  client: WarehouseCredentials,
  { login, schemas, active, expires }: ReaderDefinition,
  password: string | undefined,
): Promise<void> {
  const { key } = client
  if (keyOfReader(login) !== key) throw new Error(`${login} is not a reader of ${key}.`)
  const { database, owner } = namesOf(key)
  const readers = `c_${key}_readers`
  const memberships = active ? [readers, ...schemas.map((schema) => schemaRole(client, schema))] : []
  await withAdmin(adminUrl, async (admin) => {
    await lockWarehouse(admin, key)
    await renameSchemaRoles(admin, client, schemas)
    const connections = await divideConnections(admin, login, active)
    const attributes = [
      active ? 'login' : 'nologin',
      `connection limit ${connections}`,
      `valid until ${escapeLiteral(expires?.toISOString() ?? 'infinity')}`,
      ...(password === undefined ? [] : [`password '${await scramVerifier(password)}'`]),
    ]
    if (await roleExists(admin, login)) {
      const hasLostMembership = await revokeMemberships(admin, login, memberships)
      const mustLogInAgain = !active || password !== undefined
      // An open session could otherwise set its old password again.
      if (mustLogInAgain) await alterLogin(admin, login, 'nologin')
      if (mustLogInAgain || hasLostMembership) await endSessions(admin, login)
      await alterLogin(admin, login, attributes.join(' '))
    } else {
      await admin.query(`create role ${login} with ${attributes.join(' ')}`)
      await allowAdministration(admin, login)
    }
    // Every login of the server can read these settings, so they are the same for all readers and reveal nothing.
    await applySettings(admin, login, readerSettings, database)
    if (!active) return
    for (const role of memberships) await ensureRole(admin, role, 'nologin')
    // Only the owner of the database can grant the right to connect.
    await admin.query(`set role ${owner}`)
    await admin.query(`grant connect on database ${database} to ${readers}`)
    await admin.query('reset role')
    await grantSchemas(adminUrl, client, schemas)
    await admin.query(`grant ${memberships.join(', ')} to ${login} with inherit true, set false`)
  })
}

const roleExists = async (admin: Client, role: string): Promise<boolean> =>
  Boolean((await admin.query('select from pg_roles where rolname = $1', [role])).rowCount)

/**
 * Makes the administrator a member of the reader's role, which is required to end the role's sessions. The
 * administrator can do so at any time.
 */
const allowAdministration = (admin: Client, login: string): Promise<unknown> =>
  admin.query(`grant ${login} to current_user with inherit true, set false`)

/** SQLSTATEs of a role that another session has locked, or changes at the same time. */
const contentionStates: ReadonlySet<string> = new Set([sqlStates.lockNotAvailable, sqlStates.internalError])
const maxTries = 5

/**
 * Changes the attributes of a login. A session of the login can change its own role and so keep it locked. Then this
 * function ends the login's sessions and tries again.
 */
async function alterLogin(admin: Client, login: string, attributes: string): Promise<void> {
  await admin.query(`set lock_timeout = '1s'`)
  for (let tries = 1; ; tries += 1)
    try {
      await admin.query(`alter role ${login} with ${attributes}`)
      break
    } catch (error) {
      const isLockedBySession = contentionStates.has(sqlStateOf(error))
      if (tries === maxTries || !isLockedBySession) throw error
      await endSessions(admin, login)
    }
  await admin.query('reset lock_timeout')
}

/**
 * Returns the name of the role that may read a schema. The name contains a keyed digest of the schema's name, because
 * every login of the server can list role names. Without a key, readers of other organisations could compare the name
 * with digests of likely schema names.
 */
export function schemaRole({ key, loadPassword }: WarehouseCredentials, schema: string): string {
  const digest = createHmac('sha256', loadPassword).update(`schema role ${schema}`).digest('hex')
  return `c_${key}_s_${digest.slice(0, 16)}`
}

/**
 * Renames those roles of these schemas that an earlier version of Sluice created, in which the digest had no key. The
 * roles keep their members and grants.
 */
async function renameSchemaRoles(
  admin: Client,
  client: WarehouseCredentials,
  schemas: readonly string[],
): Promise<void> {
  for (const schema of schemas) {
    const formerRole = `c_${client.key}_s_${createHash('sha256').update(schema).digest('hex').slice(0, 16)}`
    if (await roleExists(admin, formerRole))
      await admin.query(`alter role ${formerRole} rename to ${schemaRole(client, schema)}`)
  }
}

/**
 * Divides the organisation's connections evenly among its active readers. Returns the number for each, and sets it for
 * all readers except `login`. `isActive` says whether `login` is about to be active. PostgreSQL has no connection limit
 * for a group of logins, so this is the only way to limit all readers of one organisation.
 */
async function divideConnections(admin: Client, login: string, isActive: boolean): Promise<number> {
  const { rows: otherReaders } = await admin.query<{ name: string; limit: number }>(
    `select rolname as name, rolconnlimit as limit from pg_roles where rolname ~ $1 and rolcanlogin and rolname <> $2`,
    [`^c_${keyOfReader(login)}_r_[0-9a-f]{16}$`, login],
  )
  const activeCount = otherReaders.length + (isActive ? 1 : 0)
  const connections = connectionsOf(activeCount)
  for (const { name, limit } of otherReaders)
    if (limit !== connections) await alterLogin(admin, name, `connection limit ${connections}`)
  return connections
}

/**
 * Revokes the memberships of the login in all roles except `remaining`. Returns true if it revoked any. Open
 * sessions of the login cannot prevent this.
 */
async function revokeMemberships(admin: Client, login: string, remaining: readonly string[]): Promise<boolean> {
  await allowAdministration(admin, login)
  const { rows } = await admin.query<{ name: string }>(
    `select distinct granted_role.rolname as name from pg_auth_members as membership
     join pg_roles as member on member.oid = membership.member
     join pg_roles as granted_role on granted_role.oid = membership.roleid
     where member.rolname = $1 and granted_role.rolname <> all($2)`,
    [login, remaining],
  )
  if (rows.length === 0) return false
  await admin.query(`revoke ${rows.map(({ name }) => escapeIdentifier(name)).join(', ')} from ${login}`)
  return true
}

/**
 * Grants the roles of these schemas access to all present and future tables and views. Runs as role `load`, which owns
 * the schemas.
 */
async function grantSchemas(adminUrl: string, client: WarehouseCredentials, schemas: readonly string[]): Promise<void> {
  const pool = loadPool(warehouseAccess(adminUrl, client), 1)
  try {
    for (const schema of schemas) {
      checkSchemaName(schema)
      await withClient(pool, undefined, (load) => grantSchema(load, schema, schemaRole(client, schema)))
    }
  } finally {
    await pool.end()
  }
}

/** Grants a role access to all present and future tables and views of one schema. */
async function grantSchema(load: ClientBase, schema: string, role: string): Promise<void> {
  const name = escapeIdentifier(schema)
  const grantFutureTables = [
    'begin',
    `grant usage on schema ${name} to ${role}`,
    `alter default privileges in schema ${name} grant select on tables to ${role}`,
    'commit',
  ].join(';')
  if (!(await hasDefaultPrivileges(load, schema, role)))
    await retryCollisions(() => load.query(grantFutureTables), load)
  const creators = await listCreators(load, schema)
  await grantMissing(load, schema, role)
  if (creators.length === 0) return
  // Transactions that started to create a table before the commit above may not have seen the default privileges. So
  // their tables get the grant after they have ended.
  await waitForCreators(load, schema, creators)
  await grantMissing(load, schema, role)
}

/** True if the role may use the schema, and may select from tables that `load` will create in it. */
async function hasDefaultPrivileges(load: ClientBase, schema: string, role: string): Promise<boolean> {
  const { rowCount } = await load.query(
    `select from pg_default_acl as schema_default cross join lateral aclexplode(schema_default.defaclacl) as privilege
     where schema_default.defaclnamespace = to_regnamespace($1)
       and schema_default.defaclrole = current_user::regrole and schema_default.defaclobjtype = 'r'
       and privilege.grantee = $2::regrole and privilege.privilege_type = 'SELECT'
       and has_schema_privilege($2::text, schema_default.defaclnamespace, 'usage')`,
    [escapeIdentifier(schema), role],
  )
  return rowCount !== 0
}

/**
 * Grants the role SELECT on those relations of the schema on which it lacks this right, because they are older than the
 * default privileges. Takes the same lock on a table as a publication, because a publication may alter the table.
 */
async function grantMissing(load: ClientBase, schema: string, role: string): Promise<void> {
  const { rows } = await load.query<{ place: string; lockable: boolean }>(
    // Tables, partitioned tables, views and materialised views. LOCK TABLE rejects a materialised view.
    `select format('%I.%I', schema.nspname, relation.relname) as place, relation.relkind <> 'm' as lockable
     from pg_class as relation join pg_namespace as schema on schema.oid = relation.relnamespace
     where schema.nspname = $1 and relation.relkind in ('r', 'p', 'v', 'm') and not relation.relispartition
       and pg_has_role(relation.relowner, 'usage') and not has_table_privilege($2, relation.oid, 'select')`,
    [schema, role],
  )
  for (const { place, lockable } of rows) {
    const lock = lockable ? `lock table only ${place} in share update exclusive mode;` : ''
    const statements = `begin; set local lock_timeout = '5s'; ${lock} grant select on ${place} to ${role}; commit`
    await retryCollisions(() => load.query(statements), load)
  }
}

/** Returns the transactions that are creating objects in the schema. They hold a lock on it until they end. */
async function listCreators(load: ClientBase, schema: string): Promise<string[]> {
  const { rows } = await load.query<{ transaction: string }>(
    `select distinct virtualtransaction as transaction from pg_locks
     where locktype = 'object' and classid = 'pg_namespace'::regclass and objid = to_regnamespace($1)
       and database = (select oid from pg_database where datname = current_database()) and pid <> pg_backend_pid()`,
    [escapeIdentifier(schema)],
  )
  return rows.map(({ transaction }) => transaction)
}

const creatorsTimeoutMs = 15_000
const creatorsPollMs = 100

/** Waits until these transactions have ended. Throws a retryable problem after 15 seconds. */
async function waitForCreators(load: ClientBase, schema: string, creators: readonly string[]): Promise<void> {
  const deadlineMs = performance.now() + creatorsTimeoutMs
  while (performance.now() < deadlineMs) {
    const currentCreators = await listCreators(load, schema)
    const haveEnded = creators.every((creator) => !currentCreators.includes(creator))
    if (haveEnded) return
    await sleep(creatorsPollMs)
  }
  throw busyProblem(`A load or view of "${schema}" is being published. Try again when it has ended.`)
}

/** SQLSTATEs of concurrent changes of the catalogue. */
const collisionStates: ReadonlySet<string> = new Set([
  sqlStates.internalError,
  sqlStates.deadlockDetected,
  sqlStates.uniqueViolation,
])

/**
 * Runs `grant`, and repeats it if it fails because of a concurrent change. Ignores that a relation was dropped in the
 * meantime, because then it needs no grant.
 */
async function retryCollisions(grant: () => Promise<unknown>, load: ClientBase): Promise<void> {
  for (let tries = 1; ; tries += 1)
    try {
      await grant()
      return
    } catch (error) {
      await load.query('rollback')
      const code = sqlStateOf(error)
      if (code === sqlStates.undefinedTable) return
      const mayTryAgain = tries < maxTries && collisionStates.has(code)
      if (!mayTryAgain) throw error
    }
}

/**
 * Drops the login, and the objects and default privileges that belong to it, which would prevent the drop. A reader
 * owns no objects, but its sessions can set default privileges. Does nothing if the login does not exist.
 */
async function dropReader(adminUrl: string, login: string): Promise<void> {
  const key = keyOfReader(login)
  await withAdmin(adminUrl, async (admin) => {
    await lockWarehouse(admin, key)
    if (!(await roleExists(admin, login))) return
    await revokeMemberships(admin, login, [])
    // Ends sessions that could lock the role.
    await endSessions(admin, login)
    await alterLogin(admin, login, 'nologin')
    // Ends sessions that started before `nologin`.
    await endSessions(admin, login)
    const { database } = namesOf(key)
    const { rowCount: databaseCount } = await admin.query('select from pg_database where datname = $1', [database])
    if (databaseCount)
      await withAdmin(withDatabase(adminUrl, database), (client) => client.query(`drop owned by ${login}`))
    await admin.query(`drop role ${login}`)
    await divideConnections(admin, login, false)
  })
}

/** Ends all sessions of a login and waits up to two seconds for each. */
const endSessions = (admin: Client, login: string): Promise<unknown> =>
  admin.query('select pg_terminate_backend(pid, 2000) from pg_stat_activity where usename = $1', [login])

/** Takes the lock that `provisionWarehouse` takes too. It is held until the connection is closed. */
const lockWarehouse = (admin: Client, key: string): Promise<unknown> =>
  admin.query('select pg_advisory_lock(hashtext($1))', [`sluice warehouse ${key}`])

/**
 * Runs `work` with an administrator's connection, which is closed afterwards. Converts errors of the server to
 * `WarehouseProblem`s.
 */
async function withAdmin<T>(url: string, work: (admin: Client) => Promise<T>): Promise<T> {
  const admin = adminClient(url)
  try {
    await admin.connect()
    return await work(admin)
  } catch (error) {
    if (sqlStateOf(error) === sqlStates.lockNotAvailable)
      throw busyProblem('Another process is changing the warehouse. Try again in a moment.', { cause: error })
    throw warehouseProblem(error, { qualifiedName: 'the warehouse' })
  } finally {
    await endAdmin(admin)
  }
}
