import { sql, type Kysely } from 'kysely'
import type { KoaContextWithOIDC, Grant } from 'oidc-provider'
import { selectRoleScopes, selectUserScopes } from '@sluice/contracts'
import type { DB } from '../../database.ts'
import { sluiceApi } from '../resource-server.ts'
import { isConsole } from './built-in-applications.ts'

interface ConsentParties {
  user: string
  application: string
}

/** Returns the scopes that a user granted to an application; undefined if the user never consented. */
export async function findConsentedScopes(
  db: Kysely<DB>,
  { user, application }: ConsentParties,
): Promise<string[] | undefined> {
  const { rows } = await sql<{ scopes: string[] }>`
    select consents.scopes from application_consents consents
    join users on users.id = consents.user_id
    join sso_client_configs applications on applications.id = consents.sso_client_config_id
    where users.uid = ${user} and applications.sso_client_id = ${application}`.execute(db)
  return rows[0]?.scopes
}

/** Adds scopes to those that a user granted to an application. */
export async function addConsent(
  trx: Kysely<DB>,
  { user, application }: ConsentParties,
  scopes: readonly string[],
): Promise<void> {
  await sql`
    insert into application_consents as consents (user_id, sso_client_config_id, scopes)
    select users.id, applications.id, ${[...scopes]} from users, sso_client_configs applications
    where users.uid = ${user} and applications.sso_client_id = ${application}
    on conflict (user_id, sso_client_config_id) do update
    set scopes = array(select distinct unnest(consents.scopes || excluded.scopes) order by 1),
      updated_at = now()`.execute(trx)
}

/**
 * Returns the function with which oidc-provider loads the grant of a session for an application. It creates or extends
 * the grant, so that the grant has all scopes that the user ever consented to. It returns undefined if the user never
 * consented; the console needs no consent. Each session has its own grant, so that a revocation in one session does not
 * affect the others.
 */
export const loadExistingGrant = (db: Kysely<DB>) =>
  async function load(ctx: KoaContextWithOIDC): Promise<Grant | undefined> {
    const { provider, client, session, account } = ctx.oidc
    if (!client || !session || !account) return undefined
    const { accountId } = account
    const { clientId } = client
    const scopes = isConsole(clientId)
      ? ['openid']
      : await findConsentedScopes(db, { user: accountId, application: clientId })
    if (!scopes) return undefined
    const grantId = session.grantIdFor(clientId)
    const existing = grantId === undefined ? undefined : await provider.Grant.find(grantId)
    const grant = existing ?? new provider.Grant({ accountId, clientId })
    const isExtended = addScopes(grant, scopes)
    if (!existing || isExtended) await grant.save()
    return grant
  }

/** Adds scopes to a grant. Returns whether the grant lacked one of them. */
function addScopes(grant: Grant, scopes: readonly string[]): boolean {
  const readScopes = () => JSON.stringify([grant.openid, grant.resources])
  const scopesBefore = readScopes()
  const roleScopes = selectRoleScopes(scopes)
  grant.addOIDCScope(selectUserScopes(scopes))
  if (roleScopes.length > 0) grant.addResourceScope(sluiceApi, roleScopes)
  return readScopes() !== scopesBefore
}

/**
 * Deletes a user's consent and all tokens that depend on it. Returns the revoked scopes; undefined if no consent
 * existed.
 */
export async function withdrawConsent(
  trx: Kysely<DB>,
  user: string,
  application: string,
): Promise<string[] | undefined> {
  const { rows } = await sql<{ scopes: string[]; user_id: number; application_id: number }>`
    delete from application_consents consents using users, sso_client_configs applications
    where users.id = consents.user_id and applications.id = consents.sso_client_config_id
      and users.uid = ${user} and applications.uid = ${application}
    returning consents.scopes, consents.user_id, consents.sso_client_config_id as application_id`.execute(trx)
  const [consent] = rows
  if (consent)
    await sql`
      delete from oidc_models where sso_client_config_id = ${consent.application_id}
        and session_id in (select id from sessions where user_id = ${consent.user_id})`.execute(trx)
  return consent?.scopes
}
