import { sql } from 'kysely'
import type { ProofBody } from '@sluice/contracts'
import { problems } from '@sluice/http'
import type { Asked } from '../operation.ts'
import { lockOwnUser, readOwnUser } from './own-user.ts'
import { prove, type Proven } from './proof.ts'

/** Minutes. */
const fresh = 15

/**
 * Has the user who asks prove again who they are, as `prove` does. Whoever signs in through their organisation and has no
 * second factor here has nothing to prove it with: they must have signed in just now. Throws 422 besides what `prove` throws.
 */
export async function proveOrFresh({ password, code }: Partial<ProofBody>, input: Asked): Promise<Proven> {
  const { db, caller } = input
  const own = await readOwnUser(db, caller)
  const canProve = own.two_factor_auth || (!own.sso_auth && own.password_hash !== null)
  if (canProve && password === undefined && code === undefined)
    throw problems.refused('/password', 'Prove that it is you: with your password, or a code of your second factor.')
  if (canProve)
    return prove({ ...(password !== undefined && { password }), ...(code !== undefined && { code }) }, input)
  const { rows } = await sql`
    select from sessions
    where uid = ${caller.session} and created_at > now() - make_interval(mins => ${fresh})`.execute(db)
  if (rows.length === 0)
    throw problems.refused('/', `You signed in more than ${fresh} minutes ago: sign in again, then do this.`)
  return (trx) => lockOwnUser(trx, caller)
}
