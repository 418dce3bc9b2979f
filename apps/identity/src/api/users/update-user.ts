import type { Transaction } from 'kysely'
import type { User, UserBody } from '@sluice/contracts'
import { problems, type Answer } from '@sluice/http'
import type { DB } from '../../database.ts'
import { checkPassword, hashPassword } from '../../sign-in/password.ts'
import { endSessionsOfUser } from '../../sign-in/sessions.ts'
import { canAdminister, keepingASuperAdmin } from '../../super-admins.ts'
import type { Asked } from '../operation.ts'
import { auditedOf, userColumns } from './columns.ts'
import { replaceGroups } from './groups.ts'
import { userRecords } from './records.ts'
import type { UserRow } from './row.ts'
import { demandGrantable, demandPasswordAllowed, demandPowerOver } from './rules.ts'

/** Replaces a user. The answer says which roles there were before. */
export async function updateUser(uid: string, body: UserBody, input: Asked): Promise<Answer<User>> {
  const { db, write, caller, config, request } = input
  // Before the costly hash, and again under the lock.
  const seen = await userRecords.read(db, caller, uid)
  demandPowerOver(caller, seen)
  demandGrantable(caller, body.auths ?? [])
  demandPasswordAllowed(body, seen.uid === caller.uid, config.ADMIN_SETS_PASSWORDS)
  if (body.password !== undefined) checkPassword(body.password)
  const hash = body.password === undefined ? undefined : await hashPassword(body.password)

  const { before, after } = await write(async (trx) => {
    const before = await userRecords.lock(trx, caller, uid, request.ifMatch)
    demandPowerOver(caller, before)
    if (body.client && body.client.id.toLowerCase() !== before.client)
      throw problems.refused('/client/id', 'A user stays with their client: make a new one there.')
    const columns = { ...userColumns(body), ...credentials(before, body, hash) }
    const change = () => userRecords.update(trx, caller, before, columns)
    const after = losesPower(before, columns) ? await keepingASuperAdmin(trx, faultOf(body), change) : await change()
    await replaceGroups(trx, caller, after, body.userGroups)
    await endWhatNoLongerHolds(trx, before, after)
    request.audit(before.uid, { before: auditedOf(before), after: auditedOf(after) })
    return { before, after }
  })
  const answer = await userRecords.answer(after, input)
  answer.body.existingAuths = before.roles
  return answer
}

/** Single sign-on and a password exclude each other; whoever is invited becomes active with their first password. */
function credentials({ status, password_hash }: UserRow, { ssoAuth }: UserBody, hash: string | undefined) {
  const password = ssoAuth ? null : (hash ?? password_hash)
  const usable = ssoAuth || password !== null
  return { password_hash: password, status: status === 'INVITATION' && usable ? 'ACTIVE' : status }
}

/** With the role, or with the password that is the only way in. */
const losesPower = (before: UserRow, columns: Pick<UserRow, 'roles' | 'password_hash' | 'status'>): boolean =>
  canAdminister(before) && !canAdminister({ ...before, ...columns })

const faultOf = ({ auths = [] }: UserBody) => (auths.includes('ROLE_SUPER_ADMIN') ? '/ssoAuth' : '/auths')

async function endWhatNoLongerHolds(trx: Transaction<DB>, before: UserRow, after: UserRow): Promise<void> {
  const lost = before.roles.some((role) => !after.roles.includes(role))
  const credentialsChanged = before.password_hash !== after.password_hash || before.sso_auth !== after.sso_auth
  if (lost || credentialsChanged || before.status !== after.status) await endSessionsOfUser(trx, before.id)
}
