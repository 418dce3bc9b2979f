import type { UserBody } from '@sluice/contracts'
import { checkPassword, hashPassword } from '../../sign-in/password.ts'
import { clientFor } from '../clients/client-for.ts'
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
    await replaceGroups(trx, caller, made, body.userGroups)
    request.audit(made.uid, { after: auditedOf(made) })
    return made
  })
}
