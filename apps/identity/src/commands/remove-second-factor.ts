import { sql, type Kysely } from 'kysely'
import { recordAudit } from '@sluice/database'
import { StartProblem } from '@sluice/process'
import type { DB } from '../database.ts'
import { removeSecondFactor } from '../sign-in/second-factor/second-factor.ts'
import { toSkeleton } from '../sign-in/username.ts'

/**
 * Removes a user's second factor for the operator's command. The last super admin needs this, because no other user may
 * manage that account. Returns false if the user had no second factor.
 */
export async function removeSecondFactorOf(db: Kysely<DB>, username: string): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ id: number; uid: string; client: string }>`
      select id, uid, client from users where username_skeleton = ${toSkeleton(username)} for update`.execute(trx)
    const user = rows[0]
    if (!user) throw new StartProblem(`The user "${username}" does not exist. Check the username.`)
    const before = await removeSecondFactor(trx, user.id)
    await recordAudit(trx, {
      operation: 'users.removeSecondFactor',
      actor: null,
      client: user.client,
      object: user.uid,
      requestId: 'remove-second-factor',
      address: 'local',
      details: { before: { twoFactorAuth: before }, after: { twoFactorAuth: false } },
    })
    return before
  })
}
