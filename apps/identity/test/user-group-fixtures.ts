import { randomBytes, randomUUID } from 'node:crypto'
import { sql, type Kysely } from 'kysely'
import type { UserGroupBody } from '@sluice/contracts'
import type { DB } from '../src/database.ts'

/** A valid body for a user group, with a unique code. */
export function userGroupBody(changes: Partial<UserGroupBody> = {}): UserGroupBody {
  const code = randomBytes(6).toString('hex')
  return { name: `Team ${code}`, code, ...changes }
}

export async function insertUserGroup(
  db: Kysely<DB>,
  client: string,
  changes: Partial<UserGroupBody> = {},
): Promise<string> {
  const uid = randomUUID()
  const { name, code } = userGroupBody(changes)
  await sql`insert into user_groups (uid, client, name, code) values (${uid}, ${client}, ${name}, ${code})`.execute(db)
  return uid
}
