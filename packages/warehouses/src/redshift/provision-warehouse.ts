import { Client, type DatabaseError } from 'pg'
import type { ClientAccess } from './redshift-settings.ts'
import { lockTable } from './redshift-statements.ts'
import { clientConfig } from './connections.ts'
import { ledgerSchema, redshiftNames, stringLiteral } from './sql-identifiers.ts'

/** Matches the server's errors for concurrent identical statements, of which only one succeeds. */
const concurrentStatement = /concurrently updated|duplicate key|conflict with concurrent transaction/i
/** SQLSTATEs for a user, database, schema or table that already exists. */
const alreadyExistsStates = new Set(['42710', '42P04', '42P06', '42P07'])

/**
 * Creates or repairs the organisation's database, its two users and the hidden schema. Idempotent. Denies the users the
 * cluster's IAM roles, because with such a role users' SQL could read and write buckets.
 */
export async function provisionRedshift(access: ClientAccess): Promise<void> {
  const { database, logins } = access
  const { quoted } = redshiftNames
  await withConnection(access, access.adminDatabase, async (runIgnoringExisting) => {
    for (const { user, password } of [logins.load, logins.read]) {
      // An existing user gets the current password from the second statement.
      await runIgnoringExisting(`create user ${quoted(user)} password ${stringLiteral(password)}`)
      await runIgnoringExisting(`alter user ${quoted(user)} password ${stringLiteral(password)}`)
    }
    await runIgnoringExisting('revoke assumerole on all from public for all')
    await runIgnoringExisting(`create database ${quoted(database)}`)
    await runIgnoringExisting(`revoke temporary on database ${quoted(database)} from public`)
  })
  await withConnection(access, database, async (runIgnoringExisting) => {
    await runIgnoringExisting('revoke all on schema public from public')
    await runIgnoringExisting(`create schema ${quoted(ledgerSchema)}`)
    // Publications lock this table, which stays empty.
    await runIgnoringExisting(`create table ${redshiftNames.ledger(lockTable)} (turn integer)`)
  })
}

/** Runs a statement. Ignores the error for an object that already exists or that a concurrent statement creates. */
type RunIgnoringExisting = (statement: string) => Promise<void>

/** Connects to this database as Sluice's user, runs `callback` and closes the connection. */
async function withConnection(
  access: ClientAccess,
  database: string,
  callback: (runIgnoringExisting: RunIgnoringExisting) => Promise<void>,
) {
  const client = new Client(clientConfig(access, 'service', database))
  client.on('error', () => {})
  await client.connect()
  try {
    await callback(async (statement) => {
      await client.query(statement).catch((error: DatabaseError) => {
        if (!isAlreadyCreated(error)) throw error
      })
    })
  } finally {
    await client.end().catch(() => {})
  }
}

const isAlreadyCreated = ({ code = '', message }: DatabaseError): boolean =>
  alreadyExistsStates.has(code) || concurrentStatement.test(message)
