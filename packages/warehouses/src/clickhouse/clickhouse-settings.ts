import { createHmac } from 'node:crypto'
import { type ServerAccess, ClickHouseError, executeStatement, rowsOf } from './protocol/http-client.ts'
import {
  ledgerDatabase,
  formatLiteral,
  quoteIdentifier,
  runPrefix,
  schemaPrefix,
  shownPrefix,
} from './sql-identifiers.ts'
import { warehouseProblem } from './map-server-errors.ts'

/**
 * One organisation's access to a server. Sluice's own statements run as `service`; users' statements run as `load` or
 * `read`.
 */
export interface ClientAccess {
  /** The organisation's short name in the warehouse: lower-case letters and digits. */
  key: string
  /** The operator's user: creates databases, users and grants, loads rows and publishes tables. */
  service: ServerAccess
  /** The user for transformations and views: writes to this organisation's staging tables and reads its schemas. */
  load: ServerAccess
  /** The user for checks, previews and queries: reads this organisation's schemas and nothing else on the server. */
  read: ServerAccess
}

/** The server's memory limit for one query of a user, in gigabytes. */
const queryMemory = 4
/** The server's memory limit for all concurrent queries of one user, in gigabytes. */
const userMemory = 4 * queryMemory
/**
 * The longest time limit, in seconds, that a statement can set for itself. Merges and publications need such long
 * limits.
 */
export const maxStatementSeconds = 604_800

/** Throws if the server does not respond within 2 s or rejects the administrator's credentials. */
export async function assertAnswers(url: string): Promise<void> {
  await executeStatement(serviceAccess(url), 'select 1', { signal: AbortSignal.timeout(2_000) })
}

/**
 * Returns the server address, users and passwords of an organisation. The ClickHouse passwords are derived from the
 * organisation's passwords in other warehouses, and do not reveal those.
 */
export function clickhouseAccess(
  url: string,
  { key, loadPassword, readPassword }: { key: string; loadPassword: string; readPassword: string },
): ClientAccess {
  const service = serviceAccess(url)
  const derivePassword = (password: string) => createHmac('sha256', password).update('clickhouse').digest('base64url')
  return {
    key,
    service,
    load: { url: service.url, user: `c_${key}_load`, password: derivePassword(loadPassword) },
    read: { url: service.url, user: `c_${key}_read`, password: derivePassword(readPassword) },
  }
}

/** Splits the operator's URL into the server address and the user and password that it contains. */
export function serviceAccess(operatorUrl: string): ServerAccess {
  const url = new URL(operatorUrl)
  const user = decodeURIComponent(url.username) || 'default'
  const password = decodeURIComponent(url.password)
  url.username = ''
  url.password = ''
  return { url: url.href, user, password }
}

const publicationStateType = `Enum8('PROPOSED' = 1, 'PUBLISHED' = 2, 'CLOSING' = 3, 'CLOSED' = 4)`
const ledgerTableDefinition = `(
  publication String, state ${publicationStateType}, run String, attempt Int32, schema String, table String,
  load String, base String, entry String, at DateTime64(6, 'UTC') default now64(6)
) engine = MergeTree order by (run, schema, table) settings fsync_after_insert = 1, fsync_part_directory = 1`

/**
 * Returns the limits of a database user as SQL settings. `seconds` is the default time limit of a statement and
 * `maxSeconds` the longest that it can set. Every limit has a minimum of 1, because 0 would mean unlimited.
 */
export function formatUserLimits(seconds = 30, maxSeconds = maxStatementSeconds): string {
  const limit = (setting: string, value: number, maximum = value) => `${setting} = ${value} min 1 max ${maximum}`
  return [
    limit('max_memory_usage', queryMemory * 1024 ** 3),
    limit('max_memory_usage_for_user', userMemory * 1024 ** 3),
    limit('max_execution_time', seconds, maxSeconds),
  ].join(', ')
}

/**
 * Settings that forbid a user to create a table with its own disk. Otherwise a disk definition could make the server
 * send requests to any host.
 */
