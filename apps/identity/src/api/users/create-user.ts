import { sql, type Transaction } from 'kysely'
import { holds, type UserBody } from '@sluice/contracts'
import { problems, type Caller } from '@sluice/http'
import type { DB } from '../../database.ts'
import { checkPassword, hashPassword } from '../../sign-in/password.ts'
import type { Asked } from '../operation.ts'
import { auditedOf, userColumns } from './columns.ts'
import { replaceGroups } from './groups.ts'
import { userRecords } from './records.ts'
import type { UserRow } from './row.ts'
import { demandGrantable, demandPasswordAllowed } from './rules.ts'

/** Makes a user: ACTIVE with a password or single sign-on, else INVITATION, who cannot sign in yet. */
export async function createUser(body: UserBody, { write, caller, config, request }: Asked): Promise<UserRow> {
  demandGrantable(caller, body.auths ?? [])
  demandPasswordAllowed(body, false, config.ADMIN_SETS_PASSWORDS)
  const columns = userColumns(body)
  if (body.password !== undefined) checkPassword(body.password)
  const hash = body.password === undefined ? null : await hashPassword(body.password)

  return write(async (trx) => {
    const made = await userRecords.insert(trx, caller, {
      ...columns,
      client: await clientFor(trx, caller, body.client?.id),
      password_hash: hash,
      status: hash !== null || body.ssoAuth ? 'ACTIVE' : 'INVITATION',
    })
    await replaceGroups(trx, made, body.userGroups)
    request.audit(made.uid, { after: auditedOf(made) })
    return made
  })
}

/** One's own client, or for a super admin any that there is. Of others, nobody learns whether they exist. */
async function clientFor(trx: Transaction<DB>, caller: Caller, wanted = caller.client): Promise<string> {
  const client = wanted.toLowerCase()
  if (client === caller.client) return client
  const { rows } = holds(caller.roles, 'ROLE_SUPER_ADMIN')
    ? await sql`select from clients where uid = ${client} for key share`.execute(trx)
    : { rows: [] }
  if (rows.length === 0) throw problems.refused('/client/id', 'There is no such client.')
  return client
}
