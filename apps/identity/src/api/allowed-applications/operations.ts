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
      select applications.uid as id, applications.sso_client_id as "ssoClientId", applications.client_name as "clientName",
        consents.scopes, consents.created_at, consents.updated_at,
        (
          select max(greatest(oidc_models.created_at, oidc_models.consumed_at))
          from sessions join oidc_models on oidc_models.session_id = sessions.id
          where sessions.user_id = users.id and oidc_models.sso_client_config_id = applications.id
            and oidc_models.model in ('Grant', 'AuthorizationCode', 'RefreshToken')
        ) as used_at
      from application_consents consents
      join users on users.id = consents.user_id
      join sso_client_configs applications on applications.id = consents.sso_client_config_id
      where users.uid = ${caller.uid} order by lower(applications.client_name), applications.id limit 1000`.execute(db)
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
