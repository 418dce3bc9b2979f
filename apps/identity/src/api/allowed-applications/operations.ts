import { sql } from 'kysely'
import { applicationScopes, identityOperations, type AllowedApplication } from '@sluice/contracts'
import { problems } from '@sluice/http-server'
import { withdrawConsent } from '../../openid-provider/storage/consents.ts'
import { isUid } from '../../is-uid.ts'
import { defineIdentityOperation } from '../operation-context.ts'

const { allowedApplications } = identityOperations

interface AllowedApplicationRow extends Omit<AllowedApplication, 'allowed' | 'lastUpdated' | 'lastUsed'> {
  created_at: Date
  updated_at: Date
  used_at: Date | null
}

export const allowedApplicationOperations = {
  list: defineIdentityOperation(allowedApplications.list, async ({ db, caller }) => {
    const { rows } = await sql<AllowedApplicationRow>`
      select a.uid as id, a.sso_client_id as "ssoClientId", a.client_name as "clientName", k.scopes, k.created_at, k.updated_at,
        (
          select max(greatest(m.created_at, m.consumed_at)) from sessions s join oidc_models m on m.session_id = s.id
          where s.user_id = u.id and m.sso_client_config_id = a.id and m.model in ('Grant', 'AuthorizationCode', 'RefreshToken')
        ) as used_at
      from application_consents k join users u on u.id = k.user_id join sso_client_configs a on a.id = k.sso_client_config_id
      where u.uid = ${caller.uid} order by lower(a.client_name), a.id limit 1000`.execute(db)
    return rows.map(({ created_at, updated_at, used_at, scopes, ...row }) => ({
      ...row,
      scopes: applicationScopes.filter((scope) => scopes.includes(scope)),
      allowed: created_at.toISOString(),
      lastUpdated: updated_at.toISOString(),
      lastUsed: used_at?.toISOString(),
    }))
  }),

  delete: defineIdentityOperation(allowedApplications.delete, async ({ write, caller, params, request }) => {
    await write(async (trx) => {
      const scopes = isUid(params.uid) ? await withdrawConsent(trx, caller.uid, params.uid) : undefined
      if (!scopes) throw problems.notFound('allowed application')
      request.audit(params.uid, { before: { scopes } })
    })
    return undefined
  }),
}
