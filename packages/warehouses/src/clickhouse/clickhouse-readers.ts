import { createHash } from 'node:crypto'
import {
  assertReaderLogin,
  keyOfReader,
  newReaderPassword,
  readerLimits,
  readerLoginPattern,
  type ReaderDefinition,
  type ReaderServer,
  type ReaderState,
} from '../warehouse-reader-logins.ts'
import { formatUserLimits, serviceAccess } from './clickhouse-settings.ts'
import { databaseOf, formatLiteral, quoteIdentifier } from './sql-identifiers.ts'
import { warehouseProblem } from './map-server-errors.ts'
import { executeStatement, rowsOf, type ServerAccess } from './protocol/http-client.ts'
import type { WarehouseCredentials } from '../warehouse.ts'

/**
 * Manages the readers of a ClickHouse server: users of BI tools who may select from the databases of their schemas.
 * Grants cover whole databases, so new tables need no further grant. Views run with the rights of the reading user, so
 * a reader of a view also needs access to the schemas that the view reads.
 */
export function clickHouseReaders(url: string): ReaderServer {
  const service = serviceAccess(url)
  return {
    define: (client, reader, password) => withTranslatedErrors(() => defineReader(service, client, reader, password)),
    async drop(login) {
      assertReaderLogin(login)
      await withTranslatedErrors(async () => {
        await executeStatement(service, `drop user if exists ${quoteIdentifier(login)}`)
        await endQueries(service, login)
      })
    },
    observe: () => withTranslatedErrors(() => observeReaders(service)),
  }
}

/**
 * See `ReaderServer.define`. Creates the user if it is missing, sets its password and limits, and grants or revokes
 * access to databases. An inactive user keeps no grant and may connect from no host.
 */
async function defineReader(
  service: ServerAccess,
  { key }: WarehouseCredentials,
  { login, schemas, active }: ReaderDefinition,
  password: string | undefined,
): Promise<void> {
  if (keyOfReader(login) !== key) throw new Error(`${login} is not a reader of ${key}.`)
  const user = quoteIdentifier(login)
  // A new user needs a password, so it gets a random one if the caller sets none.
  await executeStatement(
    service,
    `create user if not exists ${user} ${buildPasswordClause(password ?? newReaderPassword())}`,
  )
  const passwordChange = password === undefined ? '' : ` ${buildPasswordClause(password)}`
  await executeStatement(
    service,
    `alter user ${user}${passwordChange} host ${active ? 'any' : 'none'} settings ${readerSettings}`,
  )
  const allowedDatabases = new Set(active ? schemas.map((schema) => databaseOf({ key, schema })) : [])
  const grantedDatabases = await readGrantedDatabases(service, login)
  for (const database of allowedDatabases.difference(grantedDatabases))
    await executeStatement(service, `grant select, show on ${quoteIdentifier(database)}.* to ${user}`)
  const revokedDatabases = grantedDatabases.difference(allowedDatabases)
  for (const database of revokedDatabases)
    await executeStatement(service, `revoke select, show on ${quoteIdentifier(database)}.* from ${user}`)
  const mustEndQueries = revokedDatabases.size > 0 || !active || password !== undefined
  if (mustEndQueries) await endQueries(service, login)
}

/**
 * Returns the SQL that sets a password. It contains a hash, so that no server log contains the password. The password
 * has 256 random bits and needs no salt.
 */
function buildPasswordClause(password: string): string {
  const hash = createHash('sha256').update(password).digest('hex')
  return `identified with sha256_hash by '${hash}'`
}

/**
 * Limits of a reader. Readers may pass settings with a query, as drivers do, but cannot exceed these limits or change
 * data.
 */
const readerSettings = [
  formatUserLimits(readerLimits.statementSeconds, readerLimits.statementSeconds),
  `max_concurrent_queries_for_user = ${readerLimits.connections} min 1 max ${readerLimits.connections}`,
  'readonly = 2 readonly',
  'allow_ddl = 0 readonly',
].join(', ')

/** Returns the databases from which a reader's user may select. */
async function readGrantedDatabases(service: ServerAccess, login: string): Promise<Set<string>> {
  const rows = await rowsOf<{ database: string }>(
    service,
    `select distinct database from system.grants where user_name = {login:String} and access_type = 'SELECT' and database is not null`,
    { parameters: { login } },
  )
  return new Set(rows.map(({ database }) => database))
}

/** Cancels the running queries of a reader. Does not wait for them to end. */
const endQueries = (service: ServerAccess, login: string): Promise<unknown> =>
  executeStatement(service, `kill query where user = ${formatLiteral(login)} async`)

/** Returns each reader's login, number of running queries, and whether it may connect from any host (`active`). */
async function observeReaders(service: ServerAccess): Promise<ReaderState[]> {
  // The left join fills `running.user` with an empty text if no query runs, so `countIf` does not count that row.
  const rows = await rowsOf<{ login: string; active: number; sessions: number }>(
    service,
    `select reader.name as login, notEmpty(any(reader.host_ip)) as active,
       toUInt32(countIf(running.user = reader.name)) as sessions
     from system.users as reader left join system.processes as running on running.user = reader.name
     where match(reader.name, {pattern:String}) group by reader.name`,
    { parameters: { pattern: readerLoginPattern } },
  )
  return rows.map(({ login, active, sessions }) => ({ login, active: Boolean(active), sessions }))
}

async function withTranslatedErrors<T>(callback: () => Promise<T>): Promise<T> {
  try {
    return await callback()
  } catch (error) {
    throw warehouseProblem(error, 'the warehouse')
  }
}
