import { Client, type DatabaseError } from 'pg'
import type { ClientAccess } from './redshift-settings.ts'
import { lockTable } from './redshift-statements.ts'
import { clientConfig } from './connections.ts'
import { ledgerSchema, redshiftNames, stringLiteral } from './names.ts'

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
  await withConnection(access, access.adminDatabase, async (run) => {
    for (const { user, password } of [logins.load, logins.read]) {
      // `run` ignores the error for an existing user, who then gets the current password.
      await run(`create user ${quoted(user)} password ${stringLiteral(password)}`)
      await run(`alter user ${quoted(user)} password ${stringLiteral(password)}`)
    }
    await run('revoke assumerole on all from public for all')
    await run(`create database ${quoted(database)}`)
    await run(`revoke temporary on database ${quoted(database)} from public`)
  })
  await withConnection(access, database, async (run) => {
    await run('revoke all on schema public from public')
    await run(`create schema ${quoted(ledgerSchema)}`)
    await run(`create table ${redshiftNames.ledger(lockTable)} (turn integer)`)
  })
}

/**
 * Runs a statement. If the object already exists, or if a concurrent identical statement succeeds, this counts as
 * success.
 */
type RunStatement = (statement: string) => Promise<void>

/** Runs `callback` with a function that runs statements in this database, on a connection that is closed afterwards. */
async function withConnection(access: ClientAccess, database: string, callback: (run: RunStatement) => Promise<void>) {
  const client = new Client(clientConfig(access, 'service', database))
  client.on('error', () => {})
  await client.connect()
  try {
    await callback(async (statement) => {
      await client.query(statement).catch((error: DatabaseError) => {
        if (!alreadyExistsStates.has(error.code ?? '') && !concurrentStatement.test(error.message)) throw error
      })
    })
  } finally {
    await client.end().catch(() => {})
  }
}
