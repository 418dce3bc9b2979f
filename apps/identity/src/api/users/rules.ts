import type { UserBody } from '@sluice/contracts'
import { problems, type Caller } from '@sluice/http'
import { rolesLacked } from '../roles-lacked.ts'
import type { UserRow } from './row.ts'

/** Nobody edits or removes someone who can do what they cannot. */
export function demandPowerOver(caller: Caller, user: Pick<UserRow, 'roles'>): void {
  const lacked = rolesLacked(caller, user.roles)
  if (lacked.length > 0) throw problems.forbidden(`This user holds what you do not: ${lacked.join(', ')}.`)
}

/** Passwords of others, where the deployment lets administrators choose them. Not beside single sign-on. */
export function demandPasswordAllowed({ password, ssoAuth }: UserBody, adminSetsPasswords: boolean): void {
  if (password === undefined) return
  if (ssoAuth) throw problems.refused('/password', 'A user with single sign-on has no password here.')
  if (!adminSetsPasswords)
    throw problems.refused('/password', 'In this installation, people choose their own passwords.')
}

/** One's own takes the current one too, so that a session that somebody found open does not become a password. */
export function demandNotOwnPassword({ password }: UserBody, own: boolean): void {
  if (own && password !== undefined)
    throw problems.refused('/password', 'Change your own password with PUT /users/me/password.')
}

/**
 * How somebody signs in, and where their links are mailed, nobody changes of themself by the way: with an open session or an
 * API token alone, the account would be theirs for good.
 */
export function demandOwnWaysInKept(
  before: UserRow,
  after: Pick<UserRow, 'username' | 'email' | 'sso_auth' | 'sso_id'>,
) {
  if (after.email !== before.email)
    throw problems.refused('/email', 'Change your own e-mail address with PUT /users/me/email.')
  for (const [column, field] of waysIn)
    if (after[column] !== before[column])
      throw problems.refused(`/${field}`, `Have somebody else who manages users change the ${field} of your own user.`)
}

/** Whoever does away with their own user by a slip has nobody to undo it: somebody else looks first. */
export function demandSomebodyElse(caller: Caller, user: Pick<UserRow, 'uid'>, pointer: string, doing: string): void {
  if (user.uid === caller.uid)
    throw problems.refused(pointer, `Have somebody else who manages users ${doing} your own user.`)
}

const waysIn = [
  ['username', 'username'],
  ['sso_auth', 'ssoAuth'],
  ['sso_id', 'ssoId'],
] as const