const diskRestriction = ', merge_tree_disk const, merge_tree_storage_policy const'

/**
 * Creates or repairs the organisation's ledger (Sluice's own table of loads) and users. Idempotent. The limits are
 * properties of the users, so SETTINGS at the end of a query cannot raise them. Only the service user may read data
 * outside the organisation's databases.
 */
export async function provisionClickHouse(access: ClientAccess): Promise<void> {
  const { service, load, read } = access
  try {
    await ensureLedger(access)
    await ensureUser(service, load)
    await applyUserSettings(service, load, diskRestriction).catch(async (error: unknown) => {
      // Some servers do not support restrictions on table settings. The user then has no such restriction.
      if (!(error instanceof ClickHouseError)) throw error
      await applyUserSettings(service, load, '')
    })
    await ensureUser(service, read)
    // The user `read` may pass settings with a query within the limits, but cannot change data.
    await applyUserSettings(service, read, ', readonly = 2 readonly, allow_ddl = 0 readonly')
    await grantRights(access)
  } catch (error) {
    throw warehouseProblem(error, 'the warehouse')
  }
}

/** Creates the ledger's database and table. Adds missing states to the `state` column of an older ledger. */
async function ensureLedger({ key, service }: ClientAccess): Promise<void> {
  const database = quoteIdentifier(ledgerDatabase(key))
  await executeStatement(service, `create database if not exists ${database}`)
  await executeStatement(service, `create table if not exists ${database}.ledger ${ledgerTableDefinition}`)
  const [stateColumn] = await rowsOf<{ type: string }>(
    service,
    `select type from system.columns where database = {database:String} and table = 'ledger' and name = 'state'`,
    { parameters: { database: ledgerDatabase(key) } },
  )
  const hasAllStates = stateColumn?.type.includes('CLOSED')
  if (!hasAllStates)
    await executeStatement(service, `alter table ${database}.ledger modify column state ${publicationStateType}`)
}

/** Creates the user with its password if it is missing. */
async function ensureUser(service: ServerAccess, { user, password }: ServerAccess): Promise<void> {
  await executeStatement(
    service,
    `create user if not exists ${quoteIdentifier(user)} ${formatPasswordClause(password)}`,
  )
}

/** Sets the password of an existing user, its limits and `extraSettings` (SQL after the limits). */
async function applyUserSettings(
  service: ServerAccess,
  { user, password }: ServerAccess,
  extraSettings: string,
): Promise<void> {
  const settings = `${formatUserLimits()}${extraSettings}`
  await executeStatement(
    service,
    `alter user ${quoteIdentifier(user)} ${formatPasswordClause(password)} settings ${settings}`,
  )
}

const formatPasswordClause = (password: string): string =>
  `identified with sha256_password by ${formatLiteral(password)}`

const writePrivileges = 'insert, alter, create table, create view, drop table, drop view, truncate, optimize'

/**
 * Lets the users `load` and `read` read the organisation's databases, and lets `load` write to those of runs and
 * previews. A grant on `<prefix>*` covers all present and future databases with the prefix.
 */
async function grantRights({ key, service, load, read }: ClientAccess): Promise<void> {
  const stagingPrefixes = [runPrefix(key), shownPrefix(key)]
  const tablesIn = (databasePrefix: string) => `${quoteIdentifier(databasePrefix)}*.*`
  for (const { user } of [load, read])
    for (const prefix of [schemaPrefix(key), ...stagingPrefixes])
      await executeStatement(service, `grant select, show on ${tablesIn(prefix)} to ${quoteIdentifier(user)}`)
  const loadUser = quoteIdentifier(load.user)
  // Some servers require this grant before a table is created.
  await executeStatement(service, `grant table engine on MergeTree to ${loadUser}`)
  for (const prefix of stagingPrefixes)
    await executeStatement(service, `grant ${writePrivileges} on ${tablesIn(prefix)} to ${loadUser}`)
}
