import type { OpenSession } from '@sluice/contracts'
import { problems, type Caller } from '@sluice/http-server'
import { endOtherSessions, endOwnSession, listSessions, type FoundSession } from '../../sign-in/sessions/sessions.ts'
import { isUid } from '../../is-uid.ts'
import type { IdentityRequestContext } from '../operation-context.ts'
import { lockOwnUser, readOwnUser } from './prove-identity.ts'

export const presentSession =
  (caller: Pick<Caller, 'session'>) =>
  (row: FoundSession): OpenSession => ({
    id: row.uid,
    created: row.created_at.toISOString(),
    lastUsed: row.last_used_at.toISOString(),
    expires: row.expires_at.toISOString(),
    address: row.address,
    userAgent: row.user_agent,
    current: row.uid === caller.session,
    applications: row.applications,
  })

/** Returns the caller's open sessions, last used first. */
export async function listOwnSessions({ db, caller }: IdentityRequestContext): Promise<OpenSession[]> {
  const { id } = await readOwnUser(db, caller)
  return (await listSessions(db, id)).map(presentSession(caller))
}

/** Ends one of the caller's sessions, possibly the current one. */
export async function endOneSession(uid: string, { write, caller, request }: IdentityRequestContext): Promise<void> {
  await write(async (trx) => {
    const { id } = await lockOwnUser(trx, caller)
    if (!isUid(uid) || !(await endOwnSession(trx, id, uid))) throw problems.notFound('open session')
    request.audit(caller.uid, { session: uid })
  })
}

/** Ends all of the caller's sessions except the current one. */
export async function endOwnOtherSessions({ write, caller, request }: IdentityRequestContext): Promise<void> {
  await write(async (trx) => {
    const { id } = await lockOwnUser(trx, caller)
    request.audit(caller.uid, { ended: await endOtherSessions(trx, id, caller.session) })
  })
}
