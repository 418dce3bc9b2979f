import { type ApiToken, type ApiTokenBody, type NewApiToken, type Role, selectHeldRoles } from '@sluice/contracts'
import { JsonResponse, problems } from '@sluice/http-server'
import { splitEnabledAndDormantRoles } from '../../effective-roles.ts'
import {
  addApiToken,
  type ApiTokenRow,
  listApiTokens,
  maxApiTokens,
  removeApiToken,
} from '../../sign-in/tokens/api-tokens.ts'
import { isUid } from '../../is-uid.ts'
import type { IdentityRequestContext } from '../operation-context.ts'
import { assertGrantable } from '../role-grant-rules.ts'
import { lockOwnUser, proveIdentityOrRecentSignIn, readOwnUser } from './prove-identity.ts'

const dayMs = 86_400_000
const maxDays = 365

/** Returns an API token as the API shows it, without the secret token text. */
export const presentApiToken = (row: ApiTokenRow): ApiToken => ({
  id: row.uid,
  name: row.name,
  roles: row.roles,
  created: row.created_at.toISOString(),
  expires: row.expires_at.toISOString(),
  lastUsed: row.last_used_at?.toISOString(),
  usable: row.usable,
  effectiveRoles: row.usable ? listEffectiveRoles(row) : [],
})

/** Returns the token's roles that the user still holds and that the organisation's feature switches enable. */
function listEffectiveRoles(row: ApiTokenRow): Role[] {
  const heldRoles = selectHeldRoles(row.held_roles, row.roles.join(' '))
  return splitEnabledAndDormantRoles(heldRoles, row).roles
}

/** Returns the caller's API tokens, newest first. */
export async function listOwnApiTokens({ db, caller }: IdentityRequestContext): Promise<ApiToken[]> {
  const { id } = await readOwnUser(db, caller)
  return (await listApiTokens(db, id)).map(presentApiToken)
}

/**
 * Creates a token with at most the caller's roles. Requires proof of identity, because the token outlives the session.
 */
export async function createApiToken(
  body: ApiTokenBody,
  input: IdentityRequestContext,
): Promise<JsonResponse<NewApiToken>> {
  const { write, caller, request } = input
  assertGrantable(caller, body.roles)
  const expires = parseExpiry(body.expires)
  const lockProvenUser = await proveIdentityOrRecentSignIn(body, input)
  return write(async (trx) => {
    const { id } = await lockProvenUser(trx)
    const created = await addApiToken(trx, id, { ...body, expires })
    if (created === 'too many tokens')
      throw problems.refused('/', `You already have ${maxApiTokens} API tokens, the maximum. Delete one first.`)
    const token = presentApiToken(created.row)
    request.audit(caller.uid, { apiToken: toTokenAudit(token) })
    return new JsonResponse({ ...token, token: created.token }, { Location: `/api/v1/users/me/api-tokens/${token.id}` })
  })
}

/** Returns the properties of an API token for the audit log. The token itself, which is secret, is omitted. */
const toTokenAudit = ({ id, name, roles, expires }: ApiToken) => ({ id, name, roles, expires })

function parseExpiry(text: string): Date {
  const expires = new Date(text)
  const msUntilExpiry = expires.getTime() - Date.now()
  if (!(msUntilExpiry > 0)) throw problems.refused('/expires', 'This time is in the past. Choose a later time.')
  // Allow half a day more, because the caller's clock may be fast.
  if (msUntilExpiry > maxDays * dayMs + dayMs / 2)
    throw problems.refused('/expires', `An API token is valid for at most ${maxDays} days.`)
  return expires
}

/** Deletes an API token. This service rejects it at once, and the pipeline service within ten seconds. */
export async function deleteApiToken(uid: string, { write, caller, request }: IdentityRequestContext): Promise<void> {
  await write(async (trx) => {
    const { id } = await lockOwnUser(trx, caller)
    if (!isUid(uid) || !(await removeApiToken(trx, id, uid))) throw problems.notFound('API token')
    request.audit(caller.uid, { apiToken: { id: uid } })
  })
}
