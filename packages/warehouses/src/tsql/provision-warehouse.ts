import type { Connection } from 'tedious'
import { plainSql } from '../sql-warehouse/sql-statement.ts'
import type { ClientAccess, DatabaseLogin } from './tsql-settings.ts'
import { viewOwner } from './statements/tsql-statements.ts'
import { openConnection } from './session/connect.ts'
import { quoteIdentifier, formatLiteral } from './sql-identifiers.ts'
import { errorNumbers, hasErrorNumber } from './map-server-errors.ts'
import { sendRequest } from './session/send-request.ts'

/**
 * Returns a statement that runs only if the condition is true. The inner statement is a string, because the server
 * would otherwise compile it even if the condition is false.
 */
const conditionalStatement = (condition: string, statement: string): string =>
  `if ${condition} exec(${formatLiteral(statement)})`

type RunStatement = (text: string) => Promise<void>
/** Runs a query that returns one row with one column, and returns this value. */
type QueryScalar = (text: string) => Promise<unknown>

/**
 * Runs `callback` with a connection for this login, which is closed afterwards. `callback` receives two functions that
 * run statements on the connection.
 */
export async function withConnection<Result>(
  login: DatabaseLogin,
  callback: (run: RunStatement, queryScalar: QueryScalar) => Promise<Result>,
): Promise<Result> {
  const connection: Connection = await openConnection(login)
  try {
    const queryScalar: QueryScalar = async (text) => {
      let value: unknown
      await sendRequest(connection, plainSql(text), {}, { row: ([cell]) => void (value = cell?.value) }).completion
      return value
    }
    return await callback((text) => sendRequest(connection, plainSql(text), {}).completion, queryScalar)
  } finally {
    connection.close()
  }
}

/**
 * Creates or repairs the organisation's database, its logins and the hidden schema. Creates no database if the
 * organisation has only schemas in an existing one. Idempotent. A login gets rights only on the organisation's schemas,
 * when each schema is created. Returns `ownedViews`: true if views can belong to a user without rights. Babelfish,
 * which tests use, does not support such users.
 */
export async function provisionSqlServer(access: ClientAccess): Promise<{ ownedViews: boolean }> {
  const { database, ledger, key } = access
  const users = [access.logins.load, access.logins.read]
  await withConnection(access.master, async (run) => {
    if (access.ownDatabase) {
      await run(
        conditionalStatement(
          `db_id(${formatLiteral(database)}) is null`,
          `create database ${quoteIdentifier(database)}`,
        ),
      )
    }
    for (const login of users) await createOrAlterLogin(run, login)
  })
  return withConnection(access.logins.service, async (run, queryScalar) => {
    const isBabelfish = Boolean(await queryScalar(`select cast(serverproperty('babelfish') as int) as value`))
    const ownedViews = !isBabelfish
    for (const login of users) await createOrAlterUser(run, login)
    if (ownedViews)
      await run(
        conditionalStatement(
          `user_id(${formatLiteral(viewOwner(key))}) is null`,
          `create user ${quoteIdentifier(viewOwner(key))} without login`,
        ),
      )
    await run(
      conditionalStatement(`schema_id(${formatLiteral(ledger)}) is null`, `create schema ${quoteIdentifier(ledger)}`),
    )
    return { ownedViews }
  })
}

/** Creates a login of the server. An existing login gets the current password. */
async function createOrAlterLogin(run: RunStatement, { user, password }: DatabaseLogin): Promise<void> {
  const userWithPassword = `${quoteIdentifier(user)} with password = ${formatLiteral(password)}`
  await run(`create login ${userWithPassword}`).catch((error: unknown) => {
    if (!hasErrorNumber(error, errorNumbers.loginExists)) throw error
    return run(`alter login ${userWithPassword}`)
  })
}

/** Creates the database's user for a login. An existing user is assigned to the login. */
async function createOrAlterUser(run: RunStatement, { user }: DatabaseLogin): Promise<void> {
  const quotedUser = quoteIdentifier(user)
  await run(`create user ${quotedUser} for login ${quotedUser}`).catch((error: unknown) => {
    if (!hasErrorNumber(error, errorNumbers.userExists)) throw error
    return run(`alter user ${quotedUser} with login = ${quotedUser}`)
  })
}
