import type { Connection } from 'tedious'
import { plainSql } from '../sql-warehouse/sql-statement.ts'
import type { ClientAccess, DatabaseLogin } from './tsql-settings.ts'
import { viewOwner } from './statements/tsql-statements.ts'
import { connected } from './session/connect.ts'
import { bracketed, literal } from './names.ts'
import { isNumber, numbers } from './problems.ts'
import { send } from './session/send-request.ts'

const unless = (condition: string, statement: string): string => `if ${condition} exec(${literal(statement)})`

type RunStatement = (text: string) => Promise<void>
/** Runs a query and returns its single value. */
type Ask = (text: string) => Promise<unknown>

export async function on<Result>(
  login: DatabaseLogin,
  work: (run: RunStatement, ask: Ask) => Promise<Result>,
): Promise<Result> {
  const connection: Connection = await connected(login)
  try {
    const ask: Ask = async (text) => {
      let found: unknown
      await send(connection, plainSql(text), {}, { row: ([cell]) => void (found = cell?.value) }).done
      return found
    }
    return await work((text) => send(connection, plainSql(text), {}).done, ask)
  } finally {
    connection.close()
  }
}

/**
 * Creates or repairs the client's database (or its part of one), its logins and the hidden schema. Idempotent. The rights of a
 * login are granted with each schema; it has no rights beyond its own schemas. Returns whether views can belong to a user without
 * rights: Babelfish, which the tests use, does not support such users.
 */
export async function provisionSqlServer(access: ClientAccess): Promise<{ ownedViews: boolean }> {
  const { database, ledger, key } = access
  const users = [access.logins.load, access.logins.read]
  await on(access.master, async (run) => {
    if (access.ownDatabase) {
      await run(unless(`db_id(${literal(database)}) is null`, `create database ${bracketed(database)}`))
    }
    for (const { user, password } of users) {
      const identified = `${bracketed(user)} with password = ${literal(password)}`
      await run(`create login ${identified}`).catch((error: unknown) => {
        if (!isNumber(error, numbers.loginExists)) throw error
        return run(`alter login ${identified}`)
      })
    }
  })
  return on(access.logins.service, async (run, ask) => {
    const ownedViews = !(await ask(`select cast(serverproperty('babelfish') as int) as found`))
    for (const { user } of users)
      await run(`create user ${bracketed(user)} for login ${bracketed(user)}`).catch((error: unknown) => {
        if (!isNumber(error, numbers.userExists)) throw error
        return run(`alter user ${bracketed(user)} with login = ${bracketed(user)}`)
      })
    if (ownedViews)
      await run(
        unless(`user_id(${literal(viewOwner(key))}) is null`, `create user ${bracketed(viewOwner(key))} without login`),
      )
    await run(unless(`schema_id(${literal(ledger)}) is null`, `create schema ${bracketed(ledger)}`))
    return { ownedViews }
  })
}
